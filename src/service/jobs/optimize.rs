//! Makes a rapid model.

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::collect::{collect, settle, store_text};
use super::work_folder::{Prepared, WorkFolder};
use super::{Done, JobError, fail_orphaned, job_events, run_worker};
use crate::service::app::App;
use crate::service::names;
use crate::service::records::{JobRow, OptimizationEnd, RapidRow};
use crate::service::workers::{Failure, Outcome};
use crate::wire::{OptimizationStatus, RapidId};
use assetfs_engine::job::{OptimizeTask, Task};

/// The longest name of a result with the additions of its preset, in bytes.
const MAX_RESULT_NAME_BYTES: usize = 150;

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
    let task = Task::Optimize(OptimizeTask {
        input_dir: place.input(),
        files: place.files.clone(),
        output_dir: place.output(),
        config: config(&rapid),
        export_name: rapid.export_name.as_deref().map(names::file_stem),
        base_name: base_name(&rapid),
        scale: rapid.scale_factor,
    });
    let (failure, report) = match run_worker(app, job, &task, stop).await? {
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
        events: vec![job_events::optimized(
            job,
            rapid.id,
            failure.as_ref().map(|failure| failure.reason.as_str()),
        )],
    };
    record(app, job, rapid.id, &end).await?;
    Ok(Done::Recorded)
}

/// The configuration of a rapid model.
fn config(rapid: &RapidRow) -> Map<String, Value> {
    serde_json::from_str(&rapid.config).expect("what was stored is a configuration")
}

/// The default name of the exported files: the asset's name with the additions of the preset.
fn base_name(rapid: &RapidRow) -> String {
    let rule = &rapid.filename_rule;
    let suffix = rule.use_suffix.as_str().filter(|suffix| !suffix.is_empty());
    let preset = rapid.preset_name.as_deref();
    let id = rapid.id.to_string();
    let added = [
        suffix,
        preset.filter(|_| rule.use_preset_name),
        rule.use_id.then_some(id.as_str()),
    ];
    let added: String = added
        .into_iter()
        .flatten()
        .map(|part| format!("-{part}"))
        .collect();
    // If the name is too long, the addition is kept, because it distinguishes the results.
    let added = names::file_stem(&format!("x{added}"));
    let room = MAX_RESULT_NAME_BYTES.saturating_sub(added.len());
    let name = names::file_stem(&rapid.name);
    let end = name.floor_char_boundary(room.max(1));
    format!("{}{}", &name[..end], &added[1..])
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
        app.events.announce();
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
        events: vec![job_events::optimized(job, rapid, Some(reason))],
    };
    record(app, job, rapid, &end).await
}
