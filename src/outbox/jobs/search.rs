//! Finds requests whose answer was lost: optimizations by their one-off tag, embeds by being new.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::client::{ClientError, Priority};
use crate::outbox::error::OutboxResult;
use crate::outbox::events::OutboxEvent;
use crate::outbox::failpoint;
use crate::outbox::failpoint::Failpoint;
use crate::outbox::jobs::book::{EmbedStage, EmbedSubmission, JobRecord, SubmissionStage};
use crate::outbox::jobs::plan::{Answer, SearchStep, next_search_step};
use crate::outbox::jobs::request::Made;
use crate::outbox::jobs::send::tell_all;
use crate::outbox::pauses::Pauses;
use crate::outbox::shared::Shared;
use crate::wire::{AssetId, Embed, EmbedId, ModelId, RapidId, RapidModel};

/// The longest pause between two looks for a lost request.
const LONGEST_SEARCH: Duration = Duration::from_secs(5);
/// Rapid models without tags in the list that are asked for one by one.
const ASKED_ONE_BY_ONE: usize = 20;

/// What is looked for.
enum Lost {
    Optimization(AssetId),
    Embed(EmbedSubmission),
}

/// Writes down what a request made.
pub async fn taken(shared: &Arc<Shared>, tag: &str, made: Made) -> OutboxResult<()> {
    let tag = tag.to_owned();
    match made {
        Made::Rapid(rapid) => {
            let record = JobRecord::Taken {
                tag: tag.clone(),
                rapid,
            };
            shared.record(record).await?;
            failpoint::hit(Failpoint::BeforeTagRemoval);
            shared.events.tell(OutboxEvent::RapidFound(rapid));
            shared.progress_news.notify_one();
        }
        Made::Embed(embed) => {
            let record = JobRecord::EmbedMade {
                tag: tag.clone(),
                embed,
            };
            shared.record(record).await?;
            shared.events.tell(OutboxEvent::EmbedsChanged);
        }
        // Each of them is looked for by its own tag.
        Made::Rapids => shared.job_news.notify_one(),
    }
    tell_all(shared, &tag);
    Ok(())
}

/// Looks for a request whose reply was lost. What is not found within the time is unknown.
pub async fn look_for(shared: &Arc<Shared>, tag: &str) {
    let until = Instant::now() + shared.config.look_for_lost;
    let mut pauses = Pauses::new(shared.config.first_poll, LONGEST_SEARCH);
    // An outcome that could not be made durable yet stands all the same: it is not looked for again.
    while let Some(lost) = lost(shared, tag) {
        let last_look = Instant::now() >= until;
        let Some(answer) = shared.until_closed(find(shared, &lost, tag)).await else {
            return;
        };
        match conclude(shared, tag, next_search_step(answer, last_look)).await {
            Ok(true) => break,
            Ok(false) => {}
            Err(error) => tracing::warn!(tag, %error, "an outcome could not be written down"),
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

fn lost(shared: &Shared, tag: &str) -> Option<Lost> {
    let core = shared.core();
    let book = &core.state.jobs;
    let submission = book.submissions.get(tag);
    let embed = book.embeds.get(tag);
    match (submission, embed) {
        (Some(it), _) if it.stage == SubmissionStage::Sent => Some(Lost::Optimization(it.asset)),
        (_, Some(it)) if it.stage == EmbedStage::Sent => Some(Lost::Embed(it.clone())),
        _ => None,
    }
}

/// Writes down how a search goes on; tells whether it is over.
async fn conclude(shared: &Arc<Shared>, tag: &str, step: SearchStep<Made>) -> OutboxResult<bool> {
    let tag = tag.to_owned();
    match step {
        SearchStep::LookLater => return Ok(false),
        SearchStep::Take(made) => taken(shared, &tag, made).await?,
        SearchStep::GiveUp => shared.record(JobRecord::Lost { tag }).await?,
        SearchStep::Drop => {
            let reason = "what it was made for does not exist any more".to_owned();
            shared.record(JobRecord::Refused { tag, reason }).await?;
        }
    }
    Ok(true)
}

async fn find(shared: &Shared, lost: &Lost, tag: &str) -> Answer<Made> {
    let found = match lost {
        Lost::Optimization(asset) => find_rapid(shared, *asset, tag)
            .await
            .map(|found| found.map(Made::Rapid)),
        Lost::Embed(embed) => find_embed(shared, embed)
            .await
            .map(|found| found.map(Made::Embed)),
    };
    match found {
        Ok(Some(made)) => Answer::Found(made),
        Ok(None) => Answer::NotThere,
        Err(ClientError::NotFound { .. }) => Answer::Gone,
        Err(_) => Answer::Silence,
    }
}

async fn find_rapid(
    shared: &Shared,
    asset: AssetId,
    tag: &str,
) -> Result<Option<RapidId>, ClientError> {
    let models = shared
        .client
        .assets()
        .rapid_models(asset, Priority::Background)
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
        match shared.client.rapids().get(id, Priority::Background).await {
            Ok(model) if carries(&model) => return Ok(Some(id)),
            Ok(_) | Err(ClientError::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// The oldest embed of the request's model and name that was not there before and that no other
/// request of ours has made.
async fn find_embed(
    shared: &Shared,
    lost: &EmbedSubmission,
) -> Result<Option<EmbedId>, ClientError> {
    let there = embeds_of(shared, lost.of, &lost.name).await?;
    let core = shared.core();
    let taken = |id: EmbedId| {
        let mut embeds = core.state.jobs.embeds.values();
        embeds.any(|it| it.stage == EmbedStage::Made { embed: id })
    };
    let new = there.into_iter();
    Ok(new
        .filter(|id| !lost.before.contains(id) && !taken(*id))
        .min())
}

/// The embeds of a model that have this name.
pub async fn embeds_of(
    shared: &Shared,
    of: ModelId,
    name: &str,
) -> Result<Vec<EmbedId>, ClientError> {
    let rapid = match of {
        ModelId::Rapid(rapid) => Some(rapid),
        ModelId::Asset(_) => None,
    };
    let listed = shared
        .client
        .embeds()
        .all(rapid, Priority::Interactive)
        .await?;
    let same = |embed: &&Embed| embed.name == name && may_show(embed, of);
    Ok(listed.iter().filter(same).map(|embed| embed.id).collect())
}

/// False when the record says that the embed shows something else.
fn may_show(embed: &Embed, of: ModelId) -> bool {
    match of {
        ModelId::Rapid(rapid) => {
            embed.raw_model_id.is_none() && embed.rapid().is_none_or(|shown| shown == rapid)
        }
        ModelId::Asset(asset) => embed.raw_model_id.is_none_or(|shown| shown == asset),
    }
}
