//! Searches for the results of requests whose reply was lost: optimizations by their one-off tag or their note, embeds
//! by comparison with those before.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::backoff::Backoff;
use crate::client::{ClientError, Priority};
use crate::outbox::error::OutboxResult;
use crate::outbox::events::OutboxEvent;
use crate::outbox::failpoint;
use crate::outbox::failpoint::Failpoint;
use crate::outbox::jobs::book::{
    EmbedStage, EmbedSubmission, JobRecord, Submission, SubmissionStage,
};
use crate::outbox::jobs::embeds::embeds_of;
use crate::outbox::jobs::notes::tagged_models;
use crate::outbox::jobs::parts::JobParts;
use crate::outbox::jobs::plan::{Answer, SearchStep, next_search_step};
use crate::outbox::jobs::request::Made;
use crate::wire::EmbedId;

/// The longest pause between two searches for a lost request.
const MAX_SEARCH_PAUSE: Duration = Duration::from_secs(5);

/// A request that is searched for.
enum Lost {
    Optimization(Submission),
    Embed(EmbedSubmission),
}

impl Lost {
    /// True if sending the request again is safe, because the service deduplicates it by its idempotency key. False for
    /// a request that is to be paid again (it has no key, unless it makes one result again), and for one of several assets
    /// (the key covers an asset's position in the list, which may change).
    fn is_deduplicated(&self, parts: &JobParts, tag: &str) -> bool {
        match self {
            Lost::Optimization(it) => {
                let has_key = it.note.is_some() || makes_again(parts, tag);
                has_key && it.group.is_none() && parts.client.keeps_idempotency_keys()
            }
            Lost::Embed(_) => false,
        }
    }
}

/// Whether a request is to make a result again, which its key names.
fn makes_again(parts: &JobParts, tag: &str) -> bool {
    let memory = parts.memory();
    let mut files = memory.book.files.values();
    files.any(|file| file.submission.as_deref() == Some(tag) && file.after.is_some())
}

/// Records the result of a request.
pub async fn record_result(parts: &Arc<JobParts>, tag: &str, made: Made) -> OutboxResult<()> {
    let tag = tag.to_owned();
    match made {
        Made::Rapid(rapid) => {
            let record = JobRecord::Taken {
                tag: tag.clone(),
                rapid,
            };
            parts.record(record).await?;
            failpoint::hit(Failpoint::BeforeTagRemoval);
            // The poll shows it.
            parts.own.poll_wake.notify_one();
        }
        Made::Embed(embed) => {
            let record = JobRecord::EmbedMade {
                tag: tag.clone(),
                embed,
            };
            parts.record(record).await?;
            parts.events.send(OutboxEvent::EmbedsChanged);
        }
        // Each of them is searched for by its own tag.
        Made::Rapids => parts.own.jobs_wake.notify_one(),
    }
    parts.report_submission(&tag);
    Ok(())
}

/// Searches for a request whose reply was lost. If it is not found in time, it is sent again if the service performs it only
/// once, and else stays unknown.
pub async fn look_for(parts: &Arc<JobParts>, tag: &str) {
    let until = Instant::now() + parts.config.look_for_lost;
    let mut pauses = Backoff::polling(parts.config.first_poll, MAX_SEARCH_PAUSE);
    // An outcome that could not be made durable yet is valid too: it is not searched for again.
    while let Some(lost) = lost_request(parts, tag) {
        let last_look = Instant::now() >= until;
        let Some(answer) = parts.tasks.until_closed(find(parts, &lost, tag)).await else {
            return;
        };
        let step = next_search_step(answer, last_look, lost.is_deduplicated(parts, tag));
        match conclude(parts, tag, step).await {
            Ok(true) => break,
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(tag, %error, "the outcome of a request could not be recorded")
            }
        }
        let left = until.saturating_duration_since(Instant::now());
        let pause = pauses.next_pause();
        let pause = if left.is_zero() {
            pause
        } else {
            pause.min(left)
        };
        if !parts.tasks.pause(pause).await {
            return;
        }
    }
    parts.report_submission(tag);
}

fn lost_request(parts: &JobParts, tag: &str) -> Option<Lost> {
    let memory = parts.memory();
    let book = &memory.book;
    let submission = book.submissions.get(tag);
    let embed = book.embeds.get(tag);
    match (submission, embed) {
        (Some(it), _) if it.stage == SubmissionStage::Sent => Some(Lost::Optimization(it.clone())),
        (_, Some(it)) if it.stage == EmbedStage::Sent => Some(Lost::Embed(it.clone())),
        _ => None,
    }
}

/// Records the step of a search. True if the search is over.
async fn conclude(parts: &Arc<JobParts>, tag: &str, step: SearchStep<Made>) -> OutboxResult<bool> {
    let tag = tag.to_owned();
    match step {
        SearchStep::LookLater => return Ok(false),
        SearchStep::Take(made) => record_result(parts, &tag, made).await?,
        SearchStep::GiveUp => parts.record(JobRecord::Lost { tag }).await?,
        SearchStep::SendAgain => {
            let again = makes_again(parts, &tag);
            parts.record(JobRecord::NotSent { tag, again }).await?;
            parts.own.jobs_wake.notify_one();
        }
        SearchStep::Drop => {
            let reason = "the model that it was made for does not exist any more".to_owned();
            let refused = JobRecord::Refused {
                tag,
                reason,
                account_full: false,
            };
            parts.record(refused).await?;
        }
    }
    Ok(true)
}

async fn find(parts: &JobParts, lost: &Lost, tag: &str) -> Answer<Made> {
    let found = match lost {
        Lost::Optimization(it) => {
            let tags: Vec<&str> = std::iter::once(tag).chain(it.note.as_deref()).collect();
            let models = tagged_models(parts, it.asset, Priority::Background).await;
            models.map(|models| models.find(&tags).map(Made::Rapid))
        }
        Lost::Embed(embed) => find_embed(parts, embed)
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

/// The oldest embed of the request's model and name that did not exist before, and that no other request from here
/// has made.
async fn find_embed(
    parts: &JobParts,
    lost: &EmbedSubmission,
) -> Result<Option<EmbedId>, ClientError> {
    let there = embeds_of(parts, lost.of, &lost.name).await?;
    let memory = parts.memory();
    let taken = |id: EmbedId| {
        let mut embeds = memory.book.embeds.values();
        embeds.any(|it| it.stage == EmbedStage::Made { embed: id })
    };
    let new = there.into_iter();
    Ok(new
        .filter(|id| !lost.before.contains(id) && !taken(*id))
        .min())
}
