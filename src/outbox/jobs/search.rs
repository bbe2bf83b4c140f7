//! Finds requests whose answer was lost, by their one-off tag.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::book::{JobRecord, SubmissionStage};
use super::send::tell_all;
use crate::client::{ClientError, Priority};
use crate::outbox::error::OutboxResult;
use crate::outbox::failpoint::{self, Failpoint};
use crate::outbox::pauses::Pauses;
use crate::outbox::shared::Shared;
use crate::outbox::types::OutboxEvent;
use crate::wire::{AssetId, RapidId, RapidModel};

/// The longest pause between two looks for a lost request.
const LONGEST_SEARCH: Duration = Duration::from_secs(5);
/// Rapid models without tags in the list that are asked for one by one.
const ASKED_ONE_BY_ONE: usize = 20;

/// Writes down that the service has a request.
pub async fn taken(shared: &Arc<Shared>, tag: &str, rapid: RapidId) -> OutboxResult<()> {
    let tag = tag.to_owned();
    shared
        .record(JobRecord::Taken {
            tag: tag.clone(),
            rapid,
        })
        .await?;
    failpoint::hit(Failpoint::BeforeTagRemoval);
    tell_all(shared, &tag);
    shared.events.tell(OutboxEvent::RapidFound(rapid));
    shared.progress_news.notify_one();
    Ok(())
}

/// Looks for a request whose reply was lost. What is not found within the time is unknown.
pub async fn look_for(shared: &Arc<Shared>, tag: &str) {
    let asset = match shared.core().state.jobs.submissions.get(tag) {
        Some(submission) if submission.stage == SubmissionStage::Sent => submission.asset,
        _ => return,
    };
    let until = Instant::now() + shared.config.look_for_lost;
    let mut pauses = Pauses::new(shared.config.first_poll, LONGEST_SEARCH);
    loop {
        let last_look = Instant::now() >= until;
        let Some(found) = shared.until_closed(find(shared, asset, tag)).await else {
            return;
        };
        let recorded = match found {
            Ok(Some(rapid)) => Some(taken(shared, tag, rapid).await),
            // Only an answer from after the time counts as "not there".
            Ok(None) if last_look => {
                let tag = tag.to_owned();
                Some(shared.record(JobRecord::Lost { tag }).await)
            }
            Err(ClientError::NotFound { .. }) => {
                let (tag, reason) = (
                    tag.to_owned(),
                    "the asset does not exist any more".to_owned(),
                );
                Some(shared.record(JobRecord::Refused { tag, reason }).await)
            }
            Ok(None) | Err(_) => None,
        };
        match recorded {
            Some(Ok(())) => break,
            Some(Err(error)) => tracing::warn!(tag, %error, "an outcome could not be written down"),
            None => {}
        }
        let left = until.saturating_duration_since(Instant::now());
        let pause = pauses.next_pause();
        let pause = if left.is_zero() {
            pause
        } else {
            pause.min(left)
        };
        if !shared.pause(pause).await {
            return;
        }
    }
    tell_all(shared, tag);
}

async fn find(shared: &Shared, asset: AssetId, tag: &str) -> Result<Option<RapidId>, ClientError> {
    let models = shared
        .client
        .asset_rapid_models(asset, Priority::Background)
        .await?;
    let carries = |model: &RapidModel| model.tags.iter().any(|it| it.name == tag);
    if let Some(model) = models.iter().find(|model| carries(model)) {
        return Ok(Some(model.id));
    }
    // A list may leave the tags out; the record on its own has them.
    let mut untagged: Vec<RapidId> = models
        .iter()
        .filter(|model| model.tags.is_empty())
        .map(|model| model.id)
        .collect();
    untagged.sort_by(|a, b| b.cmp(a));
    for id in untagged.into_iter().take(ASKED_ONE_BY_ONE) {
        match shared.client.rapid_model(id, Priority::Background).await {
            Ok(model) if carries(&model) => return Ok(Some(id)),
            Ok(_) | Err(ClientError::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}
