//! What changed in a listing: told to the kernel, and to whoever keeps something of it.

use std::time::Instant;

use serde::Serialize;

use super::Which;
use crate::client::Priority;
use crate::drive::places::{
    EmbedPage, EmbedsFolder, Model, ModelFolder, RapidFolder, RapidModels, RawModels, top_folder,
};
use crate::drive::shared::{Known, Shared};
use crate::drive::tree::known::{KnownAsset, KnownRapid, KnownTag};
use crate::drive::tree::listing::{Changes, Listing, Row};
use crate::drive::tree::node::{RemoteFolder, Top};
use crate::wire::{AssetId, BaseAsset, EmbedId, ModelId, RapidId};

/// More new names than this at once are not told to the kernel one by one: it has never asked for
/// them.
pub(super) const MAX_TOLD: usize = 64;

impl Shared {
    /// Takes in one record of a source model, told by a request that began at `asked`.
    pub(in crate::drive) fn told_asset(&self, record: &BaseAsset, asked: Instant) {
        self.told_assets(vec![record.clone()], |listing, rows, taken| {
            rows.into_iter()
                .next()
                .map(|row| listing.put(row, asked, Instant::now(), taken))
        });
    }

    /// Takes in one row of an optimized model.
    pub(in crate::drive) fn told_rapid(&self, row: KnownRapid, asked: Instant) {
        let mut known = self.known();
        let changes = known
            .rapids
            .put(row, asked, Instant::now(), &Default::default());
        self.told_rapids(known, &changes);
    }

    /// The tags of a model were changed through this drive.
    pub(in crate::drive) fn write_tags(&self, subject: ModelId, tags: Vec<KnownTag>) {
        let now = Instant::now();
        match subject {
            ModelId::Asset(asset) => {
                let row = self.known().assets.row(asset.0).cloned();
                let rows = row.map(|row| KnownAsset { tags, ..row }).into_iter();
                let changes = self.learned_rows(rows.collect(), |listing, rows, taken| {
                    rows.into_iter()
                        .next()
                        .map(|row| listing.write(row, now, taken))
                });
                self.assets_changed(&changes.unwrap_or_default());
            }
            ModelId::Rapid(rapid) => {
                let mut known = self.known();
                let Some(row) = known.rapids.row(rapid.0).cloned() else {
                    return;
                };
                let row = KnownRapid { tags, ..row };
                let changes = known.rapids.write(row, now, &Default::default());
                self.told_rapids(known, &changes);
            }
        }
    }

    /// A source model is gone from the service.
    pub(in crate::drive) fn asset_gone(&self, asset: AssetId) {
        let home = self.home_of(asset);
        let changes = self.removed(Which::Assets, |known| &mut known.assets, asset.0);
        self.outbox.asset_gone(asset);
        self.forget_files(&format!("raw/{asset}"));
        for (_, name) in &changes.gone {
            self.tell_removed(RawModels, ModelFolder(home), name);
        }
    }

    /// An embed is gone from the service.
    pub(in crate::drive) fn embed_gone(&self, embed: EmbedId) {
        let changes = self.removed(Which::Embeds, |known| &mut known.embeds, embed.0);
        for (_, name) in &changes.gone {
            self.tell_removed(EmbedsFolder, EmbedPage(embed), name);
        }
    }

    /// An optimized model is gone from the service.
    pub(in crate::drive) fn rapid_gone(&self, rapid: RapidId) {
        let changes = self.removed(Which::Rapids, |known| &mut known.rapids, rapid.0);
        self.outbox.rapid_gone(rapid);
        self.rapids_changed(&changes);
    }

    /// Takes a record out of its listing.
    pub(in crate::drive) fn removed<R: Row + Serialize>(
        &self,
        which: Which,
        listing: fn(&mut Known) -> &mut Listing<R>,
        id: u64,
    ) -> Changes {
        let mut known = self.known();
        let changes = listing(&mut known).remove(id, Instant::now());
        self.keep(which, &mut known, listing, &changes);
        changes
    }

    fn forget_files(&self, prefix: &str) {
        self.maps.forget(&self.meta, prefix);
        self.forget_blobs(prefix);
        self.contents.forget(&format!("{prefix}/"));
        self.cache.forget(prefix);
    }

    pub(super) fn assets_changed(&self, changes: &Changes) {
        for (id, name) in changes.gone.iter().chain(&changes.renamed) {
            let folder = ModelFolder(self.home_of(AssetId(*id)));
            self.tell_removed(RawModels, folder, name);
        }
        for (id, _) in &changes.gone {
            self.check_gone(AssetId(*id));
        }
        for id in &changes.moved {
            let asset = AssetId(*id);
            // Another state has other files: what was known of them is asked for again.
            self.maps.doubt(&self.meta, RemoteFolder::AssetFiles(asset));
            self.maps
                .doubt(&self.meta, RemoteFolder::AssetAnalysis(asset));
            self.forget_reason(ModelId::Asset(asset));
        }
        for id in &changes.changed {
            let home = self.home_of(AssetId(*id));
            self.tell_model(Model::Raw(home));
        }
        self.tell_appeared(changes, Top::RawModels, |known, id| {
            known.assets.name(id).map(str::to_owned)
        });
    }

    pub(super) fn rapids_changed(&self, changes: &Changes) {
        for (id, name) in changes.gone.iter().chain(&changes.renamed) {
            self.tell_removed(RapidModels, RapidFolder(RapidId(*id)), name);
        }
        for (id, _) in &changes.gone {
            self.forget_files(&format!("rapid/{id}"));
        }
        for id in &changes.moved {
            let rapid = RapidId(*id);
            if self.rapid_is_final(rapid) {
                self.rapid_ended(rapid);
            }
            self.maps.doubt(&self.meta, RemoteFolder::RapidFiles(rapid));
            self.maps
                .doubt(&self.meta, RemoteFolder::RapidAnalysis(rapid));
            self.forget_reason(ModelId::Rapid(rapid));
        }
        for id in &changes.changed {
            self.tell_model(Model::Rapid(RapidId(*id)));
        }
        self.tell_appeared(changes, Top::RapidModels, |known, id| {
            known.rapids.name(id).map(str::to_owned)
        });
    }

    fn tell_appeared(
        &self,
        changes: &Changes,
        top: Top,
        name: impl Fn(&Known, u64) -> Option<String>,
    ) {
        if changes.appeared.len() > MAX_TOLD {
            return;
        }
        let names: Vec<String> = {
            let known = self.known();
            changes
                .appeared
                .iter()
                .filter_map(|id| name(&known, *id))
                .collect()
        };
        for name in names {
            self.tell_entry(top_folder(top), &name);
        }
    }

    /// A model that was copied in here is missing from a listing. Its staged copy and record are
    /// only dropped when the service says of itself that it is gone.
    fn check_gone(&self, asset: AssetId) {
        if self.outbox.sent_record(asset).is_none() {
            self.forget_files(&format!("raw/{asset}"));
            return;
        }
        let (client, outbox) = (self.client.clone(), self.outbox.clone());
        self.background.spawn(async move {
            if let Err(crate::client::ClientError::NotFound { .. }) =
                client.asset(asset, Priority::Background).await
            {
                outbox.asset_gone(asset);
            }
        });
    }
}
