//! The leases of the jobs that run in this process: renewed while they run, lost when another attempt has the job.
//!
//! A job belongs to the attempt that claimed it last, according to the database. If a lease cannot be renewed because
//! another attempt has the job, its worker is killed. A job whose lease expired (its process was killed or suspended)
//! goes back into the queue, a bounded number of times.

use std::sync::Arc;

use tokio::time::Instant;

use super::give_up;
use super::queue::Running;
use crate::service::app::App;
use crate::service::causes::chain;
use crate::service::records::{Lost, RecordsError};

/// Renewals of a lease in its lifetime.
const RENEWALS: u32 = 4;

/// Renews leases and finds jobs that were lost, until the service stops.
pub async fn keep(app: Arc<App>) {
    let pause = app.config.job_lease / RENEWALS;
    let mut last_outage: Option<Instant> = None;
    loop {
        tokio::select! {
            () = app.stop.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
        // In this order: after a suspend of the machine our own leases have expired, too.
        if let Err(error) = renew(&app).await {
            last_outage = Some(Instant::now());
            if !error.is_away() {
                tracing::error!(error = %chain(&error), "the leases of jobs could not be renewed");
            }
        } else if last_outage.is_some_and(|outage| outage.elapsed() < app.config.job_lease) {
            // The leases of others may have expired because they could not be renewed either.
        } else if let Err(error) = requeue(&app, Lost::Expired).await
            && !error.is_away()
        {
            tracing::error!(error = %chain(&error), "jobs with expired leases could not be queued again");
        }
    }
}

async fn renew(app: &App) -> Result<(), RecordsError> {
    let running: Vec<Running> = app.queue.running().values().cloned().collect();
    for Running { lease, stop } in running {
        let time = app.config.job_lease;
        if !app.records.jobs().renew_lease(lease, time).await? {
            // Either the attempt has just ended and this has no effect, or another attempt has claimed the job.
            let runs = app
                .queue
                .running()
                .get(&lease.job)
                .is_some_and(|it| it.lease == lease);
            app.metrics
                .leases_lost(u64::from(runs && !stop.is_cancelled()));
            stop.cancel();
        }
    }
    Ok(())
}

/// Queues the jobs again that ran when the last service died, and fails those that did so too often. If other
/// processes share the records, their jobs keep running until their leases expire.
///
/// # Errors
/// If the records fail.
pub async fn recover(app: &App) -> Result<(), RecordsError> {
    let lost = match app.records.is_shared() {
        true => Lost::Expired,
        false => Lost::All,
    };
    requeue(app, lost).await
}

async fn requeue(app: &App, lost: Lost) -> Result<(), RecordsError> {
    let attempts = app.config.worker_limits.attempts;
    let (failed, queued) = app.records.jobs().recover(lost, attempts).await?;
    app.metrics.leases_lost(queued + failed.len() as u64);
    if queued > 0 {
        tracing::info!(jobs = queued, "jobs with expired leases are queued again");
        app.queue.announce();
    }
    for job in failed {
        let reason = format!("the service died {attempts} times during this job");
        give_up(app, &job, &reason).await;
    }
    Ok(())
}
