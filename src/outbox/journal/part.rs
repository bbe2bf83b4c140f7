//! Memory that changes with the journal. Each machine has its own [`Part`]; all parts of one journal share one lock, so
//! that the order of records is the order of changes over all machines.
//!
//! Lock order: the journal's turn, then one part, then another part by [`Part::peek`]. Locks are held for short work only:
//! never over disk or network.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::outbox::journal::Journal;

/// The memory of one machine.
pub struct Part<T> {
    journal: Arc<Journal>,
    own: Mutex<T>,
}

/// A locked part. It also locks the order of records.
pub struct PartGuard<'a, T> {
    own: MutexGuard<'a, T>,
    _turn: MutexGuard<'a, ()>,
}

impl<T> Part<T> {
    pub fn new(journal: &Arc<Journal>, own: T) -> Arc<Part<T>> {
        let (journal, own) = (Arc::clone(journal), Mutex::new(own));
        Arc::new(Part { journal, own })
    }

    pub fn lock(&self) -> PartGuard<'_, T> {
        let turn = self.journal.turn();
        PartGuard {
            own: self.peek(),
            _turn: turn,
        }
    }

    /// Locks the part only, for code that has locked another part of the same journal. [`Part::lock`] must not be
    /// called while the guard exists.
    pub fn peek(&self) -> MutexGuard<'_, T> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
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
        &mut self.own
    }
}
