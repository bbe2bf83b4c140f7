//! Notes on assets: tags that say which files an asset was made of, which asset it replaces and who sent it, so that every
//! machine knows it. An upload never waits for its note, and never fails because of it.

use std::sync::Arc;
use std::time::Duration;

use crate::backoff::Backoff;
use crate::client::{ClientError, Priority};
use crate::outbox::drafts::draft::Stage;
use crate::outbox::drafts::memory::DraftsMemory;
use crate::outbox::drafts::parts::DraftParts;
use crate::outbox::drafts::record::UploadRecord;
use crate::outbox::drafts::sent::SentRecord;
use crate::outbox::effect::Effect;
use crate::outbox::events::OutboxEvent;
use crate::wire::{AssetId, by_note, replaces_note, source_note};

/// The longest pause between two tries.
const MAX_PAUSE: Duration = Duration::from_secs(600);
/// The pause while nothing is to be noted.
const IDLE: Duration = Duration::from_secs(3600);

/// Runs until the outbox closes.
pub async fn run(parts: Arc<DraftParts>) {
    let mut pauses = Backoff::doubling(parts.config.first_poll * 2, MAX_PAUSE);
    loop {
        let mut failed = false;
        if !parts.config.paused {
            let waiting = to_be_noted(&parts.memory());
            for (asset, mut tags) in waiting {
                // Who sent it costs no request of its own.
                if !tags.is_empty() {
                    tags.extend(parts.config.made_by.as_deref().map(by_note));
                }
                match note(&parts, asset, &tags).await {
                    Some(is_noted) => failed |= !is_noted,
                    None => return,
                }
                // The service does not answer: the others would not be noted either.
                if failed {
                    break;
                }
            }
        }
        let again = if failed {
            pauses.next_pause()
        } else {
            pauses.reset();
            IDLE
        };
        tokio::select! {
            biased;
            () = tokio::time::sleep(again) => {}
            () = parts.own.note_wake.notified(), if !failed => {}
            () = parts.tasks.closed() => return,
        }
    }
}

/// The complete assets without a note, with their tags.
fn to_be_noted(memory: &DraftsMemory) -> Vec<(AssetId, Vec<String>)> {
    let state = &memory.state;
    let is_complete = |record: &SentRecord| {
        let draft = state.drafts.get(&record.draft);
        draft.is_none_or(|draft| matches!(draft.stage(), Some(Stage::Imported { .. })))
    };
    let unwanted =
        |asset: &AssetId| state.deletions.contains(asset) || state.discards.contains(asset);
    let records = state.sent.values();
    records
        .filter(|record| !record.is_noted && !unwanted(&record.asset) && is_complete(record))
        .map(|record| {
            let source = record.source_hash().map(source_note);
            let tags = source.into_iter().chain(record.older().map(replaces_note));
            (record.asset, tags.collect())
        })
        .collect()
}

/// Writes the tags of an asset. `None` if the outbox closes; false if it is to be tried again.
async fn note(parts: &Arc<DraftParts>, asset: AssetId, tags: &[String]) -> Option<bool> {
    if !tags.is_empty() {
        let assets = parts.client.assets();
        let call = assets.add_tags(asset, tags, Priority::Background);
        match parts.tasks.until_closed(call).await? {
            Ok(()) | Err(ClientError::NotFound { .. }) => {}
            Err(error) if Effect::of(&error) == Effect::Refused => {
                tracing::info!(asset = asset.0, %error, "the service takes no note on a model");
            }
            Err(error) => {
                tracing::debug!(asset = asset.0, %error, "a model is noted later");
                return Some(false);
            }
        }
    }
    let recorded = parts.record(UploadRecord::Noted { asset }).await;
    parts.events.send(OutboxEvent::AssetChanged(asset));
    Some(recorded.is_ok())
}
