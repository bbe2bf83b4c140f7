//! Wakes idle workers, and keeps the list of the attempts that run in this process.

use std::collections::HashMap;
use std::sync::Mutex;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::service::records::{JobId, Lease};

/// Wakes idle workers and stops running jobs.
#[derive(Debug, Default)]
pub struct Queue {
    wake: Notify,
    running: Mutex<HashMap<JobId, Running>>,
}

/// An attempt that runs in this process.
#[derive(Debug, Clone)]
pub(super) struct Running {
    pub(super) lease: Lease,
    pub(super) stop: CancellationToken,
}

impl Queue {
    /// Wakes one idle worker.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    pub(super) async fn woken(&self) {
        self.wake.notified().await;
    }

    /// Stops the workers of deleted jobs.
    pub fn cancel(&self, jobs: &[JobId]) {
        let running = self.running();
        for job in jobs {
            if let Some(attempt) = running.get(job) {
                attempt.stop.cancel();
            }
        }
    }

    /// The running attempts, by job.
    pub(super) fn running(&self) -> std::sync::MutexGuard<'_, HashMap<JobId, Running>> {
        self.running.lock().expect("no holder of this lock panics")
    }
}
