//! Makes a rapid model.

use tokio_util::sync::CancellationToken;

use super::collect::{collect, settle, store_text};
use super::optimize_task::task_of;
use super::work_folder::{Prepared, WorkFolder};
use super::{Done, JobError, fail_orphaned, job_events, run_worker};
use crate::service::app::App;
use crate::service::records::{JobRow, OptimizationEnd, PicturesOfResult, RapidRow};
use crate::service::workers::{Failure, Outcome};
use crate::wire::{OptimizationStatus, RapidId};
use assetfs_engine::job::Task;

/// The pictures of a model with more bytes come with its result.
const SMALL_BYTES: u64 = 8 << 20;

/// Runs one optimization.
pub async fn run(app: &App, job: &JobRow, stop: &CancellationToken) -> Result<Done, JobError> {
    let Some(rapid) = rapid_of(app, job).await? else {
        return fail_orphaned(app, job).await;
    };
    let place = match WorkFolder::lay_out(app, job, stop).await? {
        Prepared::Ready(place) => place,
        Prepared::Stopped => return Ok(Done::Stopped),
        Prepared::Refused { reason, .. } => {
            fail(app, job, &reason).await?;
            return Ok(Done::Recorded);
        }
    };
    let task = Task::Optimize(task_of(&place, &rapid, place.output()));
    // A large model is not made twice.
    let quick = app.quick_workers.as_ref();
    let quick = quick.filter(|_| place.input_bytes() <= SMALL_BYTES);
    let workers = quick.unwrap_or(&app.workers);
    let (failure, report) = match run_worker(app, workers, job, &task, stop).await? {
        Outcome::Done(report) => (None, report),
        Outcome::Failed(failure) => (Some(failure), None),
        Outcome::Stopped => return Ok(Done::Stopped),
    };
    if let Some(failure) = &failure {
        place.note_failure(&failure.reason)?;
    }
    let end = OptimizationEnd {
        status: match failure {
            None => OptimizationStatus::Done,
            Some(_) => OptimizationStatus::Failed,
        },
        report: report
            .as_deref()
            .map(|report| serde_json::to_string(report).expect("a report can be written")),
        files: collect(app, &place).await?,
        output: Failure::output(failure.as_ref()),
        is_refunded: false,
        pictures: match (&failure, quick) {
            (None, Some(_)) => PicturesOfResult::Later(job.asset),
            _ => PicturesOfResult::Here,
        },
        events: vec![job_events::optimized(
            job,
            rapid.id,
            failure.as_ref().map(|failure| failure.reason.as_str()),
        )],
    };
    record(app, job, rapid.id, &end).await?;
    Ok(Done::Recorded)
}

async fn rapid_of(app: &App, job: &JobRow) -> Result<Option<RapidRow>, JobError> {
    match job.rapid {
        Some(rapid) => Ok(app.records.rapids().get(job.user, rapid).await?),
        None => Ok(None),
    }
}

async fn record(
    app: &App,
    job: &JobRow,
    rapid: RapidId,
    end: &OptimizationEnd,
) -> Result<(), JobError> {
    let ended = app
        .records
        .optimizations()
        .end(job.lease(), job.user, rapid, end)
        .await;
    if settle(app, job.lease(), ended, &end.files).await? {
        app.metrics
            .job_ended(job.kind, end.status == OptimizationStatus::Done);
        app.events.tell(end.events.iter().map(job_events::told));
        if end.pictures != PicturesOfResult::Here {
            app.queue.add_drawing();
        }
    }
    Ok(())
}

/// Fails an optimization that no worker can run, or whose result does not fit; its error.log says why. Its point is given
/// back.
pub async fn fail(app: &App, job: &JobRow, reason: &str) -> Result<(), JobError> {
    let Some(rapid) = job.rapid else {
        return Ok(());
    };
    let end = OptimizationEnd {
        status: OptimizationStatus::Failed,
        report: None,
        files: vec![store_text(app, "error.log", format!("{reason}\n")).await?],
        output: Failure::output(Some(&Failure::of(reason))),
        is_refunded: true,
        pictures: PicturesOfResult::Here,
        events: vec![job_events::optimized(job, rapid, Some(reason))],
    };
    record(app, job, rapid, &end).await
}
