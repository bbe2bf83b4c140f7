//! Events that webhooks receive when jobs end. Each attempt of a job gives its events the same ids, so none is sent twice.

use crate::service::records::{Area, JobRow, NewEvent};
use crate::wire::{Event, EventData, EventStatus, EventType, RapidId};

/// An archive was unpacked, or unpacking failed.
pub fn unzipped(job: &JobRow, failure: Option<&str>) -> NewEvent {
    let done = "The archive was extracted.";
    event(job, EventType::UnzipFinished, data(job, failure, done))
}

/// An analysis ended.
pub fn analysed(job: &JobRow, failure: Option<&str>) -> NewEvent {
    let done = "The analysis has finished.";
    event(job, EventType::AnalysisFinished, data(job, failure, done))
}

/// An optimization ended.
pub fn optimized(job: &JobRow, rapid: RapidId, failure: Option<&str>) -> NewEvent {
    let mut data = data(job, failure, "The optimization has finished.");
    data.rapidmodel_id = Some(rapid);
    NewEvent {
        // A failed optimization has only logs.
        links: Some(match failure {
            None => Area::Export,
            Some(_) => Area::Analysis,
        }),
        ..event(job, EventType::OptimizationFinished, data)
    }
}

/// An event as other parts of this process are told it: without the links that webhooks get.
pub fn told(event: &NewEvent) -> Event {
    Event {
        event_type: event.event_type.clone(),
        data: event.data.clone(),
        ..Event::default()
    }
}

fn event(job: &JobRow, event_type: EventType, data: EventData) -> NewEvent {
    NewEvent {
        id: format!("{}.{event_type}", job.key),
        event_type,
        data,
        links: None,
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
