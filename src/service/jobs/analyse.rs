//! Finds out what is in an upload.

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::collect::{collect, discard, read_text, store_text};
use super::place::Place;
use super::{Done, JobError, have_done};
use crate::engine::job::{AnalyseTask, Task};
use crate::service::app::App;
use crate::service::records::{AnalysisEnd, JobRow};
use crate::service::workers::Outcome;
use crate::wire::UploadStatus;

/// Statistics larger than this stay a file only.
const METADATA_LIMIT: u64 = 256 << 10;

/// An error.log larger than this has errors for certain.
const LOG_LIMIT: u64 = 1 << 20;

/// Does one analysis.
pub async fn run(app: &App, job: &JobRow, stop: &CancellationToken) -> Result<Done, JobError> {
    let Some(place) = Place::lay_out(app, job).await? else {
        fail(app, job, "the uploaded files are gone").await?;
        return Ok(Done::Recorded);
    };
    app.records
        .set_asset_status(job.asset, &UploadStatus::Analysing)
        .await?;
    let task = Task::Analyse(AnalyseTask {
        input_dir: place.input(),
        files: place.files.clone(),
        output_dir: place.output(),
    });
    let failure = match have_done(app, job, &task, stop).await {
        Outcome::Done(_) => None,
        Outcome::Failed { reason, .. } => Some(reason),
        Outcome::Stopped => {
            app.records
                .set_asset_status(job.asset, &UploadStatus::Waiting)
                .await?;
            return Ok(Done::Stopped);
        }
    };
    record(app, job, &place, failure).await?;
    Ok(Done::Recorded)
}

async fn record(
    app: &App,
    job: &JobRow,
    place: &Place,
    failure: Option<String>,
) -> Result<(), JobError> {
    if let Some(reason) = &failure {
        place.note_failure(reason)?;
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
        output: output(failure.as_deref()),
        error_message: failure,
        format: None,
        metadata,
        files,
    };
    store(app, job, &end).await
}

async fn store(app: &App, job: &JobRow, end: &AnalysisEnd) -> Result<(), JobError> {
    match app
        .records
        .end_analysis(job.id, job.user, job.asset, end)
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

/// Fails an analysis that no worker could be given.
pub async fn fail(app: &App, job: &JobRow, reason: &str) -> Result<(), JobError> {
    let end = AnalysisEnd {
        status: UploadStatus::ImportingFailed,
        has_errors: true,
        error_message: Some(reason.to_owned()),
        format: None,
        metadata: None,
        files: vec![store_text(app, "error.log", format!("{reason}\n")).await?],
        output: output(Some(reason)),
    };
    store(app, job, &end).await
}

/// What a job leaves to say.
pub(super) fn output(failure: Option<&str>) -> String {
    match failure {
        None => json!({ "exitCode": 0 }).to_string(),
        Some(reason) => json!({ "exitCode": 1, "error": reason }).to_string(),
    }
}
