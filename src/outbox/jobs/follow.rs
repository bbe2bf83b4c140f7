//! Polls running optimizations: one request for all, with growing pauses. Removes the one-off tag of each once its
//! rapid model is known.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::backoff::Backoff;
use crate::client::{ClientError, Priority};
use crate::outbox::effect::Effect;
use crate::outbox::error::OutboxResult;
use crate::outbox::events::{OutboxEvent, SeenRecord};
use crate::outbox::failpoint;
use crate::outbox::failpoint::Failpoint;
use crate::outbox::ids::JobFolder;
use crate::outbox::jobs::book::{JobKey, JobRecord, SubmissionStage};
use crate::outbox::jobs::log::fetch_reason;
use crate::outbox::jobs::notes::tagged_models;
use crate::outbox::jobs::parts::JobParts;
use crate::outbox::texts::text_stem;
use crate::wire::{AssetId, RapidId, RapidModel, former_name_note, name_note};

/// The longest pause between two polls.
const MAX_POLL_PAUSE: Duration = Duration::from_secs(10);
/// The pause while no job runs.
const IDLE: Duration = Duration::from_secs(600);

/// Runs until the outbox closes.
pub async fn run(parts: Arc<JobParts>) {
    let mut pauses = Backoff::polling(parts.config.first_poll, MAX_POLL_PAUSE);
    loop {
        let (running, tagged) = match parts.config.paused {
            true => (Vec::new(), Vec::new()),
            false => (running(&parts), tagged(&parts)),
        };
        let mut moved = false;
        if !running.is_empty() {
            let Some(looked) = parts.tasks.until_closed(look(&parts, &running)).await else {
                return;
            };
            moved = looked.unwrap_or_else(|error| {
                tracing::debug!(%error, "running jobs could not be polled");
                false
            });
        }
        let mut left = false;
        for (tag, rapid) in &tagged {
            left |= !remove_tag(&parts, tag, *rapid).await;
        }
        let unnamed = match parts.config.paused {
            true => Vec::new(),
            false => parts.memory().book.unnamed(),
        };
        for (job, asset, rapid) in unnamed {
            left |= !name_result(&parts, job, asset, rapid).await;
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
            () = parts.own.poll_wake.notified() => pauses.reset(),
            () = parts.tasks.closed() => return,
        }
    }
}

fn running(parts: &JobParts) -> Vec<(String, RapidId)> {
    let memory = parts.memory();
    let submissions = memory.book.submissions.iter();
    submissions
        .filter_map(|(tag, submission)| match submission.stage {
            SubmissionStage::Taken { rapid } => Some((tag.clone(), rapid)),
            _ => None,
        })
        .collect()
}

fn tagged(parts: &JobParts) -> Vec<(String, RapidId)> {
    let memory = parts.memory();
    let submissions = memory.book.submissions.iter();
    submissions
        .filter(|(_, submission)| submission.tagged)
        .filter_map(|(tag, submission)| Some((tag.clone(), submission.stage.rapid()?)))
        .collect()
}

/// Polls all running jobs. True if any of them changed.
async fn look(parts: &Arc<JobParts>, running: &[(String, RapidId)]) -> Result<bool, ClientError> {
    let asked = Instant::now();
    let listed = parts
        .client
        .optimizations()
        .running(Priority::Background)
        .await?;
    let listed: HashMap<RapidId, RapidModel> = listed.into_iter().map(|it| (it.id, it)).collect();
    let mut moved = false;
    for (tag, rapid) in running {
        let (model, asked, is_listed) = match listed.get(rapid) {
            Some(model) => (Ok(model.clone()), asked, true),
            // One that is no longer listed has succeeded, or was deleted.
            None => {
                let asked = Instant::now();
                let rapids = parts.client.rapids();
                let model = rapids.get(*rapid, Priority::Background).await;
                (model, asked, false)
            }
        };
        let mut seen = None;
        let failure = match model {
            Ok(record) if !record.optimization_status.is_final() => {
                if note_progress(parts, tag, &record) {
                    moved = true;
                    parts.events.rapid_seen(SeenRecord { record, asked });
                }
                continue;
            }
            Ok(record) => {
                let failure = match record.optimization_status.is_failure() {
                    true => Some(reason(parts, &record).await),
                    false => None,
                };
                if failure.is_none() && !is_listed {
                    note_missing_names(parts, tag, &record).await;
                }
                // The list has less than a single record.
                seen = (!is_listed).then_some(SeenRecord { record, asked });
                failure
            }
            Err(ClientError::NotFound { .. }) => Some("its rapid model was deleted".to_owned()),
            Err(error) => return Err(error),
        };
        moved = true;
        if let Err(error) = end(parts, tag, *rapid, failure, seen).await {
            tracing::warn!(%error, "the end of a job could not be recorded");
        }
    }
    Ok(moved)
}

/// Notes which texts of a request have no name on its result: the service has taken the request for one of another machine
/// with another name, and has given that result.
async fn note_missing_names(parts: &Arc<JobParts>, tag: &str, result: &RapidModel) {
    // A service that shows no tags says nothing about names.
    if result.tags.is_empty() {
        return;
    }
    let is_there = |name: &str| result.tags.iter().any(|tag| tag.name == name);
    let jobs = parts.memory().book.keys_of(tag);
    for job in jobs {
        let is_in_optimize = matches!(job.folder, JobFolder::Optimize(_));
        if !is_in_optimize || is_there(&name_note(text_stem(&job.name))) {
            continue;
        }
        let is_named = false;
        if let Err(error) = parts.record(JobRecord::Named { job, is_named }).await {
            tracing::warn!(%error, "a result is not named after its text");
        }
    }
}

async fn end(
    parts: &Arc<JobParts>,
    tag: &str,
    rapid: RapidId,
    failure: Option<String>,
    seen: Option<SeenRecord<RapidModel>>,
) -> OutboxResult<()> {
    let tag = tag.to_owned();
    // Whoever sees the job done then finds the files of its result.
    let has_record = seen.is_some();
    if let Some(seen) = seen {
        parts.events.rapid_seen(seen);
    }
    parts
        .record(JobRecord::Ended {
            tag: tag.clone(),
            failure,
        })
        .await?;
    {
        let mut memory = parts.memory();
        memory.progress.remove(&tag);
        memory.obstacles.remove(&tag);
    }
    parts.report_submission(&tag);
    if !has_record {
        parts.events.send(OutboxEvent::RapidFound(rapid));
    }
    Ok(())
}

fn note_progress(parts: &JobParts, tag: &str, model: &RapidModel) -> bool {
    let percent = model.progress.min(99) as u8;
    let mut memory = parts.memory();
    let before = memory.progress.insert(tag.to_owned(), percent);
    let obstacle = model.waits_because();
    let old = match &obstacle {
        Some(obstacle) => memory.obstacles.insert(tag.to_owned(), obstacle.clone()),
        None => memory.obstacles.remove(tag),
    };
    drop(memory);
    let moved = before != Some(percent) || old != obstacle;
    if moved {
        parts.report_submission(tag);
    }
    moved
}

/// Why it failed: from its error log, else from its record.
async fn reason(parts: &JobParts, model: &RapidModel) -> String {
    if let Some(log) = &model.rpd_error {
        match fetch_reason(&parts.client, log).await {
            Ok(Some(reason)) => return reason,
            Ok(None) => {}
            Err(error) => tracing::debug!(%error, "the log of a failed job could not be read"),
        }
    }
    model.failure().unwrap_or_else(|| {
        "the service failed to optimize it; error.log of the rapid model has more".to_owned()
    })
}

/// Gives a result the name of a text that was not sent with its request: another text with the same content was, this text was
/// before it had another content, or an earlier version has sent it. True if it has the name.
async fn name_result(parts: &Arc<JobParts>, job: JobKey, asset: AssetId, rapid: RapidId) -> bool {
    let call = move_name(parts, &job, asset, rapid);
    match parts.tasks.until_closed(call).await {
        Some(Ok(()) | Err(ClientError::NotFound { .. })) => {}
        Some(Err(error)) if Effect::of(&error) == Effect::Refused => {
            tracing::info!(%rapid, %error, "the service takes no note on a result");
        }
        Some(Err(error)) => {
            tracing::debug!(%rapid, %error, "a result is named later");
            return false;
        }
        None => return false,
    }
    // The tags are reported before the record is written: until then the drive counts the result as not named.
    let reported = report_tags(parts, rapid);
    if parts.tasks.until_closed(reported).await.is_none() {
        return false;
    }
    let recorded = {
        let mut memory = parts.memory();
        // The text may belong to another result by now.
        if !memory.book.is_unnamed(&job, asset, rapid) {
            return false;
        }
        let is_named = true;
        memory.record(JobRecord::Named { job, is_named })
    };
    match recorded {
        Ok(ticket) => parts.journal.settle_async(ticket).await.is_ok(),
        Err(_) => false,
    }
}

/// Tells the drive the present tags of a result that were changed here.
async fn report_tags(parts: &JobParts, rapid: RapidId) {
    let asked = Instant::now();
    match parts.client.rapids().get(rapid, Priority::Background).await {
        Ok(record) => parts.events.rapid_seen(SeenRecord { record, asked }),
        Err(_) => parts.events.send(OutboxEvent::RapidFound(rapid)),
    }
}

/// Gives a result the name of a text, and takes it from newer ones: of several with a name the newest counts on every machine,
/// and this one is what the text asks for now.
async fn move_name(
    parts: &JobParts,
    job: &JobKey,
    asset: AssetId,
    rapid: RapidId,
) -> Result<(), ClientError> {
    let rapids = parts.client.rapids();
    let name = text_stem(&job.name);
    let note = name_note(name);
    rapids
        .add_tags_at(rapid, std::slice::from_ref(&note), Priority::Background)
        .await?;
    let models = tagged_models(parts, asset, Priority::Background).await?;
    // If the text was changed meanwhile, one of the newer results may be that of the changed text. It keeps the name.
    if !parts.memory().book.is_unnamed(job, asset, rapid) {
        return Ok(());
    }
    for (newer, tag) in models.with(&note).filter(|(it, _)| it.id > rapid) {
        let former = [former_name_note(name)];
        let marked = rapids.add_tags_at(newer.id, &former, Priority::Background);
        let moved = match marked.await {
            Ok(()) => rapids.remove_tag(newer.id, tag).await,
            Err(error) => Err(error),
        };
        match moved {
            Ok(()) | Err(ClientError::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
        report_tags(parts, newer.id).await;
    }
    Ok(())
}

/// Removes a one-off tag. True if it is removed.
async fn remove_tag(parts: &Arc<JobParts>, tag: &str, rapid: RapidId) -> bool {
    // Without its tag the rapid model is found only by the journal, so its record must be durable first.
    if let Err(error) = parts.journal.settle_async(parts.journal.last()).await {
        tracing::debug!(tag, %error, "a one-off tag is kept until the journal can be written");
        return false;
    }
    let work = async {
        let model = match parts.client.rapids().get(rapid, Priority::Background).await {
            Ok(model) => model,
            Err(ClientError::NotFound { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        let Some(found) = model.tags.iter().find(|it| it.name == tag) else {
            return Ok(());
        };
        match parts.client.rapids().remove_tag(rapid, found.id).await {
            Ok(()) | Err(ClientError::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    };
    match parts.tasks.until_closed(work).await {
        Some(Ok(())) => {}
        Some(Err(error)) => {
            tracing::debug!(tag, %error, "a one-off tag could not be removed yet");
            return false;
        }
        None => return false,
    }
    failpoint::hit(Failpoint::AfterTagRemoval);
    let tag = tag.to_owned();
    let recorded = parts.record(JobRecord::TagRemoved { tag }).await;
    parts.events.send(OutboxEvent::RapidFound(rapid));
    recorded.is_ok()
}
