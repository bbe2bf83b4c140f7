//! Memory that changes with the journal. Each machine has its own [`Part`]; all parts of one journal share one lock, so
//! that the order of records is the order of changes over all machines.
//!
//! Lock order: the journal's turn, then one part, then another part by [`Part::peek`]. Locks are held for short work only:
//! never over disk or network.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::outbox::journal::Journal;

/// What one machine keeps in memory.
pub struct Part<T> {
    journal: Arc<Journal>,
    own: Mutex<T>,
}

/// A part that is locked, and with it the order of records.
pub struct Held<'a, T> {
    own: MutexGuard<'a, T>,
    _turn: MutexGuard<'a, ()>,
}

impl<T> Part<T> {
    pub fn new(journal: &Arc<Journal>, own: T) -> Arc<Part<T>> {
        let (journal, own) = (Arc::clone(journal), Mutex::new(own));
        Arc::new(Part { journal, own })
    }

    pub fn lock(&self) -> Held<'_, T> {
        let turn = self.journal.turn();
        Held {
            own: self.peek(),
            _turn: turn,
        }
    }

    /// The part alone, for code that holds another part of the same journal already. [`Part::lock`] must not be called
    /// while the guard lives.
    pub fn peek(&self) -> MutexGuard<'_, T> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> fmt::Debug for Part<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Part").finish_non_exhaustive()
    }
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.own
    }
}

impl<T> DerefMut for Held<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.own
    }
}
