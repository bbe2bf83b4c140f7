//! What the outbox reports, brought into the tree: a draft became an asset, a job moved, a preset
//! was saved.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::mpsc;

use super::listings::Which;
use crate::drive::places::{DropFolder, JobPart, Model, RawModels, drop_folder};
use crate::drive::shared::Shared;
use crate::drive::tree::node::Home;
use crate::outbox::{DraftId, DraftInfo, DraftKind, JobFolder, JobState, OutboxEvent, OwnerFolder};
use crate::wire::{AssetId, BaseAsset, UploadStatus};

impl Shared {
    /// The task that applies the outbox's reports. Ends when the outbox does.
    pub(in crate::drive) async fn follow(self: Arc<Self>, mut events: mpsc::Receiver<OutboxEvent>) {
        while let Some(event) = events.recv().await {
            tracing::debug!(event = ?event, "the outbox reports");
            match event {
                OutboxEvent::DraftChanged(draft) => self.draft_changed(draft),
                OutboxEvent::AssetCreated { draft, asset } => self.asset_created(draft, asset),
                OutboxEvent::AssetChanged(asset) => self.asset_moved(asset),
                OutboxEvent::JobChanged(folder, name) => self.job_changed(&folder, &name),
                OutboxEvent::RapidFound(rapid) => {
                    self.doubt(Which::Jobs);
                    let shared = Arc::clone(&self);
                    self.background.spawn(async move {
                        let found = shared.refreshed_rapid(rapid, Duration::ZERO).await;
                        if let Ok(Some(source)) = found.map(|row| row.source) {
                            shared.doubt_rapids_of(source);
                        }
                    });
                }
                OutboxEvent::EmbedsChanged => self.embeds_changed(),
                OutboxEvent::PresetsChanged => self.presets_changed(),
            }
        }
    }

    fn draft_changed(&self, draft: DraftId) {
        let home = Home::Made(draft);
        self.tell_model(Model::Raw(home));
    }

    /// The draft's folder is an asset from now on: the same folder, the same inodes, the same name.
    fn asset_created(self: &Arc<Self>, draft: DraftId, asset: AssetId) {
        self.made
            .lock()
            .expect("no panic while models are held")
            .insert(draft, asset);
        let info = self.outbox.draft(draft);
        if let Some(info) = &info {
            self.show_made(asset, info);
        }
        self.watched.look_at_asset(asset);
        self.asset_moved(asset);
        self.draft_changed(draft);
        self.room_changed();
        if let Some(info) = info {
            self.tell_entry(RawModels, &info.name);
        }
    }

    /// True for a draft that is shown as an asset. The outbox is ahead of what it reports: whoever looks in
    /// between must find the folder too.
    pub(in crate::drive) fn is_asset_by_now(&self, draft: &DraftInfo) -> bool {
        let asset = self.asset_of_draft(draft.id);
        if let Some(asset) = asset {
            self.show_made(asset, draft);
        }
        asset.is_some()
    }

    /// Shows the asset that a draft became, once: what is removed later does not come back.
    fn show_made(&self, asset: AssetId, draft: &DraftInfo) {
        let mut shown = self.shown.lock().expect("no panic while drafts are shown");
        if shown.insert(draft.id) {
            self.told_made(asset, &draft.name, draft.kind, draft.created);
        }
    }

    /// Shows an asset that was made here before the service lists it.
    fn told_made(&self, asset: AssetId, name: &str, kind: DraftKind, created: SystemTime) {
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let name = match kind {
            DraftKind::LooseFile => stem,
            DraftKind::Folder => name,
        };
        let mut record = BaseAsset::new(asset, name.to_owned(), UploadStatus::Waiting);
        record.created_at = Some(crate::wire::Timestamp::from(created));
        self.told_asset(&record, Instant::now());
    }

    /// An earlier mount may have died before it kept the row of an asset that it made.
    pub(in crate::drive) fn recall_made(&self) {
        if !self.is_listed(Which::Assets) {
            return;
        }
        for record in self.outbox.sent_records() {
            if self.known().assets.row(record.asset.0).is_none() {
                self.told_made(record.asset, &record.name, record.kind, record.created);
            }
        }
    }

    pub(super) fn asset_moved(self: &Arc<Self>, asset: AssetId) {
        let shared = Arc::clone(self);
        self.background.spawn(async move {
            if let Err(error) = shared.refreshed_asset(asset, Duration::ZERO).await {
                tracing::debug!(asset = %asset, error = %error, "could not look at an asset that changed");
            }
            let home = shared.home_of(asset);
            shared.tell_model(Model::Raw(home));
        });
    }

    fn job_changed(&self, folder: &JobFolder, name: &str) {
        let drop = match folder {
            JobFolder::Optimize(OwnerFolder::Draft(draft))
            | JobFolder::Embeds(OwnerFolder::Draft(draft)) => {
                let owner = self.asset_of_draft(*draft).map(OwnerFolder::Asset);
                owner.and_then(|owner| drop_folder(&folder.of_owner(owner)))
            }
            folder => drop_folder(folder),
        };
        let Some(drop) = drop else { return };
        match drop {
            DropFolder::Optimize(asset) => self.doubt_rapids_of(asset),
            DropFolder::AssetEmbeds(_) | DropFolder::RapidEmbeds(_) => self.doubt(Which::Embeds),
            DropFolder::Jobs => self.doubt(Which::Jobs),
        }
        if let Some(job) = self.outbox.job(folder, name)
            && job.state == JobState::Done
        {
            for rapid in job.rapid.into_iter().chain(job.rapids) {
                self.rapid_ended(rapid);
            }
        }
        for part in [JobPart::Status, JobPart::Result] {
            let entry = drop.entry(name, part);
            self.tell_entry(drop, &entry.name());
            self.tell_attributes(entry);
        }
    }

    fn embeds_changed(self: &Arc<Self>) {
        self.doubt(Which::Embeds);
        let shared = Arc::clone(self);
        self.background.spawn(async move {
            if let Err(error) = shared.refreshed(Which::Embeds).await {
                tracing::debug!(error = %error, "could not look at the embeds");
            }
        });
    }

    fn presets_changed(self: &Arc<Self>) {
        self.doubt(Which::Presets);
        let shared = Arc::clone(self);
        self.background.spawn(async move {
            if let Err(error) = shared.refreshed(Which::Presets).await {
                tracing::debug!(error = %error, "could not look at the presets");
            }
        });
    }
}
