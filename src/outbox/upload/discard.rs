//! Deletes the assets that uploads have left and nobody wants: given-up attempts, cancelled drafts.
//! Only ids that the journal holds are ever deleted.

use std::sync::Arc;
use std::time::Duration;

use crate::client::ClientError;
use crate::outbox::failpoint::{self, Failpoint};
use crate::outbox::journal::record::UploadRecord;
use crate::outbox::pauses::Pauses;
use crate::outbox::shared::Shared;
use crate::outbox::types::OutboxEvent;
use crate::wire::AssetId;

/// Runs until the outbox closes.
pub async fn run(shared: Arc<Shared>) {
    let mut pauses = Pauses::new(shared.config.first_poll * 2, Duration::from_secs(120));
    loop {
        let waiting: Vec<AssetId> = shared.core().state.discards.iter().copied().collect();
        let mut failed = false;
        if !shared.config.paused {
            for asset in waiting {
                failed |= !discard(&shared, asset).await;
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

/// Deletes one; tells whether that is done.
async fn discard(shared: &Arc<Shared>, asset: AssetId) -> bool {
    // That it is unwanted has to be durable first: a later run must not go on with what is gone.
    if let Err(error) = shared.settle(shared.journal.last()).await {
        tracing::debug!(asset = asset.0, %error, "an asset stays until the journal can be written");
        return false;
    }
    failpoint::hit(Failpoint::BeforeDiscard);
    let Some(reply) = shared.until_closed(shared.client.delete_asset(asset)).await else {
        return false;
    };
    failpoint::hit(Failpoint::AfterDiscard);
    match reply {
        Ok(()) | Err(ClientError::NotFound { .. }) => {}
        Err(error) => {
            tracing::info!(asset = asset.0, %error, "an asset that nobody wants could not be deleted yet");
            return false;
        }
    }
    let recorded = shared.record(UploadRecord::Discarded { asset }).await;
    shared.events.tell(OutboxEvent::AssetChanged(asset));
    recorded.is_ok()
}
