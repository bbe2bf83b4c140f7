//! Finding a name in a folder.
//!
//! Large folders are searched by name, small ones by their rows. A name that is not found is only
//! reported so after the listing was refreshed, and a refresh that failed makes nothing vanish.

use std::ffi::OsStr;
use std::sync::Arc;
use std::time::Duration;

use crate::drive::error::{DriveError, DriveResult};
use crate::drive::fresh::listings::Which;
use crate::drive::shared::Shared;
use crate::drive::tree::filemap::Arranged;
use crate::drive::tree::names::{HIDDEN_FOLDER, NAME_MAX_BYTES};
use crate::drive::tree::node::{Family, Home, Node, Place, RemoteFolder, Subject, Top};
use crate::drive::types::{Entry, Ino};
use crate::outbox::{DraftId, DraftKind, EntryId};
use crate::wire::{AssetId, RapidId, UploadStatus};

use super::rows::{factory_node, preset_node};

impl Shared {
    /// Finds a name and counts a reference to what it stands for.
    pub(in crate::drive) async fn lookup(
        self: &Arc<Self>,
        parent: Ino,
        name: &OsStr,
    ) -> DriveResult<Entry> {
        let folder = self.node(parent)?;
        let node = self.child(&folder, text(name)?).await?;
        self.look(&node);
        self.entry(&node).await
    }

    /// What a name in a folder stands for.
    pub(in crate::drive) async fn child(
        self: &Arc<Self>,
        folder: &Node,
        name: &str,
    ) -> DriveResult<Node> {
        if name == HIDDEN_FOLDER
            && let Some(place) = hidden_place(folder)
        {
            return Ok(Node::Hidden(place));
        }
        let is_learned = ["renders", "converted", "pbr"]
            .iter()
            .any(|learned| name.starts_with(learned));
        if is_learned {
            self.learn_folders(folder).await;
        }
        let node = match folder {
            Node::Top(Top::RawModels) => self.raw_model(name).await?,
            Node::Top(Top::RapidModels) => self.rapid_model(name).await?,
            Node::Top(Top::Presets) if name != Top::FactoryPresets.name() => {
                self.preset(name).await?
            }
            Node::Top(Top::FactoryPresets) => {
                self.refreshed(Which::Factory).await?;
                self.known()
                    .factory
                    .find(name)
                    .map(factory_node)
                    .ok_or(DriveError::NotFound)?
            }
            Node::ById(family) => self.by_id(*family, name).await?,
            // A draft is local: no rows have to be made to find one of its names.
            Node::Model(Home::Made(draft)) => match self.own_child(*draft, EntryId::ROOT, name) {
                Some(node) => node,
                None => self.search(folder, name).await?,
            },
            Node::Entry(draft, entry) if self.outbox.draft(*draft).is_some() => self
                .own_child(*draft, *entry, name)
                .ok_or(DriveError::NotFound)?,
            Node::RemoteFolder(remote) => self.remote_child(*remote, name).await?,
            Node::RemoteSubfolder(remote, path) => {
                self.remote_child(*remote, &format!("{path}/{name}"))
                    .await?
            }
            Node::Top(Top::Embeds) => {
                self.refreshed(Which::Embeds).await?;
                let known = self.known();
                let row = known.embeds.find(name);
                row.map(|row| Node::Embed(row.id))
                    .ok_or(DriveError::NotFound)?
            }
            Node::Search(family) => Node::Found(*family, name.into()),
            Node::Drop(drop) => match self.search(folder, name).await {
                Err(DriveError::NotFound) => self.ghost(*drop, name).ok_or(DriveError::NotFound)?,
                found => found?,
            },
            _ => self.search(folder, name).await?,
        };
        match self.is_hidden(&node) {
            true => Err(DriveError::NotFound),
            false => Ok(node),
        }
    }

    async fn search(self: &Arc<Self>, folder: &Node, name: &str) -> DriveResult<Node> {
        let rows = self.rows(folder).await?;
        rows.into_iter()
            .find(|row| row.name == name)
            .map(|row| row.node)
            .ok_or(DriveError::NotFound)
    }

    fn own_child(&self, draft: DraftId, folder: EntryId, name: &str) -> Option<Node> {
        self.outbox
            .child(draft, folder, name)
            .map(|info| Node::Entry(draft, info.id))
    }

    async fn remote_child(self: &Arc<Self>, folder: RemoteFolder, path: &str) -> DriveResult<Node> {
        let map = self.file_map(folder).await?;
        match map.find(path).ok_or(DriveError::NotFound)? {
            Arranged::File(path) => {
                let count = self.contents.count(folder, &path);
                Ok(Node::RemoteFile(folder, path, count))
            }
            Arranged::Folder(path) => Ok(Node::RemoteSubfolder(folder, path)),
        }
    }

    /// A draft, a listed model, or the name of a loose file that was copied in.
    pub(in crate::drive) async fn raw_model(self: &Arc<Self>, name: &str) -> DriveResult<Node> {
        if let Some(node) = self.open_draft(name) {
            return Ok(node);
        }
        // Nobody has to be asked for a model that is still on its way from here.
        if let Some(node) = self.loose_model(name)
            && self.listed_asset(name).is_none()
        {
            return Ok(node);
        }
        if !self.is_listed(Which::Assets) {
            let known = self.listed_asset(name).map(Subject::Asset);
            self.look_for_name(Family::Raw, name, known).await;
            if let Some(asset) = self.listed_asset(name) {
                return Ok(Node::Model(self.home_of(asset)));
            }
        }
        let refreshed = self.refreshed(Which::Assets).await;
        if let Some(asset) = self.listed_asset(name) {
            return Ok(Node::Model(self.home_of(asset)));
        }
        // A loose file keeps resolving, unlisted, for as long as the asset exists that it became.
        if let Some((draft, entry)) = self.sent_loose_file(name) {
            return Ok(Node::Entry(draft, entry.id));
        }
        refreshed?;
        if self.confirmed(Which::Assets).await
            && let Some(asset) = self.listed_asset(name)
        {
            return Ok(Node::Model(self.home_of(asset)));
        }
        Err(DriveError::NotFound)
    }

    /// The asset that the listing shows under a name.
    pub(in crate::drive) fn listed_asset(&self, name: &str) -> Option<AssetId> {
        let asset = self.known().assets.find(name).map(|row| row.id)?;
        (!self.outbox.unseen_assets().contains(&asset)).then_some(asset)
    }

    /// The draft of that name, as long as it is no asset.
    pub(in crate::drive) fn open_draft(&self, name: &str) -> Option<Node> {
        let draft = self.outbox.find_draft(name)?;
        if self.is_asset_by_now(&draft) {
            return None;
        }
        match draft.kind {
            DraftKind::Folder => Some(Node::Model(Home::Made(draft.id))),
            DraftKind::LooseFile => self.loose_row(draft.id).map(|row| row.node),
        }
    }

    /// The model that a loose file is going to be: it can be named before the service has it.
    fn loose_model(&self, name: &str) -> Option<Node> {
        let draft = self.outbox.find_loose_model(name)?;
        Some(Node::Model(Home::Made(draft)))
    }

    /// The draft of a loose file, also after it became an asset.
    pub(in crate::drive) fn loose_draft(&self, name: &str) -> Option<DraftId> {
        match self.open_draft(name) {
            Some(Node::Entry(draft, _)) => Some(draft),
            Some(_) => None,
            None => self.sent_loose_file(name).map(|(draft, _)| draft),
        }
    }

    async fn rapid_model(self: &Arc<Self>, name: &str) -> DriveResult<Node> {
        let listed = || self.known().rapids.find(name).map(|row| row.id);
        if !self.is_listed(Which::Rapids) {
            self.look_for_name(Family::Rapid, name, listed().map(Subject::Rapid))
                .await;
            if let Some(rapid) = listed() {
                return Ok(Node::Rapid(rapid));
            }
        }
        self.refreshed(Which::Rapids).await?;
        let found = match listed() {
            None if self.confirmed(Which::Rapids).await => listed(),
            found => found,
        };
        found.map(Node::Rapid).ok_or(DriveError::NotFound)
    }

    async fn preset(self: &Arc<Self>, name: &str) -> DriveResult<Node> {
        let overlay = self.preset_overlay();
        if overlay.files.iter().any(|file| file.name == name) {
            return Ok(Node::PresetFile(name.into()));
        }
        self.refreshed(Which::Presets).await?;
        let find = || {
            let known = self.known();
            let preset = known.presets.find(name);
            let preset = preset.filter(|preset| !overlay.hidden.contains(&preset.id));
            preset.map(preset_node)
        };
        match find() {
            None if self.confirmed(Which::Presets).await => find(),
            found => found,
        }
        .ok_or(DriveError::NotFound)
    }

    async fn by_id(self: &Arc<Self>, family: Family, name: &str) -> DriveResult<Node> {
        let id: u64 = name
            .parse()
            .ok()
            .filter(|id: &u64| id.to_string() == name)
            .ok_or(DriveError::NotFound)?;
        match family {
            Family::Raw => {
                let is_known = self.known().assets.row(id).is_some();
                if !is_known {
                    self.refreshed_asset(AssetId(id), Duration::ZERO).await?;
                }
            }
            Family::Rapid => {
                self.known_rapid(RapidId(id)).await?;
            }
        }
        Ok(Node::ByIdLink(family, id))
    }

    /// Someone looks at a thing: what can change of it is watched for a while.
    pub(in crate::drive) fn look(&self, node: &Node) {
        match node {
            Node::Model(home)
            | Node::Hidden(Place::Model(home))
            | Node::HiddenFile(Place::Model(home), _) => {
                if let Some(asset) = self.asset_of(*home) {
                    let is_moving = self
                        .known()
                        .assets
                        .row(asset.0)
                        .is_some_and(|row| row.state != UploadStatus::Complete);
                    if is_moving {
                        self.watched.look_at_asset(asset);
                    }
                }
            }
            Node::Rapid(rapid)
            | Node::Hidden(Place::Rapid(rapid))
            | Node::HiddenFile(Place::Rapid(rapid), _) => {
                let is_moving = self
                    .known()
                    .rapids
                    .row(rapid.0)
                    .is_some_and(|row| !row.state.is_final());
                if is_moving {
                    self.watched.look_at_rapid(*rapid);
                }
            }
            _ => {}
        }
    }
}

/// The name as text. Names that are no text cannot be made here, so they are never found.
pub(in crate::drive) fn text(name: &OsStr) -> DriveResult<&str> {
    if name.len() > NAME_MAX_BYTES {
        return Err(DriveError::NameTooLong);
    }
    name.to_str().ok_or(DriveError::NotFound)
}

/// The place whose hidden folder a folder holds.
fn hidden_place(folder: &Node) -> Option<Place> {
    match folder {
        Node::Root => Some(Place::Root),
        Node::Top(Top::FactoryPresets | Top::Tokens | Top::Webhooks) => None,
        Node::Top(top) => Some(Place::Top(*top)),
        Node::Model(home) => Some(Place::Model(*home)),
        Node::Rapid(rapid) => Some(Place::Rapid(*rapid)),
        _ => None,
    }
}
