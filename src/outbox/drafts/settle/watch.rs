//! The task that applies the settle rule: it looks at every draft that may change when something
//! happened or a time has come, keeps the status line, and starts what is due.

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::outbox::drafts::activity::Lacking;
use crate::outbox::drafts::settle::facts;
use crate::outbox::drafts::settle::facts::Known;
use crate::outbox::drafts::settle::inspect::{Finding, Subject, look_into};
use crate::outbox::drafts::settle::readiness::{BytesState, DraftFacts};
use crate::outbox::drafts::settle::rule::{Verdict, verdict};
use crate::outbox::drafts::upload;
use crate::outbox::error::{OutboxError, OutboxResult};
use crate::outbox::ids::DraftId;
use crate::outbox::shared::Shared;
use crate::outbox::state::Stage;
use crate::outbox::status::ItemStatus;

/// How long a burst of changes is let pass before drafts are judged.
const BURST: Duration = Duration::from_millis(60);
/// How often it is looked whether the writers of an otherwise ready draft have ended.
const WRITER_LOOK: Duration = Duration::from_millis(250);
/// The longest time between two looks.
const LONGEST: Duration = Duration::from_secs(60);

/// Runs until the outbox closes.
pub async fn run(shared: Arc<Shared>) {
    loop {
        let again = judge_all(&shared).await;
        let wait = again.saturating_sub(shared.now()).clamp(BURST, LONGEST);
        tokio::select! {
            biased;
            () = shared.draft_news.notified() => {}
            () = tokio::time::sleep(wait) => {}
            () = shared.closed() => return,
        }
        if !shared.pause(BURST).await {
            return;
        }
    }
}

/// Judges every draft; gives the time at which to judge again.
async fn judge_all(shared: &Arc<Shared>) -> Duration {
    let drafts: Vec<DraftId> = shared.core().state.drafts.keys().copied().collect();
    let mut again = shared.now() + LONGEST;
    for draft in drafts {
        if shared.is_closing() {
            break;
        }
        again = again.min(judge(shared, draft).await);
    }
    again
}

async fn judge(shared: &Arc<Shared>, draft: DraftId) -> Duration {
    let never = shared.now() + LONGEST;
    if shared.config.paused {
        return never;
    }
    {
        let core = shared.core();
        let Some(found) = core.state.drafts.get(&draft) else {
            return never;
        };
        let activity = core.activity_of(draft);
        let running = activity.is_some_and(|activity| activity.upload.is_some());
        let failed = match found.stage() {
            Some(stage) => matches!(stage, Stage::ImportFailed { .. }),
            None => found.failure.is_some(),
        };
        let asset = found.accepted_asset();
        let deleted = asset.is_some_and(|asset| core.state.deletions.contains(&asset));
        if running || failed || deleted {
            return never;
        }
        if found.attempt.is_some() || found.ordered.is_some() {
            let generation = activity.map_or(0, |activity| activity.generation);
            drop(core);
            upload::begin(shared, draft, generation);
            return never;
        }
    }
    let before = shared.core().activity(draft).generation;
    let facts = match look(shared, draft).await {
        Ok(Some(facts)) => facts,
        Ok(None) => return never,
        Err(error) => {
            tracing::warn!(draft = draft.0, %error, "a draft could not be looked into");
            return shared.now() + Duration::from_secs(5);
        }
    };
    let now = shared.now();
    let verdict = {
        let mut core = shared.core();
        if core
            .state
            .drafts
            .get(&draft)
            .is_none_or(|draft| draft.attempt.is_some())
        {
            return never;
        }
        let stir = core.stir(draft, now);
        // What was gathered before a change says nothing about what is there after it: `begin`
        // compares the generations.
        let generation = before;
        (
            verdict(&facts, &stir, &shared.times, now),
            stir.writers_ended.is_none(),
            generation,
        )
    };
    match verdict {
        (Verdict::Ready { .. }, _, generation) => {
            upload::begin(shared, draft, generation);
            never
        }
        (
            Verdict::WaitUntil {
                at,
                status,
                missing,
            },
            writers_live,
            _,
        ) => {
            let goes_at = Some(Instant::now() + at.saturating_sub(now));
            show(shared, draft, status, Lacking { missing, goes_at });
            // The seconds that are left are shown, too.
            let next_second = now + Duration::from_secs(1);
            let look = if writers_live {
                now + WRITER_LOOK
            } else {
                next_second
            };
            at.min(look)
        }
        (Verdict::Blocked { status, missing }, ..) => {
            let goes_at = None;
            show(shared, draft, status, Lacking { missing, goes_at });
            never
        }
    }
}

/// Everything the rule asks of a draft; looks into the files that are not known. `None` when the
/// draft is gone.
pub async fn look(shared: &Arc<Shared>, draft: DraftId) -> OutboxResult<Option<DraftFacts>> {
    loop {
        // Nothing is looked into any more then, and what is not known stays so.
        if shared.is_closing() {
            return Err(OutboxError::ShutDown);
        }
        let known = facts::gather(&shared.core(), draft);
        let subjects = match known {
            None => return Ok(None),
            Some(Known::All(facts)) => return Ok(Some(facts)),
            Some(Known::NeedsLook(subjects)) => subjects,
        };
        let looking = Arc::clone(shared);
        shared
            .blocking(move || look_at_all(&looking, subjects))
            .await?;
    }
}

fn look_at_all(shared: &Shared, subjects: Vec<Subject>) {
    for subject in subjects {
        if shared.is_closing() {
            return;
        }
        let needs_proof = shared.core().findings.needs_proof(&subject);
        let path = shared.staging.path(subject.content);
        let finding = File::open(path).and_then(|file| look_into(&subject, &file, needs_proof));
        let finding = finding.unwrap_or_else(|error| {
            tracing::warn!(content = %subject.content, %error, "a staged file cannot be read");
            Finding {
                state: BytesState::Interrupted,
                references: Vec::new(),
            }
        });
        shared.core().findings.keep(subject, finding);
    }
}

fn show(shared: &Shared, draft: DraftId, status: ItemStatus, lacking: Lacking) {
    let mut core = shared.core();
    let activity = core.activity(draft);
    activity.lacking = lacking;
    if activity.held_by == status {
        return;
    }
    activity.held_by = status;
    drop(core);
    shared
        .events
        .tell(crate::outbox::events::OutboxEvent::DraftChanged(draft));
    shared.something_changed();
}
