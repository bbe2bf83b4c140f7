//! Wakes idle workers, notes that there are new jobs, and keeps the list of the attempts that run in this process and the
//! infrastructure fault that keeps it from doing jobs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::infra_fault::InfraFault;
use super::records::{JobId, Lease};
use crate::locks::Locked;
use assetfs_engine::job::Progress;

/// Time between two checks for running attempts.
const IDLE_PAUSE: Duration = Duration::from_millis(50);

/// Wakes idle workers and stops running jobs.
#[derive(Debug, Default)]
pub struct Queue {
    wake: Notify,
    added: Notify,
    progressed: Notify,
    drawings: Notify,
    running: Mutex<HashMap<JobId, Running>>,
    fault_pause: watch::Sender<Option<FaultPause>>,
    /// The next attempt panics.
    #[cfg(test)]
    pub(super) panics: std::sync::atomic::AtomicBool,
}

/// Why and since when this process claims no jobs: an infrastructure fault.
#[derive(Debug, Clone)]
pub struct FaultPause {
    pub fault: InfraFault,
    /// The whole cause, for the operator.
    pub cause: Arc<str>,
    pub since: Instant,
    /// Number of failed tries since then.
    pub(super) tries: u32,
}

/// An attempt that runs in this process.
#[derive(Debug, Clone)]
pub(super) struct Running {
    pub(super) lease: Lease,
    pub(super) stop: CancellationToken,
    /// The latest progress, until it is recorded.
    pub(super) unrecorded_progress: Option<Progress>,
}

impl Queue {
    /// Notes that jobs were added: wakes one idle worker here, and one in each process that shares the records.
    pub fn announce(&self) {
        self.wake();
        self.added.notify_one();
    }

    /// Wakes one idle worker of this process.
    pub(super) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Waits until jobs were added.
    pub(super) async fn added(&self) {
        self.added.notified().await;
    }

    pub(super) async fn woken(&self) {
        self.wake.notified().await;
    }

    /// Notes that a result waits for its pictures.
    pub(super) fn add_drawing(&self) {
        self.drawings.notify_one();
    }

    pub(super) async fn drawing_added(&self) {
        self.drawings.notified().await;
    }

    /// Keeps the progress of a running job until it is recorded.
    pub(super) fn note_progress(&self, job: JobId, progress: Progress) {
        if let Some(attempt) = self.running().get_mut(&job) {
            attempt.unrecorded_progress = Some(progress);
            self.progressed.notify_one();
        }
    }

    /// Waits for progress that is not recorded.
    pub(super) async fn progressed(&self) {
        self.progressed.notified().await;
    }

    /// The infrastructure fault that keeps this process from doing jobs.
    pub fn fault_pause(&self) -> Option<FaultPause> {
        self.fault_pause.borrow().clone()
    }

    /// Notes an infrastructure fault; logs it if it is not the same as the last one.
    pub(super) fn pause_for_fault(&self, fault: InfraFault, cause: String) {
        self.fault_pause.send_modify(|fault_pause| {
            let before = fault_pause.take();
            if before.as_ref().is_none_or(|before| before.fault != fault) {
                tracing::error!("this process does no jobs for now, because {fault}: {cause}");
            }
            *fault_pause = Some(FaultPause {
                fault,
                cause: cause.into(),
                since: before
                    .as_ref()
                    .map_or_else(Instant::now, |before| before.since),
                tries: before.map_or(0, |before| before.tries).saturating_add(1),
            });
        });
    }

    /// Ends a standstill: jobs can be done again.
    pub(super) fn resume(&self) {
        if self.fault_pause.send_replace(None).is_some() {
            tracing::info!("this process does jobs again");
        }
    }

    /// Returns when a standstill has ended. Without one it waits for the next one first.
    pub(super) async fn until_resumed(&self) {
        let mut fault_pause = self.fault_pause.subscribe();
        // It fails only without a sender, which `self` holds.
        let _ = fault_pause.wait_for(Option::is_some).await;
        let _ = fault_pause.wait_for(Option::is_none).await;
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

    /// Returns when no attempt runs in this process.
    pub async fn idle(&self) {
        while self.running_count() > 0 {
            tokio::time::sleep(IDLE_PAUSE).await;
        }
    }

    /// Number of attempts that run in this process.
    pub fn running_count(&self) -> usize {
        self.running().len()
    }

    /// Whether an attempt of this job runs in this process.
    pub fn runs(&self, job: JobId) -> bool {
        self.running().contains_key(&job)
    }

    /// The running attempts, by job.
    #[track_caller]
    pub(super) fn running(&self) -> std::sync::MutexGuard<'_, HashMap<JobId, Running>> {
        self.running.locked()
    }
}
