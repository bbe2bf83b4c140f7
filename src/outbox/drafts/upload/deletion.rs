//! Assets that the user deletes. The journal records a deletion before the service is asked. If the process dies in
//! between, the next run asks again.

use std::sync::Arc;

use crate::outbox::drafts::parts::DraftParts;
use crate::outbox::drafts::record::UploadRecord;
use crate::outbox::drafts::upload::discard::ended;
use crate::outbox::error::OutboxResult;
use crate::wire::AssetId;

/// Assets that the user deletes.
#[derive(Clone)]
pub struct Deletions {
    pub(in crate::outbox) parts: Arc<DraftParts>,
}

impl Deletions {
    /// Writes down that the assets are about to be deleted. Durable on return. To be followed by
    /// [`Deletions::gone`] or [`Deletions::refused`] for each.
    pub async fn begin(&self, assets: &[AssetId]) -> OutboxResult<()> {
        self.record_each(assets, |asset| UploadRecord::DeletionSent { asset })
            .await
    }

    /// Takes back a deletion that failed. Durable on return.
    pub async fn refused(&self, assets: &[AssetId]) -> OutboxResult<()> {
        self.record_each(assets, |asset| UploadRecord::DeletionRefused { asset })
            .await
    }

    async fn record_each(
        &self,
        assets: &[AssetId],
        record: fn(AssetId) -> UploadRecord,
    ) -> OutboxResult<()> {
        for asset in assets {
            self.parts.memory().record(record(*asset))?;
        }
        self.parts
            .journal
            .settle_async(self.parts.journal.last())
            .await
    }

    /// Deletes the data of an asset that is gone from the service.
    pub fn gone(&self, asset: AssetId, has_jobs: bool) {
        let is_known = {
            let memory = self.parts.memory();
            memory.state.sent.contains_key(&asset) || memory.state.deletions.contains(&asset)
        };
        // The next sync makes it durable. If it is lost, the service is asked once more.
        if (is_known || has_jobs) && ended(&self.parts, asset).is_err() {
            tracing::debug!(
                asset = asset.0,
                "the record of a deleted asset is removed later"
            );
        }
    }
}
