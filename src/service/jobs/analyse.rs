//! Analyses an upload.

use tokio_util::sync::CancellationToken;

use super::collect::{collect, read_text, settle, store_text};
use super::work_folder::{Prepared, WorkFolder};
use super::{Done, JobError, job_events, run_worker};
use crate::service::app::App;
use crate::service::names;
use crate::service::records::{AnalysisEnd, JobRow, NewEvent};
use crate::service::workers::{Failure, Outcome};
use crate::wire::UploadStatus;
use assetfs_engine::job::{AnalyseTask, ModelFile, Phase, Task};

/// Larger statistics are only stored as a file, not in the record.
const METADATA_LIMIT: u64 = 256 << 10;

/// A larger error.log is taken to contain errors, without reading it.
const LOG_LIMIT: u64 = 1 << 20;

/// Runs one analysis.
pub async fn run(app: &App, job: &JobRow, stop: &CancellationToken) -> Result<Done, JobError> {
    let place = match prepare(app, job, stop).await? {
        Ok(place) => place,
        Err(done) => return Ok(done),
    };
    let task = Task::Analyse(AnalyseTask {
        input_dir: place.input(),
        files: place.files.clone(),
        output_dir: place.output(),
    });
    let outcome = match run_worker(app, &app.workers, job, &task, stop).await? {
        Outcome::Done(report) => Ok(report.and_then(|report| report.model)),
        Outcome::Failed(failure) => Err(failure),
        Outcome::Stopped => {
            show(app, job, &UploadStatus::Waiting, &[]).await?;
            return Ok(Done::Stopped);
        }
    };
    record(app, job, &place, outcome).await?;
    Ok(Done::Recorded)
}

/// The state of an asset during a phase of its analysis.
pub fn status_in(phase: Phase) -> UploadStatus {
    match phase {
        Phase::Reading => UploadStatus::Analysing,
        Phase::Preparing => UploadStatus::DataPrepping,
        Phase::Drawing => UploadStatus::ServiceQc,
    }
}

/// Updates the state of an asset and adds events; false if the attempt has lost its job.
pub(super) async fn show(
    app: &App,
    job: &JobRow,
    status: &UploadStatus,
    events: &[NewEvent],
) -> Result<bool, JobError> {
    let owner = (job.user, job.asset);
    let setting = app
        .records
        .imports()
        .set_status(job.lease(), owner, status, events);
    let is_set = setting.await?;
    if !events.is_empty() {
        app.events.announce();
    }
    Ok(is_set)
}

/// Prepares the work folder and shows that the analysis begins, or records why that is impossible.
async fn prepare(
    app: &App,
    job: &JobRow,
    stop: &CancellationToken,
) -> Result<Result<WorkFolder, Done>, JobError> {
    let asset = app.records.assets().get(job.user, job.asset).await?;
    let is_zip = asset.is_some_and(|asset| asset.is_zip);
    if is_zip {
        // A lost job is detected before its worker starts.
        show(app, job, &UploadStatus::Unzipping, &[]).await?;
    }
    match WorkFolder::lay_out(app, job, stop).await? {
        Prepared::Ready(place) => {
            let unzipped = is_zip.then(|| job_events::unzipped(job, None));
            match show(app, job, &UploadStatus::Analysing, unzipped.as_slice()).await? {
                true => Ok(Ok(place)),
                false => Ok(Err(Done::Lost)),
            }
        }
        Prepared::Stopped => {
            show(app, job, &UploadStatus::Waiting, &[]).await?;
            Ok(Err(Done::Stopped))
        }
        Prepared::Refused { reason, limit } => {
            let unzipped = is_zip.then(|| job_events::unzipped(job, Some(&reason)));
            let status = if limit {
                UploadStatus::ImportLimitExceeded
            } else {
                UploadStatus::ImportingFailed
            };
            fail_as(app, job, status, &reason, unzipped).await?;
            Ok(Err(Done::Recorded))
        }
    }
}

async fn record(
    app: &App,
    job: &JobRow,
    place: &WorkFolder,
    outcome: Result<Option<ModelFile>, Failure>,
) -> Result<(), JobError> {
    let (model, failure) = match outcome {
        Ok(model) => (model, None),
        Err(failure) => (None, Some(failure)),
    };
    if let Some(failure) = &failure {
        place.note_failure(&failure.reason)?;
    }
    let log = place.output().join("error.log");
    let has_errors = match read_text(place, "error.log", LOG_LIMIT) {
        Some(text) => !text.trim().is_empty(),
        None => log.exists(),
    };
    let metadata = read_text(place, "rpd_info.json", METADATA_LIMIT)
        .filter(|text| serde_json::from_str::<serde_json::Value>(text).is_ok());
    let files = collect(app, place).await?;
    let end = AnalysisEnd {
        status: match failure {
            None => UploadStatus::Complete,
            Some(_) => UploadStatus::ImportingFailed,
        },
        has_errors,
        output: Failure::output(failure.as_ref()),
        events: vec![job_events::analysed(
            job,
            failure.as_ref().map(|failure| failure.reason.as_str()),
        )],
        error_message: failure.map(|failure| failure.reason),
        main_file: model.as_ref().and_then(|model| place.uploaded_file(model)),
        format: Some(match model {
            Some(model) => model.format,
            None => names::main_file(&place.files).1,
        }),
        metadata,
        files,
    };
    store(app, job, &end).await
}

async fn store(app: &App, job: &JobRow, end: &AnalysisEnd) -> Result<(), JobError> {
    let ended = app
        .records
        .imports()
        .end(job.lease(), job.user, job.asset, end)
        .await;
    if settle(app, job.lease(), ended, &end.files).await? {
        app.metrics.job_ended(job.kind, end.error_message.is_none());
        app.events.tell(end.events.iter().map(job_events::told));
    }
    Ok(())
}

/// Fails an analysis that no worker can run.
pub async fn fail(app: &App, job: &JobRow, reason: &str) -> Result<(), JobError> {
    fail_as(app, job, UploadStatus::ImportingFailed, reason, None).await
}

async fn fail_as(
    app: &App,
    job: &JobRow,
    status: UploadStatus,
    reason: &str,
    earlier: Option<NewEvent>,
) -> Result<(), JobError> {
    let end = AnalysisEnd {
        status,
        has_errors: true,
        error_message: Some(reason.to_owned()),
        format: None,
        main_file: None,
        metadata: None,
        files: vec![store_text(app, "error.log", format!("{reason}\n")).await?],
        output: Failure::output(Some(&Failure::of(reason))),
        events: earlier
            .into_iter()
            .chain([job_events::analysed(job, Some(reason))])
            .collect(),
    };
    store(app, job, &end).await
}
