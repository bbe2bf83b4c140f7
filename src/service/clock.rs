//! The clock of a service: the system clock plus an offset, which tests set.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::{SignedDuration, Timestamp};

/// A clock with an offset. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Clock {
    ahead_secs: Arc<AtomicI64>,
}

impl Clock {
    pub fn now(&self) -> Timestamp {
        let now = Timestamp::now();
        let ahead = SignedDuration::from_secs(self.ahead_secs());
        now.checked_add(ahead).unwrap_or(now)
    }

    /// Seconds by which it is ahead of the system clock.
    pub fn ahead_secs(&self) -> i64 {
        self.ahead_secs.load(Ordering::Relaxed)
    }

    pub fn set_ahead_secs(&self, secs: i64) {
        self.ahead_secs.store(secs, Ordering::Relaxed);
    }
}
