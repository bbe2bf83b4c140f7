//! Assets that somebody deletes. That they are deleted stands in the journal before the service is asked, so
//! that no death in between brings them back: the next run asks again.

use crate::outbox::Outbox;
use crate::outbox::drafts::record::UploadRecord;
use crate::outbox::drafts::upload::discard::ended;
use crate::outbox::error::OutboxResult;
use crate::wire::AssetId;

impl Outbox {
    /// Writes down that the assets are about to be deleted. Durable on return. To be followed by
    /// [`Outbox::asset_gone`] or [`Outbox::deletion_refused`] for each.
    pub async fn deletion_begins(&self, assets: &[AssetId]) -> OutboxResult<()> {
        for asset in assets {
            let asset = *asset;
            self.shared
                .core()
                .record(UploadRecord::DeletionSent { asset })?;
        }
        self.shared.settle(self.shared.journal.last()).await
    }

    /// Takes back a deletion that failed. Durable on return: what is said to be there stays.
    pub async fn deletion_refused(&self, assets: &[AssetId]) -> OutboxResult<()> {
        for asset in assets {
            let asset = *asset;
            self.shared
                .core()
                .record(UploadRecord::DeletionRefused { asset })?;
        }
        self.shared.settle(self.shared.journal.last()).await
    }

    /// Tells that an asset is gone from the service: its record, jobs and staged copy are dropped.
    pub fn asset_gone(&self, asset: AssetId) {
        let is_known = {
            let core = self.shared.core();
            let mut submissions = core.state.jobs.submissions.values();
            core.state.sent.contains_key(&asset)
                || core.state.deletions.contains(&asset)
                || submissions.any(|it| it.asset == asset)
        };
        // The journal is synced by whoever comes next: losing this means asking once more.
        if is_known && ended(&self.shared, asset).is_err() {
            tracing::debug!(asset = asset.0, "a deleted asset is forgotten later");
        }
    }
}
