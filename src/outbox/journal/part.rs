//! Memory that changes with the journal. Each machine has its own [`Part`]; all parts of one journal share one lock, so
//! that the order of records is the order of changes over all machines.
//!
//! Invariant: whoever changes a part through [`Part::lock`] wakes all tasks that wait for a state, when the lock is
//! released. So no change can be forgotten, and a task that waits looks only at what is in parts.
//!
//! Lock order: the journal's turn, then one part, then another part by [`Part::peek`]. Locks are held for short work only:
//! never over disk or network.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::locks::{Locked as _, Mutex, MutexGuard};
use crate::outbox::events::Events;
use crate::outbox::journal::Journal;

/// The memory of one machine.
pub struct Part<T> {
    journal: Arc<Journal>,
    events: Arc<Events>,
    own: Mutex<T>,
}

/// A locked part. It also locks the order of records.
pub struct PartGuard<'a, T> {
    own: MutexGuard<'a, T>,
    _turn: MutexGuard<'a, ()>,
    // The last field, so that those that it wakes find the part unlocked.
    wake: Wake<'a>,
}

/// Drop guard: wakes the tasks that wait for changes, if there was one.
struct Wake<'a> {
    events: &'a Events,
    is_due: bool,
}

impl Drop for Wake<'_> {
    fn drop(&mut self) {
        if self.is_due {
            self.events.changes.give();
        }
    }
}

impl<T> Part<T> {
    pub fn new(journal: &Arc<Journal>, events: &Arc<Events>, own: T) -> Arc<Part<T>> {
        Arc::new(Part {
            journal: Arc::clone(journal),
            events: Arc::clone(events),
            own: Mutex::new(own),
        })
    }

    #[track_caller]
    pub fn lock(&self) -> PartGuard<'_, T> {
        let turn = self.journal.turn();
        PartGuard {
            own: self.peek(),
            _turn: turn,
            wake: Wake {
                events: &self.events,
                is_due: false,
            },
        }
    }

    /// Locks the part only, for code that has locked another part of the same journal. [`Part::lock`] must not be
    /// called while the guard exists. A change wakes nobody: the caller changes the part that it has locked, too.
    #[track_caller]
    pub fn peek(&self) -> MutexGuard<'_, T> {
        self.own.locked()
    }
}

impl<T> fmt::Debug for Part<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Part").finish_non_exhaustive()
    }
}

impl<T> Deref for PartGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.own
    }
}

impl<T> DerefMut for PartGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.wake.is_due = true;
        &mut self.own
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outbox::journal::FoundJournal;

    #[test]
    fn every_change_wakes_those_that_wait_and_a_look_wakes_nobody() {
        let dir = tempfile::tempdir().unwrap();
        let FoundJournal::Whole(journal, _) = Journal::open::<u64>(dir.path()).unwrap() else {
            panic!("a new journal is whole");
        };
        let events = Arc::new(Events::default());
        let part = Part::new(&Arc::new(*journal), &events, 7);
        let wakes = || events.changes.count();
        assert_eq!(*part.lock(), 7);
        assert_eq!(wakes(), 0);
        *part.lock() = 8;
        assert_eq!(wakes(), 1);
        assert_eq!(*part.lock(), 8);
        assert_eq!(wakes(), 1);
    }
}
