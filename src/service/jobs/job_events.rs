//! Events that webhooks receive when jobs end.

use serde_json::json;

use crate::service::app::App;
use crate::service::causes::chain;
use crate::service::records::{Area, JobRow};
use crate::wire::{Downloads, EventData, EventStatus, EventType, ModelId, RapidId};

/// An archive was unpacked, or unpacking failed.
pub fn unzipped(app: &App, job: &JobRow, failure: Option<&str>) {
    let done = "The archive was extracted.";
    app.events
        .emit(job.user, EventType::UnzipFinished, data(job, failure, done));
}

/// An analysis ended.
pub fn analysed(app: &App, job: &JobRow, failure: Option<&str>) {
    let done = "The analysis has finished.";
    app.events.emit(
        job.user,
        EventType::AnalysisFinished,
        data(job, failure, done),
    );
}

/// An optimization ended.
pub async fn optimized(app: &App, job: &JobRow, rapid: RapidId, failure: Option<&str>) {
    let mut data = data(job, failure, "The optimization has finished.");
    data.rapidmodel_id = Some(rapid);
    // A failed optimization has only logs.
    let area = match failure {
        None => Area::Export,
        Some(_) => Area::Analysis,
    };
    data.rapidmodel = files(app, rapid, area).await;
    if data.rapidmodel.is_empty() {
        // The API requires the field.
        data.other.insert("rapidmodel".to_owned(), json!({}));
    }
    app.events
        .emit(job.user, EventType::OptimizationFinished, data);
}

async fn files(app: &App, rapid: RapidId, area: Area) -> Downloads {
    match app.records.files().list(&[ModelId::Rapid(rapid)]).await {
        Ok(files) => files
            .into_iter()
            .filter(|file| file.area == area)
            .filter_map(|file| Some((file.name.clone(), app.download_url(&file)?)))
            .collect(),
        Err(error) => {
            tracing::error!(error = %chain(&error), "the files of an event cannot be read");
            Downloads::default()
        }
    }
}

fn data(job: &JobRow, failure: Option<&str>, done: &str) -> EventData {
    EventData {
        status: Some(match failure {
            None => EventStatus::Successful,
            Some(_) => EventStatus::Failed,
        }),
        message: Some(failure.unwrap_or(done).to_owned()),
        rawmodel_id: Some(job.asset),
        ..EventData::default()
    }
}
