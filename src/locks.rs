//! Locks after a panic: one rule for all parts of the program.
//!
//! A panic ends the call or task that caused it, and nothing else. So the next holder of a lock that was held then takes
//! the data as they are. What is done under a lock must therefore not leave them half changed where it may panic.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes locks by that rule.
pub trait Locked<T: ?Sized> {
    /// Waits for the lock and takes it, also after a panic of another holder.
    fn locked(&self) -> MutexGuard<'_, T>;
}

impl<T: ?Sized> Locked<T> for Mutex<T> {
    fn locked(&self) -> MutexGuard<'_, T> {
        self.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
