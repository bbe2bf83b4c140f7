//! Assets that somebody deletes. That they are deleted stands in the journal before the service is asked, so
//! that no death in between brings them back: the next run asks again.

use std::sync::Arc;

use crate::outbox::drafts::parts::DraftParts;
use crate::outbox::drafts::record::UploadRecord;
use crate::outbox::drafts::upload::discard::ended;
use crate::outbox::error::OutboxResult;
use crate::wire::AssetId;

/// Assets that the user deletes.
#[derive(Clone)]
pub struct Deletions {
    parts: Arc<DraftParts>,
}

impl Deletions {
    pub fn new(parts: Arc<DraftParts>) -> Deletions {
        Deletions { parts }
    }

    /// Writes down that the assets are about to be deleted. Durable on return. To be followed by
    /// [`Deletions::gone`] or [`Deletions::refused`] for each.
    pub async fn begin(&self, assets: &[AssetId]) -> OutboxResult<()> {
        for asset in assets {
            let asset = *asset;
            self.parts
                .memory()
                .record(UploadRecord::DeletionSent { asset })?;
        }
        self.parts.journal.settled(self.parts.journal.last()).await
    }

    /// Takes back a deletion that failed. Durable on return: what is said to be there stays.
    pub async fn refused(&self, assets: &[AssetId]) -> OutboxResult<()> {
        for asset in assets {
            let asset = *asset;
            self.parts
                .memory()
                .record(UploadRecord::DeletionRefused { asset })?;
        }
        self.parts.journal.settled(self.parts.journal.last()).await
    }

    /// Drops what is kept of an asset that is gone from the service, if there is anything.
    pub fn gone(&self, asset: AssetId, has_jobs: bool) {
        let is_known = {
            let memory = self.parts.memory();
            memory.state.sent.contains_key(&asset) || memory.state.deletions.contains(&asset)
        };
        // The next sync makes it durable. If it is lost, the service is asked once more.
        if (is_known || has_jobs) && ended(&self.parts, asset).is_err() {
            tracing::debug!(asset = asset.0, "a deleted asset is forgotten later");
        }
    }
}
