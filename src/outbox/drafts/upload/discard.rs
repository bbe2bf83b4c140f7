//! Deletes the unwanted assets of uploads: of abandoned attempts and cancelled drafts. Deletes only ids that the
//! journal records, and never one that another machine has started, or has joined and may still need. Also finishes the deletions that an earlier run began.

use std::sync::Arc;
use std::time::Duration;

use crate::backoff::Backoff;
use crate::client::{AssetCalls, ClientError};
use crate::outbox::drafts::parts::DraftParts;
use crate::outbox::drafts::record::UploadRecord;
use crate::outbox::error::OutboxResult;
use crate::outbox::events::OutboxEvent;
use crate::outbox::failpoint;
use crate::outbox::failpoint::Failpoint;
use crate::wire::AssetId;

/// Runs until the outbox closes.
pub async fn run(parts: Arc<DraftParts>) {
    let mut pauses = Backoff::doubling(parts.config.first_poll * 2, Duration::from_secs(120));
    // Deletions of this run are finished by their caller.
    let mut unfinished = parts.memory().state.deletions.clone();
    loop {
        let left = std::mem::take(&mut parts.memory().left);
        for asset in left {
            parts.events.send(OutboxEvent::AssetGivenUp(asset));
        }
        let waiting: Vec<AssetId> = parts.memory().state.discards.iter().copied().collect();
        let mut failed = false;
        if !parts.config.paused {
            for asset in waiting {
                failed |= !discard(&parts, asset).await;
            }
            for asset in unfinished.clone() {
                match finish_deletion(&parts, asset).await {
                    true => unfinished.remove(&asset),
                    false => std::mem::replace(&mut failed, true),
                };
            }
        }
        if !failed {
            pauses.reset();
        }
        let again = if failed {
            pauses.next_pause()
        } else {
            Duration::from_secs(3600)
        };
        tokio::select! {
            biased;
            () = parts.own.discard_wake.notified() => {}
            () = tokio::time::sleep(again) => {}
            () = parts.tasks.closed() => return,
        }
    }
}

/// Deletes an unwanted asset. True if it is gone.
async fn discard(parts: &Arc<DraftParts>, asset: AssetId) -> bool {
    // The record that it is unwanted must be durable first. Otherwise a later run could continue an upload to a
    // deleted asset.
    if let Err(error) = parts.journal.settle_async(parts.journal.last()).await {
        tracing::debug!(asset = asset.0, %error, "an asset is deleted when the journal can be written");
        return false;
    }
    failpoint::hit(Failpoint::BeforeDiscard);
    let is_shared = {
        let memory = parts.memory();
        // Another upload of this machine may have joined it meanwhile.
        if !memory.state.discards.contains(&asset) {
            return true;
        }
        memory.state.shared_discards.contains(&asset)
    };
    let outcome = match is_shared {
        true => abandon(parts, asset).await,
        false => delete(parts, asset).await,
    };
    match outcome {
        None => return false,
        Some(Ok(())) => {}
        Some(Err(error)) => {
            let mut memory = parts.memory();
            if memory.state.discards.contains(&asset) {
                memory.not_deleted.insert(asset, error.to_string());
            }
            return false;
        }
    }
    failpoint::hit(Failpoint::AfterDiscard);
    record_discarded(parts, asset).await.is_ok()
}

/// Notes that an unwanted asset is gone.
pub(super) async fn record_discarded(parts: &Arc<DraftParts>, asset: AssetId) -> OutboxResult<()> {
    let (may_stay, is_sent_again) = {
        let mut memory = parts.memory();
        memory.not_deleted.remove(&asset);
        let may_stay = memory.state.shared_discards.contains(&asset);
        (may_stay, memory.dropped.remove(&asset))
    };
    let recorded = parts.record(UploadRecord::Discarded { asset }).await;
    match is_sent_again {
        // Two drafts that are refused again and again would wake each other without a pause.
        true => parts.forget_room(),
        false => parts.room_is_freed(),
    }
    parts.events.send(match may_stay {
        true => OutboxEvent::AssetGivenUp(asset),
        false => OutboxEvent::AssetChanged(asset),
    });
    recorded
}

/// Finishes a deletion that an earlier run began. True if it is done.
async fn finish_deletion(parts: &Arc<DraftParts>, asset: AssetId) -> bool {
    matches!(delete(parts, asset).await, Some(Ok(()))) && ended(parts, asset).is_ok()
}

/// Sends the DELETE request for an asset. `Ok` if it is gone; `None` if the outbox closes.
async fn delete(parts: &Arc<DraftParts>, asset: AssetId) -> Option<Result<(), ClientError>> {
    let call = parts.client.assets().delete(asset);
    let reply = parts.tasks.until_closed(call).await?;
    Some(match reply {
        Err(ClientError::NotFound { .. }) => Ok(()),
        reply => reply.inspect_err(|error| {
            tracing::info!(asset = asset.0, %error, "an asset could not be deleted yet");
        }),
    })
}

/// Gives up an upload that others may have joined. `Ok` if it is gone, or stays because one has.
async fn abandon(parts: &Arc<DraftParts>, asset: AssetId) -> Option<Result<(), ClientError>> {
    let call = parts.client.assets().abandon_upload(asset);
    let reply = parts.tasks.until_closed(call).await?;
    Some(match reply {
        Err(ClientError::NotFound { .. }) => Ok(()),
        Err(ClientError::Rejected { status, .. }) if status == AssetCalls::JOINED => {
            tracing::info!(
                asset = asset.0,
                "another machine has joined an upload that was given up here"
            );
            Ok(())
        }
        reply => reply,
    })
}

/// Deletes the data of an asset that is gone.
pub(super) fn ended(parts: &DraftParts, asset: AssetId) -> OutboxResult<()> {
    let (draft, left) = {
        let mut memory = parts.memory();
        let draft = memory.state.draft_of(asset);
        let sent = memory.state.sent.get(&asset);
        let left = sent.and_then(|record| record.loose_name());
        if let Some(draft) = draft {
            memory.stop_upload(draft);
        }
        memory.record(UploadRecord::AssetGone { asset })?;
        memory.forget_gone();
        (draft, left)
    };
    parts.events.send(OutboxEvent::AssetChanged(asset));
    parts.loose_file_left(left);
    parts.room_is_freed();
    if let Some(draft) = draft {
        parts.draft_changed(draft);
    }
    Ok(())
}
