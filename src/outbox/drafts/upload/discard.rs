//! Deletes the assets that uploads have left and nobody wants: given-up attempts, cancelled drafts.
//! Only ids that the journal holds are ever deleted. Also ends the deletions that an earlier run began.

use std::sync::Arc;
use std::time::Duration;

use crate::client::ClientError;
use crate::outbox::drafts::record::UploadRecord;
use crate::outbox::error::OutboxResult;
use crate::outbox::events::OutboxEvent;
use crate::outbox::failpoint;
use crate::outbox::failpoint::Failpoint;
use crate::outbox::pauses::Pauses;
use crate::outbox::shared::Shared;
use crate::wire::AssetId;

/// Runs until the outbox closes.
pub async fn run(shared: Arc<Shared>) {
    let mut pauses = Pauses::new(shared.config.first_poll * 2, Duration::from_secs(120));
    // Those of this run are in the hands of whoever deletes.
    let mut unfinished = shared.core().state.deletions.clone();
    loop {
        let waiting: Vec<AssetId> = shared.core().state.discards.iter().copied().collect();
        let mut failed = false;
        if !shared.config.paused {
            for asset in waiting {
                failed |= !discard(&shared, asset).await;
            }
            for asset in unfinished.clone() {
                match finish_deletion(&shared, asset).await {
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
            () = shared.discard_news.notified() => {}
            () = tokio::time::sleep(again) => {}
            () = shared.closed() => return,
        }
    }
}

/// Deletes one that nobody wants; tells whether that is done.
async fn discard(shared: &Arc<Shared>, asset: AssetId) -> bool {
    // That it is unwanted has to be durable first: a later run must not go on with what is gone.
    if let Err(error) = shared.settle(shared.journal.last()).await {
        tracing::debug!(asset = asset.0, %error, "an asset stays until the journal can be written");
        return false;
    }
    failpoint::hit(Failpoint::BeforeDiscard);
    if !delete(shared, asset).await {
        return false;
    }
    failpoint::hit(Failpoint::AfterDiscard);
    let recorded = shared.record(UploadRecord::Discarded { asset }).await;
    shared.events.tell(OutboxEvent::AssetChanged(asset));
    recorded.is_ok()
}

/// Ends a deletion that an earlier run began; tells whether that is done.
async fn finish_deletion(shared: &Arc<Shared>, asset: AssetId) -> bool {
    delete(shared, asset).await && ended(shared, asset).is_ok()
}

/// Asks the service to delete an asset; tells whether it is gone.
async fn delete(shared: &Arc<Shared>, asset: AssetId) -> bool {
    let Some(reply) = shared
        .until_closed(shared.client.assets().delete(asset))
        .await
    else {
        return false;
    };
    match reply {
        Ok(()) | Err(ClientError::NotFound { .. }) => true,
        Err(error) => {
            tracing::info!(asset = asset.0, %error, "an asset could not be deleted yet");
            false
        }
    }
}

/// Drops what is kept of an asset that is gone.
pub(super) fn ended(shared: &Shared, asset: AssetId) -> OutboxResult<()> {
    let draft = {
        let mut core = shared.core();
        let draft = core.state.draft_of(asset);
        if let Some(draft) = draft {
            core.stop_upload(draft);
        }
        core.record(UploadRecord::AssetGone { asset })?;
        core.forget_gone();
        draft
    };
    shared.events.tell(OutboxEvent::AssetChanged(asset));
    if let Some(draft) = draft {
        shared.draft_changed(draft);
    }
    Ok(())
}
