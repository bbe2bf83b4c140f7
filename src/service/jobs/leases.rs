//! The leases of the jobs that run in this process: renewed while they run, lost when another attempt has the job.
//!
//! A job belongs to the attempt that claimed it last, according to the database. If a lease cannot be renewed because
//! another attempt has the job, its worker is killed. A job whose lease expired (its process was killed or suspended)
//! goes back into the queue, a bounded number of times.
//!
//! One statement renews all leases of this process and records the progress of its jobs. So the number of statements
//! depends on the number of processes, not on what their jobs do.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::renewal::renewal_pause;
use super::{give_up, refund};
use crate::service::app::App;
use crate::service::causes::chain;
use crate::service::queue::Running;
use crate::service::records::{Heartbeat, Lease, Lost, RecordsError};

/// Minimum time between two writes of progress in the records of one process.
const PROGRESS_PAUSE: Duration = Duration::from_millis(200);

/// Renews leases, records progress and finds jobs that were lost, until the service stops.
pub async fn keep(app: Arc<App>) {
    tokio::select! {
        () = app.stop.cancelled() => {}
        () = keep_leases(&app) => {}
        () = show_progress(&app) => {}
    }
}

async fn keep_leases(app: &App) {
    let lease = app.config.job_lease;
    let pause = renewal_pause(lease, app.records.is_shared());
    // The last time when others may have been unable to renew their leases.
    let mut doubt: Option<Instant> = None;
    if app.records.is_shared() {
        // The database may have been away until now.
        doubt = Some(Instant::now());
    }
    loop {
        tokio::time::sleep(pause).await;
        // In this order: after a suspend of the machine our own leases have expired, too.
        let kept = async {
            send_heartbeats(app, |_| true).await?;
            match doubt.is_some_and(|doubt| doubt.elapsed() < lease) {
                true => app.records.database_time().await.map(drop),
                false => requeue(app, Lost::Expired).await,
            }
        };
        match kept.await {
            Ok(()) => app.metrics.leases_kept(),
            Err(error) => {
                doubt = Some(Instant::now());
                if !error.is_away() {
                    tracing::error!(error = %chain(&error), "the leases of jobs could not be kept");
                }
            }
        }
    }
}

/// Records progress soon if that costs nobody else. In shared records it waits for the next renewal.
async fn show_progress(app: &App) {
    if app.records.is_shared() {
        return std::future::pending().await;
    }
    loop {
        app.queue.progressed().await;
        if let Err(error) =
            send_heartbeats(app, |running| running.unrecorded_progress.is_some()).await
        {
            tracing::warn!(error = %chain(&error), "progress could not be noted");
        }
        tokio::time::sleep(PROGRESS_PAUSE).await;
    }
}

/// Renews the leases of the jobs that `is_meant` selects, and records their progress.
async fn send_heartbeats(
    app: &App,
    is_meant: impl Fn(&Running) -> bool,
) -> Result<(), RecordsError> {
    let heartbeats: Vec<Heartbeat> = {
        let mut running = app.queue.running();
        let meant = running.values_mut().filter(|running| is_meant(running));
        let heartbeats = meant.map(|running| Heartbeat {
            lease: running.lease,
            progress: running.unrecorded_progress.take(),
        });
        heartbeats.collect()
    };
    let time = app.config.job_lease;
    let kept = app.records.jobs().renew_leases(&heartbeats, time).await;
    let left: Vec<Heartbeat> = match &kept {
        Ok(kept) => heartbeats
            .into_iter()
            .filter(|heartbeat| !kept.contains(&heartbeat.lease.job))
            .collect(),
        Err(_) => heartbeats,
    };
    keep_unrecorded_progress(app, &left);
    kept?;
    // Each of these jobs may be locked, or lost. A failure does not keep the next leases from being renewed.
    let mut failure = Ok(());
    for Heartbeat { lease, .. } in left {
        match app.records.jobs().renew_lease(lease, time).await {
            Ok(true) => {}
            Ok(false) => stop_lost(app, lease),
            Err(error) => failure = Err(error),
        }
    }
    failure
}

/// Keeps what could not be recorded, for the next time.
fn keep_unrecorded_progress(app: &App, left: &[Heartbeat]) {
    let mut running = app.queue.running();
    for Heartbeat { lease, progress } in left {
        if let Some(running) = running.get_mut(&lease.job)
            && running.unrecorded_progress.is_none()
        {
            running.unrecorded_progress.clone_from(progress);
        }
    }
}

/// Stops an attempt that has no lease: either it has just ended and this has no effect, or another attempt has
/// claimed the job. The process that recovered the job has counted the lost lease.
fn stop_lost(app: &App, lease: Lease) {
    let running = app.queue.running();
    if let Some(lost) = running.get(&lease.job).filter(|it| it.lease == lease) {
        lost.stop.cancel();
    }
}

/// Queues the jobs again that ran when the last process of these records died, and fails those that did so too often.
/// If other processes share the records, [`keep`] does so when the leases have had time to be renewed.
///
/// # Errors
/// If the records fail.
pub async fn recover(app: &App) -> Result<(), RecordsError> {
    match app.records.is_shared() {
        true => Ok(()),
        false => {
            app.records.drawings().release_all().await?;
            requeue(app, Lost::All).await
        }
    }
}

async fn requeue(app: &App, lost: Lost) -> Result<(), RecordsError> {
    let attempts = app.config.worker_limits.attempts;
    let (failed, queued) = app
        .records
        .jobs()
        .recover(lost, attempts, app.config.job_lease)
        .await?;
    app.metrics.leases_lost(queued + failed.len() as u64);
    if queued > 0 {
        tracing::info!(jobs = queued, "jobs with expired leases are queued again");
        app.queue.announce();
    }
    for job in failed {
        let reason = format!(
            "the service died {attempts} times during this job{}: try again later",
            refund(&job)
        );
        give_up(app, &job, &reason).await;
    }
    Ok(())
}
