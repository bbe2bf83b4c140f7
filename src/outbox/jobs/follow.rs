//! Follows the optimizations that run: one request covers them all, with growing pauses. Removes the
//! one-off tag of each as soon as its rapid model is known.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::client::{ClientError, Priority};
use crate::outbox::error::OutboxResult;
use crate::outbox::events::OutboxEvent;
use crate::outbox::failpoint;
use crate::outbox::failpoint::Failpoint;
use crate::outbox::jobs::book::{JobRecord, SubmissionStage};
use crate::outbox::jobs::log::fetch_reason;
use crate::outbox::jobs::send::tell_all;
use crate::outbox::pauses::Pauses;
use crate::outbox::shared::Shared;
use crate::wire::{RapidId, RapidModel};

/// The longest pause between two looks.
const LONGEST_LOOK: Duration = Duration::from_secs(10);
/// What is done with no job running.
const IDLE: Duration = Duration::from_secs(600);

/// Runs until the outbox closes.
pub async fn run(shared: Arc<Shared>) {
    let mut pauses = Pauses::new(shared.config.first_poll, LONGEST_LOOK);
    loop {
        let running = if shared.config.paused {
            Vec::new()
        } else {
            running(&shared)
        };
        let tagged = if shared.config.paused {
            Vec::new()
        } else {
            tagged(&shared)
        };
        let mut moved = false;
        if !running.is_empty() {
            let Some(looked) = shared.until_closed(look(&shared, &running)).await else {
                return;
            };
            moved = looked.unwrap_or_else(|error| {
                tracing::debug!(%error, "running jobs could not be looked at");
                false
            });
        }
        let mut left = false;
        for (tag, rapid) in &tagged {
            left |= !remove_tag(&shared, tag, *rapid).await;
        }
        if moved {
            pauses.reset();
        }
        let wait = if running.is_empty() && !left {
            IDLE
        } else {
            pauses.next_pause()
        };
        tokio::select! {
            biased;
            () = tokio::time::sleep(wait) => {}
            () = shared.progress_news.notified() => pauses.reset(),
            () = shared.closed() => return,
        }
    }
}

fn running(shared: &Shared) -> Vec<(String, RapidId)> {
    let core = shared.core();
    let submissions = core.state.jobs.submissions.iter();
    submissions
        .filter_map(|(tag, submission)| match submission.stage {
            SubmissionStage::Taken { rapid } => Some((tag.clone(), rapid)),
            _ => None,
        })
        .collect()
}

fn tagged(shared: &Shared) -> Vec<(String, RapidId)> {
    let core = shared.core();
    let submissions = core.state.jobs.submissions.iter();
    submissions
        .filter(|(_, submission)| submission.tagged)
        .filter_map(|(tag, submission)| Some((tag.clone(), submission.stage.rapid()?)))
        .collect()
}

/// Looks at all running jobs; tells whether anything moved.
async fn look(shared: &Arc<Shared>, running: &[(String, RapidId)]) -> Result<bool, ClientError> {
    let listed = shared
        .client
        .optimizations()
        .running(Priority::Background)
        .await?;
    let listed: HashMap<RapidId, RapidModel> = listed.into_iter().map(|it| (it.id, it)).collect();
    let mut moved = false;
    for (tag, rapid) in running {
        let model = match listed.get(rapid) {
            Some(model) => Ok(model.clone()),
            // What is not in the list any more has ended well, or is gone.
            None => {
                shared
                    .client
                    .rapids()
                    .get(*rapid, Priority::Background)
                    .await
            }
        };
        let failure = match model {
            Ok(model) if !model.optimization_status.is_final() => {
                moved |= note_progress(shared, tag, &model);
                continue;
            }
            Ok(model) if model.optimization_status.is_failure() => {
                Some(reason(shared, &model).await)
            }
            Ok(_) => None,
            Err(ClientError::NotFound { .. }) => Some("its rapid model was deleted".to_owned()),
            Err(error) => return Err(error),
        };
        moved = true;
        if let Err(error) = end(shared, tag, *rapid, failure).await {
            tracing::warn!(%error, "the end of a job could not be written down");
        }
    }
    Ok(moved)
}

async fn end(
    shared: &Arc<Shared>,
    tag: &str,
    rapid: RapidId,
    failure: Option<String>,
) -> OutboxResult<()> {
    let tag = tag.to_owned();
    shared
        .record(JobRecord::Ended {
            tag: tag.clone(),
            failure,
        })
        .await?;
    shared.core().job_progress.remove(&tag);
    tell_all(shared, &tag);
    shared.events.tell(OutboxEvent::RapidFound(rapid));
    Ok(())
}

fn note_progress(shared: &Shared, tag: &str, model: &RapidModel) -> bool {
    let percent = model.progress.min(99) as u8;
    let before = shared.core().job_progress.insert(tag.to_owned(), percent);
    let moved = before != Some(percent);
    if moved {
        tell_all(shared, tag);
    }
    moved
}

/// Why it failed: what its error log says, else what its record says.
async fn reason(shared: &Shared, model: &RapidModel) -> String {
    if let Some(log) = &model.rpd_error {
        match fetch_reason(&shared.client, log).await {
            Ok(Some(reason)) => return reason,
            Ok(None) => {}
            Err(error) => tracing::debug!(%error, "the log of a failed job could not be read"),
        }
    }
    reason_in_record(model)
}

fn reason_in_record(model: &RapidModel) -> String {
    let step = model
        .processing_step
        .as_deref()
        .filter(|step| !step.trim().is_empty());
    let output = model
        .job_status
        .as_ref()
        .and_then(|job| job.output.as_deref());
    match (step, output) {
        (Some(step), _) if !step.eq_ignore_ascii_case("done") => step.to_owned(),
        (_, Some(output)) if !output.trim().is_empty() => output.trim().to_owned(),
        _ => "the service failed to optimize it; error.log of the rapid model has more".to_owned(),
    }
}

/// Removes a one-off tag; tells whether that is done.
async fn remove_tag(shared: &Arc<Shared>, tag: &str, rapid: RapidId) -> bool {
    // Without its tag the rapid model is found by the journal alone, which has to know it durably.
    if let Err(error) = shared.settle(shared.journal.last()).await {
        tracing::debug!(tag, %error, "a one-off tag stays until the journal can be written");
        return false;
    }
    let work = async {
        let model = match shared
            .client
            .rapids()
            .get(rapid, Priority::Background)
            .await
        {
            Ok(model) => model,
            Err(ClientError::NotFound { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        let Some(found) = model.tags.iter().find(|it| it.name == tag) else {
            return Ok(());
        };
        match shared.client.rapids().remove_tag(rapid, found.id).await {
            Ok(()) | Err(ClientError::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    };
    match shared.until_closed(work).await {
        Some(Ok(())) => {}
        Some(Err(error)) => {
            tracing::debug!(tag, %error, "a one-off tag could not be removed yet");
            return false;
        }
        None => return false,
    }
    failpoint::hit(Failpoint::AfterTagRemoval);
    let tag = tag.to_owned();
    let recorded = shared.record(JobRecord::TagRemoved { tag }).await;
    shared.events.tell(OutboxEvent::RapidFound(rapid));
    recorded.is_ok()
}
