//! Makes a rapid model.

use tokio_util::sync::CancellationToken;

use super::analyse::output;
use super::collect::{collect, discard, store_text};
use super::place::Place;
use super::{Done, JobError, have_done};
use crate::engine::job::{OptimizeTask, Task};
use crate::service::app::App;
use crate::service::names;
use crate::service::records::{JobRow, OptimizationEnd, RapidRow};
use crate::service::workers::Outcome;
use crate::wire::{OptimizationStatus, RapidId};

/// Does one optimization.
pub async fn run(app: &App, job: &JobRow, stop: &CancellationToken) -> Result<Done, JobError> {
    let Some(rapid) = rapid_of(app, job).await? else {
        return Ok(Done::Recorded);
    };
    let Some(place) = Place::lay_out(app, job).await? else {
        fail(
            app,
            job,
            "the base asset was deleted before the optimization began",
        )
        .await?;
        return Ok(Done::Recorded);
    };
    let task = Task::Optimize(OptimizeTask {
        input_dir: place.input(),
        files: place.files.clone(),
        output_dir: place.output(),
        config: serde_json::from_str(&rapid.config).unwrap_or_default(),
        export_name: rapid.export_name.as_deref().map(names::file_stem),
        base_name: names::file_stem(&rapid.name),
    });
    let (failure, report) = match have_done(app, job, &task, stop).await {
        Outcome::Done(report) => (None, report),
        Outcome::Failed { reason, .. } => (Some(reason), None),
        Outcome::Stopped => return Ok(Done::Stopped),
    };
    if let Some(reason) = &failure {
        place.note_failure(reason)?;
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
        output: output(failure.as_deref()),
    };
    record(app, job, rapid.id, &end).await?;
    Ok(Done::Recorded)
}

async fn rapid_of(app: &App, job: &JobRow) -> Result<Option<RapidRow>, JobError> {
    match job.rapid {
        Some(rapid) => Ok(app.records.rapid(job.user, rapid).await?),
        None => Ok(None),
    }
}

async fn record(
    app: &App,
    job: &JobRow,
    rapid: RapidId,
    end: &OptimizationEnd,
) -> Result<(), JobError> {
    match app
        .records
        .end_optimization(job.id, job.user, rapid, end)
        .await
    {
        Ok(Some(replaced)) => app.files.remove(&replaced).await,
        Ok(None) => discard(app, &end.files).await,
        Err(error) => {
            discard(app, &end.files).await;
            return Err(error.into());
        }
    }
    Ok(())
}

/// Fails an optimization that no worker could be given; its error.log says why.
pub async fn fail(app: &App, job: &JobRow, reason: &str) -> Result<(), JobError> {
    let Some(rapid) = job.rapid else {
        return Ok(());
    };
    let end = OptimizationEnd {
        status: OptimizationStatus::Failed,
        report: None,
        files: vec![store_text(app, "error.log", format!("{reason}\n")).await?],
        output: output(Some(reason)),
    };
    record(app, job, rapid, &end).await
}
