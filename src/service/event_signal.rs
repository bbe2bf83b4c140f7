//! Wakes the task that sends events.

use tokio::sync::Notify;

/// Notes that there are new events.
#[derive(Debug, Default)]
pub struct Events {
    pub(super) wake: Notify,
    added: Notify,
}

impl Events {
    /// Notes that events may have been added, here and in each process that shares the records.
    pub fn announce(&self) {
        self.wake();
        self.added.notify_one();
    }

    /// Looks for events in this process.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Waits until events may have been added.
    pub async fn added(&self) {
        self.added.notified().await;
    }
}
