//! The task that applies the settle rule: checks all drafts after each change and when a quiet time ends, updates
//! their status, and starts uploads.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::outbox::drafts::activity::MissingFiles;
use crate::outbox::drafts::draft::Stage;
use crate::outbox::drafts::parts::DraftParts;
use crate::outbox::drafts::settle::look::look;
use crate::outbox::drafts::settle::rule::{Verdict, verdict};
use crate::outbox::drafts::upload::begin::begin;
use crate::outbox::drafts::upload::unchanged::remove_unchanged;
use crate::outbox::ids::DraftId;
use crate::outbox::status::ItemStatus;

/// Debounce: how long to wait for more changes before drafts are checked.
const BURST: Duration = Duration::from_millis(60);
/// Interval of checking whether the writers of an otherwise ready draft have ended.
const WRITER_CHECK: Duration = Duration::from_millis(250);
/// The longest time between two checks.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// Pause before a draft is checked again after an error.
const AFTER_ERROR: Duration = Duration::from_secs(5);

/// Runs until the outbox closes.
pub async fn run(parts: Arc<DraftParts>) {
    loop {
        let again = judge_all(&parts).await;
        let wait = again.saturating_sub(parts.now()).clamp(BURST, MAX_WAIT);
        tokio::select! {
            biased;
            () = parts.own.settle_wake.notified() => {}
            () = tokio::time::sleep(wait) => {}
            () = parts.tasks.closed() => return,
        }
        if !parts.tasks.pause(BURST).await {
            return;
        }
    }
}

/// Checks every draft; returns when to check again.
async fn judge_all(parts: &Arc<DraftParts>) -> Duration {
    let drafts: Vec<DraftId> = parts.memory().state.drafts.keys().copied().collect();
    let mut again = parts.now() + MAX_WAIT;
    for draft in drafts {
        if parts.tasks.is_closing() {
            break;
        }
        again = again.min(judge(parts, draft).await);
    }
    again
}

async fn judge(parts: &Arc<DraftParts>, draft: DraftId) -> Duration {
    let never = parts.now() + MAX_WAIT;
    let generation = match standing(parts, draft) {
        DraftStanding::Undecided { generation } => generation,
        DraftStanding::Decided { generation } => {
            begin(parts, draft, generation);
            return never;
        }
        DraftStanding::AtRest => return never,
    };
    let facts = match look(parts, draft).await {
        Ok(Some(facts)) => facts,
        Ok(None) => return never,
        Err(error) => {
            tracing::warn!(draft = draft.0, %error, "a draft could not be inspected");
            return parts.now() + AFTER_ERROR;
        }
    };
    let now = parts.now();
    let (writer_state, is_version) = {
        let mut memory = parts.memory();
        let found = memory.state.drafts.get(&draft);
        let Some(found) = found.filter(|draft| draft.attempt.is_none()) else {
            return never;
        };
        let is_version = found.replaces.is_some();
        (memory.writer_state(draft, now), is_version)
    };
    match verdict(&facts, &writer_state, &parts.own.times, now) {
        Verdict::Ready { .. } => {
            if is_version {
                match remove_unchanged(parts, draft).await {
                    Ok(None) => {}
                    Ok(Some(_)) => return never,
                    Err(error) => {
                        tracing::warn!(draft = draft.0, %error, "an unchanged version could not be removed");
                        return parts.now() + AFTER_ERROR;
                    }
                }
            }
            // Nothing begins if the draft has changed since the facts were gathered.
            begin(parts, draft, generation);
            never
        }
        Verdict::WaitUntil {
            at,
            status,
            missing,
        } => {
            let sent_at = Some(Instant::now() + at.saturating_sub(now));
            show(parts, draft, status, MissingFiles { missing, sent_at });
            // The status line counts the seconds that are left.
            let pause = match writer_state.writers_ended {
                None => WRITER_CHECK,
                Some(_) => Duration::from_secs(1),
            };
            at.min(now + pause)
        }
        Verdict::Blocked { status, missing } => {
            let sent_at = None;
            show(parts, draft, status, MissingFiles { missing, sent_at });
            never
        }
    }
}

/// What to do with a draft, before its content is inspected.
enum DraftStanding {
    /// Nothing: it is complete, or waits for the user or the service.
    AtRest,
    /// It is sent: by command, or because its upload has begun.
    Decided { generation: u64 },
    /// The settle rule decides.
    Undecided { generation: u64 },
}

fn standing(parts: &DraftParts, draft: DraftId) -> DraftStanding {
    if parts.config.paused {
        return DraftStanding::AtRest;
    }
    let memory = parts.memory();
    let Some(found) = memory.state.drafts.get(&draft) else {
        return DraftStanding::AtRest;
    };
    let activity = memory.activity_of(draft);
    let running = activity.is_some_and(|activity| activity.upload.is_some());
    // A failed draft waits for a command or a change, no matter how far its attempt got.
    let failed =
        found.failure.is_some() || matches!(found.stage(), Some(Stage::ImportFailed { .. }));
    let asset = found.accepted_asset();
    let deleted = asset.is_some_and(|asset| memory.state.deletions.contains(&asset));
    let generation = activity.map_or(0, |activity| activity.generation);
    match found.attempt.is_some() || found.ordered.is_some() {
        _ if running || failed || deleted => DraftStanding::AtRest,
        true => DraftStanding::Decided { generation },
        false => DraftStanding::Undecided { generation },
    }
}

fn show(parts: &DraftParts, draft: DraftId, status: ItemStatus, missing_files: MissingFiles) {
    let mut memory = parts.memory();
    let activity = memory.activity(draft);
    activity.missing_files = missing_files;
    if activity.held_by == status {
        return;
    }
    activity.held_by = status;
    drop(memory);
    parts.status_changed(draft);
}
