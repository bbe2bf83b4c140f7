//! Whether the service replies, and waiting for a change of that.
//!
//! Tasks that wait continue in the order in which they began to wait, so that a simulated run is the same each time; those of
//! `tokio::sync::watch` continue in a random order.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Whether the service replies.
#[derive(Debug, Default)]
pub(super) struct Reach {
    is_lost: AtomicBool,
    changed: Notify,
}

impl Reach {
    pub(super) fn set_lost(&self, is_lost: bool) {
        if self.is_lost.swap(is_lost, Ordering::SeqCst) != is_lost {
            self.changed.notify_waiters();
        }
    }

    /// Returns when the service is lost (or is not).
    pub(super) async fn until_lost_is(&self, wanted: bool) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Before the look, so that no change in between is missed.
            changed.as_mut().enable();
            if self.is_lost.load(Ordering::SeqCst) == wanted {
                return;
            }
            changed.await;
        }
    }
}
