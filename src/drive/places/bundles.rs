//! `presets/.assetfs/bundle/` and `cli/`: each preset as a downloadable zip, own presets and those of the
//! service. If two have one name, the own preset is used, as in jobs.

use std::sync::Arc;

use async_trait::async_trait;

use super::attributes::file;
use super::node::Row;
use super::place::{Place, Text};
use crate::drive::catalog::{
    Blob, blob_len, hidden_path, preset_overlay, read_blob, refresh_listing,
};
use crate::drive::error::DriveResult;
use crate::drive::posix::{Attributes, FileKind};
use crate::drive::tree::Tree;
use crate::drive::values::known::{KnownPreset, system_time};
use crate::drive::values::listing::Listing;
use crate::drive::values::local::HiddenParent;
use crate::drive::values::node::{Bundle, ListingKind};
use crate::wire::PresetId;

pub(super) struct BundleFolder(pub(super) Bundle);

#[async_trait]
impl Place for BundleFolder {
    fn identity(&self) -> String {
        format!("bundles/{}", self.0.name())
    }

    fn path(&self, tree: &Tree) -> String {
        let hidden = hidden_path(tree.catalog(), HiddenParent::Presets);
        format!("{hidden}/{}", self.0.name())
    }

    async fn rows(&self, tree: &Arc<Tree>) -> DriveResult<Vec<Row>> {
        refresh_listing(tree.catalog(), ListingKind::Presets).await?;
        refresh_listing(tree.catalog(), ListingKind::Factory).await?;
        preset_overlay(tree.catalog());
        let known = tree.catalog().known();
        let own = named(&known.presets);
        let factory = named(&known.factory);
        let unshadowed = factory.filter(|(name, _)| known.presets.find(name).is_none());
        let rows = own.chain(unshadowed).map(|(name, preset)| {
            let stem = name.strip_suffix(".json").unwrap_or(name);
            let zip = BundleFile(self.0, preset.id, preset.text_checksum());
            Row::new(format!("{stem}.zip"), zip)
        });
        Ok(rows.collect())
    }
}

/// The presets of a listing with their unique names.
fn named(presets: &Listing<KnownPreset>) -> impl Iterator<Item = (&str, &KnownPreset)> {
    let rows = presets.rows();
    rows.filter_map(|row| Some((presets.name(row.id.0)?, row)))
}

/// A zip in it. The number is a checksum of the preset's text.
pub(super) struct BundleFile(pub(super) Bundle, pub(super) PresetId, pub(super) u64);

impl BundleFile {
    fn blob(&self) -> Blob {
        Blob::Preset(self.0, self.1, self.2)
    }
}

#[async_trait]
impl Place for BundleFile {
    fn identity(&self) -> String {
        format!("bundles/{}/{}/{:x}", self.0.name(), self.1, self.2)
    }

    fn kind(&self) -> Option<FileKind> {
        Some(FileKind::File)
    }

    fn path(&self, tree: &Tree) -> String {
        format!("{}/{}", BundleFolder(self.0).path(tree), self.1)
    }

    async fn attributes(&self, tree: &Arc<Tree>) -> DriveResult<Attributes> {
        let row = {
            let known = tree.catalog().known();
            let own = known.presets.row(self.1.0);
            own.or_else(|| known.factory.row(self.1.0)).cloned()
        };
        let updated = system_time(row.and_then(|row| row.updated));
        Ok(file(
            tree,
            blob_len(tree.catalog(), &self.blob()).await?,
            updated,
        ))
    }

    async fn text(&self, tree: &Arc<Tree>) -> DriveResult<Text> {
        Ok(Text {
            bytes: read_blob(tree.catalog(), &self.blob()).await?,
            modified: tree.opened(),
        })
    }
}
