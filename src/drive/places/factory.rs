//! The files of `presets/factory/`: the presets that the service provides.

use std::sync::Arc;

use async_trait::async_trait;

use super::place::{Place, Text};
use crate::drive::catalog::listing_refs::FACTORY;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::posix::FileKind;
use crate::drive::tree::Tree;
use crate::drive::values::known::{KnownPreset, system_time};
use crate::wire::PresetId;

/// A factory preset. The number is a checksum of its text, so that another text is another inode.
pub(super) struct FactoryPreset(pub(super) PresetId, pub(super) u64);

impl FactoryPreset {
    pub(super) fn of(preset: &KnownPreset) -> FactoryPreset {
        FactoryPreset(preset.id, preset.text_checksum())
    }
}

#[async_trait]
impl Place for FactoryPreset {
    fn identity(&self) -> String {
        format!("factory/{}/{:x}", self.0, self.1)
    }

    fn kind(&self) -> Option<FileKind> {
        Some(FileKind::File)
    }

    fn path(&self, tree: &Tree) -> String {
        let name = tree.catalog().name_in(&FACTORY, self.0.0);
        format!("/presets/factory/{name}")
    }

    async fn text(&self, tree: &Arc<Tree>) -> DriveResult<Text> {
        let known = tree.catalog().known();
        let row = known.factory.row(self.0.0).ok_or(DriveError::NotFound)?;
        Ok(Text::new(row.text.as_str(), system_time(row.updated)))
    }

    fn id(&self, _: &Tree) -> Option<String> {
        Some(self.0.to_string())
    }
}
