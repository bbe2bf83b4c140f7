//! Limits the bytes in flight of a mount. Read-ahead may be refused; what a reader waits for is counted and
//! never refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// Free bytes; negative while readers wait for more than the budget.
#[derive(Debug)]
pub(super) struct Budget {
    free: AtomicI64,
    /// Bytes received since the mount started.
    fetched: AtomicU64,
}

/// A part of the budget, released piece by piece and when dropped.
#[derive(Debug)]
pub(super) struct Share {
    budget: Arc<Budget>,
    bytes: AtomicI64,
}

impl Budget {
    pub(super) fn new(bytes: u64) -> Budget {
        Budget {
            free: AtomicI64::new(signed(bytes)),
            fetched: AtomicU64::new(0),
        }
    }

    /// Counts received bytes.
    pub(super) fn note_fetched(&self, bytes: u64) {
        self.fetched.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes received since the mount started.
    pub(super) fn fetched(&self) -> u64 {
        self.fetched.load(Ordering::Relaxed)
    }

    /// Takes bytes for a waiting reader.
    pub(super) fn take(self: &Arc<Self>, bytes: u64) -> Share {
        self.free.fetch_sub(signed(bytes), Ordering::AcqRel);
        Share {
            budget: self.clone(),
            bytes: AtomicI64::new(signed(bytes)),
        }
    }

    /// Takes bytes for read-ahead, if they are free.
    pub(super) fn try_take(self: &Arc<Self>, bytes: u64) -> Option<Share> {
        let wanted = signed(bytes);
        self.free
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |free| {
                (free >= wanted).then(|| free - wanted)
            })
            .ok()?;
        Some(Share {
            budget: self.clone(),
            bytes: AtomicI64::new(wanted),
        })
    }
}

impl Share {
    /// Releases a part.
    pub(super) fn give_back(&self, bytes: u64) {
        let held = self.bytes.load(Ordering::Acquire);
        let part = signed(bytes).min(held);
        self.bytes.fetch_sub(part, Ordering::AcqRel);
        self.budget.free.fetch_add(part, Ordering::AcqRel);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let held = self.bytes.load(Ordering::Acquire);
        self.budget.free.fetch_add(held, Ordering::AcqRel);
    }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_ahead_waits_for_readers_to_be_served() {
        let budget = Arc::new(Budget::new(100));
        let ahead = budget.try_take(60).unwrap();
        assert!(budget.try_take(60).is_none());
        let waiting = budget.take(500);
        ahead.give_back(60);
        ahead.give_back(60);
        assert!(budget.try_take(1).is_none());
        drop(waiting);
        drop(ahead);
        assert!(budget.try_take(100).is_some());
    }
}
