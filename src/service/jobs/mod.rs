//! Jobs: claimed from the job table, run by worker processes, and recorded.
//!
//! One attempt at a time runs a job and holds a lease on it (see `leases`). When the service
//! stops, running jobs go back into the queue. When a job's record is deleted or its lease is lost, its worker is
//! killed and its result is discarded.

mod analyse;
mod collect;
mod convert;
mod job_events;
mod leases;
mod optimize;
pub(super) mod queue;
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
use super::files::FilesError;
use super::records::{Attempt, JobKind, JobRow, RecordsError};
use super::trace;
use super::workers::{Failure, NotStarted, Outcome};
use crate::service::causes::chain;
use crate::wire::TraceParent;
use assetfs_engine::job::{Phase, Task};

pub use leases::{keep, recover};
use queue::Running;
pub use wakeups::exchange_wakeups;

/// How often idle workers poll the queue, on average; another process may have added a job.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Time between two attempts of a job that could not be worked on.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause of a slot whose attempts fail.
const LONGEST_REST: Duration = Duration::from_secs(60);

/// Why a job could not run. The model is not the cause, so the job is tried again.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    #[error(transparent)]
    Records(#[from] RecordsError),
    #[error(transparent)]
    Files(#[from] FilesError),
    #[error("the work folder failed")]
    Disk(#[from] std::io::Error),
    #[error(transparent)]
    NotStarted(#[from] NotStarted),
    /// The log has its message.
    #[error("an error in the service itself ended the attempt")]
    Panicked,
}

impl JobError {
    /// Whether the database was away. That says nothing of the job or of this machine.
    fn is_outage(&self) -> bool {
        matches!(self, JobError::Records(error) if error.is_temporary())
    }
}

/// The result of an attempt.
enum Done {
    /// The result of the job is recorded.
    Recorded,
    /// The attempt was stopped: the job goes back into the queue.
    Stopped,
    /// The attempt has lost its job, or the job's record was deleted: nothing is recorded.
    Lost,
}

/// Claims and runs jobs, one at a time, until the service stops or drains. After attempts that this machine could not
/// carry out it waits before it claims again, so that others get their jobs.
pub async fn work(app: Arc<App>) {
    let mut failures = 0;
    while !app.stop.is_cancelled() && !app.draining.is_cancelled() {
        match app.records.jobs().claim(app.config.job_lease).await {
            Ok(Some(job)) => {
                let waited = |first: Timestamp| job.created_at.duration_until(first).unsigned_abs();
                let is_first = job.attempts == 1;
                let started = job.started_at.filter(|_| is_first);
                app.metrics.job_claimed(started.map(waited));
                // There may be another job, and another idle worker.
                app.queue.wake();
                match run_traced(&app, &job).await {
                    Ok(()) => failures = 0,
                    Err(CouldNotRun) => {
                        failures += 1;
                        rest(&app, failures).await;
                    }
                }
            }
            Ok(None) => {
                tokio::select! {
                    () = app.stop.cancelled() => {}
                    () = app.draining.cancelled() => {}
                    () = app.queue.woken() => {}
                    () = tokio::time::sleep(look_again()) => {}
                }
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

/// Waits after so many failures in sequence.
async fn rest(app: &App, failures: u32) {
    tokio::select! {
        () = app.stop.cancelled() => {}
        () = app.draining.cancelled() => {}
        () = tokio::time::sleep(rest_after(failures)) => {}
    }
}

/// The pause after so many failures in sequence: 1 s after the first, twice as long after each further one.
fn rest_after(failures: u32) -> Duration {
    let pause = RETRY_PAUSE.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1)));
    pause.min(LONGEST_REST)
}

/// Time until the next poll: random, so that the processes that share the records do not poll at the same moment.
fn look_again() -> Duration {
    LOOK_AGAIN.mul_f64(rand::random_range(0.5..1.5))
}

/// Runs a job as a part of the trace that queued it.
async fn run_traced(app: &Arc<App>, job: &JobRow) -> Result<(), CouldNotRun> {
    let queued_by = job.trace.as_deref().and_then(TraceParent::parse);
    let trace = queued_by.map_or_else(TraceParent::new, TraceParent::next);
    let span = tracing::info_span!("job", trace = trace.trace_id());
    trace::within(trace, run(app, job)).instrument(span).await
}

/// This machine failed, not the job.
struct CouldNotRun;

async fn run(app: &Arc<App>, job: &JobRow) -> Result<(), CouldNotRun> {
    tracing::info!(job = %job.id, op = job.kind.text(), asset = %job.asset, attempt = job.attempts, "job taken");
    let stop = app.stop.child_token();
    let attempt = Running {
        lease: job.lease(),
        stop: stop.clone(),
        news: None,
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
        Err(error) => {
            let reason = chain(&error);
            tracing::error!(job = %job.id, error = reason, "a job could not be worked on");
            if error.is_outage() {
                give_back(app, job, Attempt::CutOff { reason: &reason }).await;
            } else if job.attempts < u64::from(app.config.worker_limits.attempts) {
                give_back(app, job, Attempt::Failed { reason: &reason }).await;
            } else {
                give_up(app, job, &format!("the service failed: {reason}")).await;
            }
            return Err(CouldNotRun);
        }
    }
    Ok(())
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

/// Fails a job for a reason.
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
    job: &JobRow,
    task: &Task,
    stop: &CancellationToken,
) -> Result<Outcome, JobError> {
    let (latest, mut phases) = watch::channel(None::<Phase>);
    let working = app.workers.run(
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
        outcome = working => Ok(outcome?),
        () = showing => unreachable!("showing never ends"),
    }
}
