//! `presets/factory/`: the presets of the service.

use std::sync::Arc;
use std::time::SystemTime;

use super::attributes::changed;
use super::node::{Node, Row};
use super::place::{Answer, AttributeRule, Lifetime, Place, Text};
use super::rapidmodels::named_rows;
use crate::drive::catalog::refreshed;
use crate::drive::error::DriveError;
use crate::drive::posix::FileKind;
use crate::drive::tree::Tree;
use crate::drive::values::known::{KnownPreset, system_time};
use crate::drive::values::node::ListingKind;
use crate::wire::PresetId;

/// The folder of factory presets.
pub(in crate::drive) struct FactoryFolder;

impl Place for FactoryFolder {
    fn identity(&self) -> String {
        "top/factory".to_owned()
    }

    fn kind(&self) -> Option<FileKind> {
        Some(FileKind::Folder)
    }

    fn path(&self, _: &Tree) -> String {
        "/presets/factory".to_owned()
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::Own
    }

    fn modified(&self, tree: &Tree) -> SystemTime {
        changed(tree, ListingKind::Factory)
    }

    fn rows<'a>(&'a self, tree: &'a Arc<Tree>) -> Answer<'a, Vec<Row>> {
        Box::pin(async {
            refreshed(&tree.catalog, ListingKind::Factory).await?;
            Ok(named_rows(&tree.catalog.known().factory, FactoryPreset::of))
        })
    }

    fn child<'a>(&'a self, tree: &'a Arc<Tree>, name: &'a str) -> Answer<'a, Node> {
        Box::pin(async move {
            refreshed(&tree.catalog, ListingKind::Factory).await?;
            let known = tree.catalog.known();
            let preset = known.factory.find(name).ok_or(DriveError::NotFound)?;
            Ok(FactoryPreset::of(preset).into())
        })
    }

    fn attribute_rule(&self) -> AttributeRule {
        AttributeRule::Accepted
    }
}

/// A factory preset, with a checksum of its text.
pub(super) struct FactoryPreset(pub(super) PresetId, pub(super) u64);

impl FactoryPreset {
    fn of(preset: &KnownPreset) -> FactoryPreset {
        FactoryPreset(preset.id, preset.text_checksum())
    }
}

impl Place for FactoryPreset {
    fn identity(&self) -> String {
        format!("factory/{}/{:x}", self.0, self.1)
    }

    fn kind(&self) -> Option<FileKind> {
        Some(FileKind::File)
    }

    fn path(&self, tree: &Tree) -> String {
        let name = tree
            .catalog
            .known()
            .factory
            .name(self.0.0)
            .map(str::to_owned);
        let name = name.unwrap_or_else(|| self.0.to_string());
        format!("/presets/factory/{name}")
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::Listing
    }

    fn text<'a>(&'a self, tree: &'a Arc<Tree>) -> Answer<'a, Text> {
        Box::pin(async {
            let known = tree.catalog.known();
            let row = known.factory.row(self.0.0).ok_or(DriveError::NotFound)?;
            Ok(Text::new(row.text.as_str(), system_time(row.updated)))
        })
    }

    fn id(&self, _: &Tree) -> Option<String> {
        Some(self.0.to_string())
    }
}
