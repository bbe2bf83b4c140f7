//! Jobs: claimed from the job table, run by worker processes, and recorded.
//!
//! One attempt at a time runs a job and holds a lease on it (see `leases`). When the service
//! stops, running jobs go back into the queue. When a job's record is deleted or its lease is lost, its worker is
//! killed and its result is discarded.

mod analyse;
mod collect;
mod convert;
mod draw;
mod error;
mod faults;
mod job_events;
mod leases;
mod optimize;
mod optimize_task;
mod renewal;
#[cfg(test)]
mod tests;
mod wakeups;
mod work_folder;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use jiff::Timestamp;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::app::App;
use super::infra_fault::InfraFault;
use super::queue::Running;
use super::records::{Attempt, JobKind, JobRow, RecordsError};
use super::trace;
use super::workers::{Failure, Outcome, WorkerError, Workers};
use crate::disk_room::check_room;
use crate::service::causes::chain;
use crate::wire::{TraceParent, UploadStatus};
use assetfs_engine::job::{Phase, Task};

pub use draw::draw;
pub use error::JobError;
pub use leases::{keep, recover};
pub use wakeups::exchange_wakeups;

/// How often idle workers poll the queue, on average; another process may have added a job.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// Time between two tries to give a job back.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// The result of an attempt.
enum Done {
    /// The result of the job is recorded.
    Recorded,
    /// The attempt was stopped: the job goes back into the queue.
    Stopped,
    /// The attempt has lost its job, or the job's record was deleted: nothing is recorded.
    Lost,
}

/// Claims and runs jobs, one at a time, until the service stops or drains. After an attempt that failed, and not because
/// of its model, it pauses, so that other workers can claim the job. While an infrastructure fault lasts it claims
/// nothing.
pub async fn work(app: Arc<App>) {
    let mut failures = 0;
    while !app.stop.is_cancelled() && !app.draining.is_cancelled() {
        if let Some(fault_pause) = app.queue.fault_pause() {
            rest(&app, faults::back_off(fault_pause.tries)).await;
            if let Some((fault, cause)) = faults::find_fault(&app).await {
                app.queue.pause_for_fault(fault, cause);
                continue;
            }
            // Other faults are proved gone only by a job that succeeds: a worker may use another disk or have other
            // permissions.
            if fault_pause.fault.is_of_all_processes() {
                // Jobs may still pause, but not because of it.
                app.queue.resume();
            }
        }
        match app.records.jobs().claim(app.config.job_lease).await {
            Ok(Some(job)) => {
                let waited = |first: Timestamp| job.created_at.duration_until(first).unsigned_abs();
                let is_first = job.attempts == 1 && job.faults == 0;
                let started = job.started_at.filter(|_| is_first);
                app.metrics.job_claimed(started.map(waited));
                // There may be another job, and another idle worker.
                app.queue.wake();
                match run_traced(&app, &job).await {
                    Ok(()) => {
                        failures = 0;
                        app.queue.resume();
                    }
                    Err(CouldNotRun::Obstructed) => {}
                    Err(CouldNotRun::Failed) => {
                        failures += 1;
                        rest(&app, faults::back_off(failures)).await;
                    }
                }
            }
            Ok(None) => {
                if app.queue.fault_pause().is_some() && is_idle(&app).await {
                    app.queue.resume();
                }
                tokio::select! {
                    () = app.stop.cancelled() => {}
                    () = app.draining.cancelled() => {}
                    () = app.queue.woken() => {}
                    () = tokio::time::sleep(look_again()) => {}
                }
            }
            Err(error) if error.is_full() => {
                app.queue
                    .pause_for_fault(InfraFault::DatabaseFull, chain(&error));
            }
            Err(error) => {
                if !error.is_away() {
                    tracing::error!(error = %chain(&error), "the queue cannot be read");
                }
                tokio::select! {
                    () = app.stop.cancelled() => {}
                    () = tokio::time::sleep(look_again()) => {}
                }
            }
        }
    }
}

/// Whether no job is queued, not even one that waits for the end of a fault.
async fn is_idle(app: &App) -> bool {
    let load = app.records.jobs().load().await;
    load.is_ok_and(|load| load.queued == 0)
}

/// Waits for `time`, or until an infrastructure fault is over.
async fn rest(app: &App, time: Duration) {
    tokio::select! {
        () = app.stop.cancelled() => {}
        () = app.draining.cancelled() => {}
        () = app.queue.until_resumed() => {}
        () = tokio::time::sleep(time) => {}
    }
}

/// Time until the next poll: random, so that the processes that share the records do not poll at the same moment.
fn look_again() -> Duration {
    POLL_INTERVAL.mul_f64(rand::random_range(0.5..1.5))
}

/// Runs a job as a part of the trace that queued it.
async fn run_traced(app: &Arc<App>, job: &JobRow) -> Result<(), CouldNotRun> {
    let queued_by = job.trace.as_deref().and_then(TraceParent::parse);
    let trace = queued_by.map_or_else(TraceParent::new, TraceParent::next);
    let span = tracing::info_span!("job", trace = trace.trace_id());
    trace::within(trace, run(app, job)).instrument(span).await
}

/// Why the job of a slot has no result.
enum CouldNotRun {
    /// An infrastructure fault. This process claims no jobs until it is over.
    Obstructed,
    /// The attempt failed, and the model is not the cause.
    Failed,
}

async fn run(app: &Arc<App>, job: &JobRow) -> Result<(), CouldNotRun> {
    tracing::info!(job = %job.id, op = job.kind.text(), asset = %job.asset, attempt = job.attempts, "job taken");
    let stop = app.stop.child_token();
    let attempt = Running {
        lease: job.lease(),
        stop: stop.clone(),
        unrecorded_progress: None,
    };
    app.queue.running().insert(job.id, attempt);
    let attempt = async {
        #[cfg(test)]
        assert!(
            !app.queue
                .panics
                .swap(false, std::sync::atomic::Ordering::SeqCst)
        );
        match job.kind {
            JobKind::Analyse => analyse::run(app, job, &stop).await,
            JobKind::Optimize => optimize::run(app, job, &stop).await,
            JobKind::Convert => convert::run(app, job, &stop).await,
        }
    };
    // After a panic the lease must not be renewed any more, and the slot goes on with other jobs.
    let done = AssertUnwindSafe(attempt).catch_unwind().await;
    let done = done.unwrap_or(Err(JobError::Panicked));
    app.queue.running().remove(&job.id);
    match done {
        Ok(Done::Recorded) => tracing::info!(job = %job.id, "job ended"),
        Ok(Done::Stopped) => give_back(app, job, Attempt::Stopped).await,
        Ok(Done::Lost) => tracing::warn!(job = %job.id, "job lost: its result does not count"),
        Err(error) => return handle_failed_run(app, job, error).await,
    }
    Ok(())
}

/// Gives a job back, or fails it if it has no attempt left. An infrastructure fault costs no attempt.
async fn handle_failed_run(app: &App, job: &JobRow, error: JobError) -> Result<(), CouldNotRun> {
    if let JobError::Records(RecordsError::NoRoom { needed, left }) = error {
        let reason = format!(
            "the result has {needed} bytes, but {left} bytes are left of the account's storage: delete models that are \
             not needed, then try again"
        );
        give_up(app, job, &reason).await;
        return Ok(());
    }
    let cause = chain(&error);
    tracing::error!(job = %job.id, error = cause, "a job could not be worked on");
    if job.kind == JobKind::Analyse {
        // Ignored, because the database may be unreachable; the next attempt shows the state.
        let _ = analyse::show(app, job, &UploadStatus::Waiting, &[]).await;
    }
    if let Some(fault) = faults::fault_of(app, job, &error).await {
        app.metrics.job_obstructed(fault);
        app.queue.pause_for_fault(fault, cause);
        let pause = faults::pause_after(job.faults);
        give_back(app, job, Attempt::Obstructed { fault, pause }).await;
        return Err(CouldNotRun::Obstructed);
    }
    let reason = error.for_users();
    if job.attempts < u64::from(app.config.worker_limits.attempts) {
        give_back(app, job, Attempt::Failed { reason }).await;
    } else {
        let id = job.id;
        let reason = format!(
            "the service failed: {reason}. The model is not the cause{}: try again later (the log of the service has more \
             about job {id})",
            refund(job)
        );
        give_up(app, job, &reason).await;
    }
    Err(CouldNotRun::Failed)
}

/// Puts a job back into the queue, as soon as the database answers.
async fn give_back(app: &App, job: &JobRow, attempt: Attempt<'_>) {
    app.metrics.job_given_back();
    let deadline = Instant::now() + app.config.job_lease;
    while let Err(error) = app.records.jobs().requeue(job.lease(), attempt).await {
        if error.is_temporary() && !app.stop.is_cancelled() && Instant::now() < deadline {
            tokio::time::sleep(RETRY_PAUSE).await;
            continue;
        }
        // It stays `running` in the table until its lease expires.
        tracing::error!(job = %job.id, error = %chain(&error), "a job could not be given back");
        return;
    }
}

/// A part of a sentence for jobs that are paid.
fn refund(job: &JobRow) -> &'static str {
    match job.kind {
        JobKind::Optimize => ", and the point is given back",
        JobKind::Analyse | JobKind::Convert => "",
    }
}

/// Fails a job for a reason that is not its model. The point of an optimization is given back.
async fn give_up(app: &App, job: &JobRow, reason: &str) {
    let ended = match job.kind {
        JobKind::Analyse => analyse::fail(app, job, reason).await,
        JobKind::Optimize => optimize::fail(app, job, reason).await,
        JobKind::Convert => convert::fail(app, job, reason).await,
    };
    if let Err(error) = ended {
        tracing::error!(job = %job.id, error = %chain(&error), "the failure of a job could not be recorded");
    }
}

/// Ends a job whose asset, rapid model or conversion was deleted.
async fn fail_orphaned(app: &App, job: &JobRow) -> Result<Done, JobError> {
    let output = Failure::output(Some(&Failure::of("what this was for has been deleted")));
    app.records.jobs().fail(job.lease(), &output).await?;
    app.metrics.job_ended(job.kind, false);
    Ok(Done::Recorded)
}

/// Runs a task in a worker process. `leases` records its progress; the phase of an analysis is shown here.
async fn run_worker(
    app: &App,
    workers: &Workers,
    job: &JobRow,
    task: &Task,
    stop: &CancellationToken,
) -> Result<Outcome, JobError> {
    let (latest, mut phases) = watch::channel(None::<Phase>);
    let working = workers.run(
        task,
        |progress| {
            let phase = progress.phase;
            latest.send_if_modified(|shown| {
                phase.is_some() && std::mem::replace(shown, phase) != phase
            });
            app.queue.note_progress(job.id, progress);
        },
        stop,
    );
    let showing = async {
        while phases.changed().await.is_ok() {
            let phase = *phases.borrow_and_update();
            if let Some(phase) = phase.filter(|_| job.kind == JobKind::Analyse) {
                match analyse::show(app, job, &analyse::status_in(phase), &[]).await {
                    Ok(true) => {}
                    Ok(false) => stop.cancel(),
                    Err(error) => {
                        tracing::warn!(job = %job.id, error = %chain(&error), "the phase of an analysis could not be noted");
                    }
                }
            }
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        outcome = working => match outcome? {
            // The message of a program that the worker started may not say that the disk was full.
            Outcome::Failed(_) if check_room(&app.work_dir).is_err() => Err(WorkerError::DiskFull.into()),
            outcome => Ok(outcome),
        },
        () = showing => unreachable!("showing never ends"),
    }
}
