//! `presets/`: the user's presets on the service and in the outbox.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;

use super::attributes::changed;
use super::listing_folder;
use super::node::{Node, Row};
use super::place::{AttributeRule, Container, Contents, Lifetime, Place, Removal, Text};
use crate::drive::catalog::{confirm_listing, preset_overlay, refresh_listing};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::posix::{FileKind, OpenFlags};
use crate::drive::tree::Tree;
use crate::drive::values::known::{KnownPreset, system_time};
use crate::drive::values::local::{HiddenParent, TextTarget};
use crate::drive::values::node::ListingKind;
use crate::outbox::{Maker, PresetFile, PresetOverlay, PresetState, why_never_sent};
use crate::wire::PresetId;
use crate::wire::paths::{fill, route};

const FACTORY: &str = "factory";

pub struct PresetFolder;

#[async_trait]
impl Place for PresetFolder {
    fn identity(&self) -> String {
        "top/presets".to_owned()
    }

    fn path(&self, _: &Tree) -> String {
        "/presets".to_owned()
    }

    fn modified(&self, tree: &Tree) -> SystemTime {
        changed(tree, ListingKind::Presets)
    }

    async fn rows(&self, tree: &Arc<Tree>) -> DriveResult<Vec<Row>> {
        refresh_listing(tree.catalog(), ListingKind::Presets).await?;
        Ok(self.known_rows(tree))
    }

    fn known_rows(&self, tree: &Tree) -> Vec<Row> {
        let mut rows = vec![Row::new(FACTORY, listing_folder::FACTORY)];
        rows.extend(preset_rows(tree));
        rows
    }

    async fn child(&self, tree: &Arc<Tree>, name: &str) -> DriveResult<Node> {
        if name == FACTORY {
            return Ok(listing_folder::FACTORY.into());
        }
        let overlay = preset_overlay(tree.catalog());
        if overlay.files.iter().any(|file| file.name == name) {
            return Ok(HeldPreset(name.into()).into());
        }
        refresh_listing(tree.catalog(), ListingKind::Presets).await?;
        let find = || {
            let known = tree.catalog().known();
            let preset = known.presets.find(name);
            let preset = preset.filter(|preset| !overlay.hidden.contains(&preset.id));
            preset.map(|preset| Node::from(StoredPreset::of(preset)))
        };
        match find() {
            None if confirm_listing(tree.catalog(), ListingKind::Presets).await => find(),
            found => found,
        }
        .ok_or(DriveError::NotFound)
    }

    fn hidden_parent(&self) -> Option<HiddenParent> {
        Some(HiddenParent::Presets)
    }

    fn container(&self) -> Option<Container> {
        Some(Container::Presets)
    }

    fn attribute_rule(&self) -> AttributeRule {
        AttributeRule::Accepted
    }
}

/// The presets in the outbox, then those of the service that are not replaced by them.
fn preset_rows(tree: &Tree) -> Vec<Row> {
    let overlay = preset_overlay(tree.catalog());
    let held: HashSet<&str> = overlay
        .files
        .iter()
        .map(|file| file.name.as_str())
        .collect();
    let here = overlay.files.iter();
    let mut rows: Vec<Row> = here
        .map(|file| Row::new(&file.name, HeldPreset(file.name.as_str().into())))
        .collect();
    let known = tree.catalog().known();
    for preset in known.presets.rows() {
        let Some(name) = known.presets.name(preset.id.0) else {
            continue;
        };
        if !held.contains(name) && !overlay.hidden.contains(&preset.id) {
            rows.push(Row::new(name, StoredPreset::of(preset)));
        }
    }
    rows
}

/// The text of a preset in the outbox.
fn held_text(overlay: &PresetOverlay, name: &str) -> Option<Text> {
    let file = overlay.files.iter().find(|file| file.name == name)?;
    Some(Text {
        bytes: file.text.clone().into(),
        modified: file.mtime,
    })
}

fn preset_text(row: &KnownPreset) -> Text {
    Text::new(row.text.as_str(), system_time(row.updated))
}

/// A preset of the service. The number is a checksum of its text, so that another text is another inode.
pub(super) struct StoredPreset(pub(super) PresetId, pub(super) u64);

impl StoredPreset {
    fn of(preset: &KnownPreset) -> StoredPreset {
        StoredPreset(preset.id, preset.text_checksum())
    }

    fn row(&self, tree: &Tree) -> Option<KnownPreset> {
        tree.catalog().known().presets.row(self.0.0).cloned()
    }

    fn name(&self, tree: &Tree) -> Option<String> {
        tree.catalog()
            .known()
            .presets
            .name(self.0.0)
            .map(str::to_owned)
    }
}

#[async_trait]
impl Place for StoredPreset {
    fn identity(&self) -> String {
        format!("preset/{}/{:x}", self.0, self.1)
    }

    fn kind(&self) -> Option<FileKind> {
        Some(FileKind::File)
    }

    fn path(&self, tree: &Tree) -> String {
        let name = self.name(tree).unwrap_or_else(|| self.0.to_string());
        format!("/presets/{name}")
    }

    /// Its text changes with each write, and copy tools rely on its length.
    fn lifetime(&self) -> Lifetime {
        Lifetime::None
    }

    async fn text(&self, tree: &Arc<Tree>) -> DriveResult<Text> {
        let overlay = preset_overlay(tree.catalog());
        let row = self.row(tree).ok_or(DriveError::NotFound)?;
        // The kernel may still cache this inode after the file has another text.
        let held = self.name(tree).and_then(|name| held_text(&overlay, &name));
        Ok(held.unwrap_or_else(|| preset_text(&row)))
    }

    fn maker(&self, tree: &Tree) -> Option<Maker> {
        tree.outbox().presets().maker(&self.name(tree)?)
    }

    fn contents(&self, tree: &Tree) -> DriveResult<Contents> {
        let name = self.name(tree).ok_or(DriveError::NotFound)?;
        Ok(Contents::Editable(TextTarget::Preset(name)))
    }

    fn check_writable(&self, _: &Tree, _: OpenFlags) -> DriveResult<()> {
        Ok(())
    }

    fn removal(&self) -> Removal {
        Removal::Preset
    }

    fn attribute_rule(&self) -> AttributeRule {
        AttributeRule::Text
    }

    fn id(&self, _: &Tree) -> Option<String> {
        Some(self.0.to_string())
    }

    fn url(&self, tree: &Tree) -> Option<String> {
        Some(tree.record_url(&fill(route::PRESET, &[&self.0])))
    }

    fn description(&self, tree: &Tree) -> Option<String> {
        self.row(tree)?.description
    }

    fn rpdx_version(&self, tree: &Tree) -> Option<String> {
        self.row(tree)?.rpdx_version
    }
}

/// A preset in the outbox, by file name.
#[derive(Debug, Clone)]
pub struct HeldPreset(pub Arc<str>);

#[async_trait]
impl Place for HeldPreset {
    fn identity(&self) -> String {
        format!("preset-file/{}", self.0)
    }

    fn kind(&self) -> Option<FileKind> {
        Some(FileKind::File)
    }

    fn path(&self, _: &Tree) -> String {
        format!("/presets/{}", self.0)
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::None
    }

    async fn text(&self, tree: &Arc<Tree>) -> DriveResult<Text> {
        let overlay = preset_overlay(tree.catalog());
        let known = tree.catalog().known();
        // It may still be open after the service has stored it.
        let saved = || known.presets.find(&self.0).map(preset_text);
        let text = held_text(&overlay, &self.0).or_else(saved);
        text.ok_or(DriveError::NotFound)
    }

    fn maker(&self, tree: &Tree) -> Option<Maker> {
        tree.outbox().presets().maker(&self.0)
    }

    fn failure(&self, tree: &Tree) -> Option<String> {
        match self.file(tree)?.state {
            PresetState::Failed { reason } => Some(reason),
            PresetState::Local => why_never_sent(&self.0),
            PresetState::Queued | PresetState::Saved { .. } => None,
        }
    }

    fn held_preset(&self) -> Option<String> {
        Some(self.0.to_string())
    }

    fn contents(&self, _: &Tree) -> DriveResult<Contents> {
        Ok(Contents::Editable(TextTarget::Preset(self.0.to_string())))
    }

    fn check_writable(&self, _: &Tree, _: OpenFlags) -> DriveResult<()> {
        Ok(())
    }

    fn removal(&self) -> Removal {
        Removal::Preset
    }

    fn attribute_rule(&self) -> AttributeRule {
        AttributeRule::Text
    }

    fn description(&self, tree: &Tree) -> Option<String> {
        self.file(tree)?.description
    }
}

impl HeldPreset {
    fn file(&self, tree: &Tree) -> Option<PresetFile> {
        let files = preset_overlay(tree.catalog()).files;
        files.into_iter().find(|file| *file.name == *self.0)
    }
}
