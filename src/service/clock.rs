//! The clock of a service: the system's, moved by so many seconds where a test wants it wrong.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::{SignedDuration, Timestamp};

/// Tells the time. Clones share one clock.
#[derive(Debug, Clone, Default)]
pub struct Clock {
    ahead_secs: Arc<AtomicI64>,
}

impl Clock {
    /// This moment.
    pub fn now(&self) -> Timestamp {
        let now = Timestamp::now();
        let ahead = SignedDuration::from_secs(self.ahead_secs());
        now.checked_add(ahead).unwrap_or(now)
    }

    /// By how many seconds it is ahead of the system's.
    pub fn ahead_secs(&self) -> i64 {
        self.ahead_secs.load(Ordering::Relaxed)
    }

    /// Moves it.
    pub fn set_ahead_secs(&self, secs: i64) {
        self.ahead_secs.store(secs, Ordering::Relaxed);
    }
}
