//! Removing. In a draft everything goes at once. In an asset or an optimized model, which the service
//! deletes only as a whole, `unlink` hides, and the `rmdir` that ends an `rm -r` sends the one DELETE,
//! if it comes from the process that removed the entries; else everything hidden is back after a
//! while.

mod deletions;

pub(in crate::drive) use deletions::Deletions;

use std::ffi::OsStr;
use std::sync::Arc;

use super::lookup::text;
use super::paths::job_part_name;
use super::rows::{Row, job_folder, shown_parts};
use super::text::process_of;
use super::why;
use crate::client::ClientError;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::fresh::listings::Which;
use crate::drive::shared::Shared;
use crate::drive::tree::node::{DropFolder, Home, JobPart, Node, Place, Subject, Top};
use crate::drive::types::{Caller, FileKind, Ino};
use crate::outbox::{DraftId, EntryId, EntryKind};
use crate::wire::{AssetId, EmbedId};

/// Models that one request deletes.
const DELETED_AT_ONCE: usize = 50;

impl Shared {
    /// True for what a deletion under way has removed.
    pub(in crate::drive) fn is_hidden(&self, node: &Node) -> bool {
        if self.deletions().hiding.is_empty() {
            return false;
        }
        self.owner_of(node).is_some_and(|place| {
            self.deletions()
                .is_hidden(place, node, self.config.restore_after)
        })
    }

    /// Leaves out what a deletion under way has removed from a model.
    pub(in crate::drive) fn without_hidden(&self, rows: &mut Vec<Row>, place: Place) {
        let deletions = self.deletions();
        if deletions.hiding.contains_key(&place) {
            rows.retain(|row| !deletions.is_hidden(place, &row.node, self.config.restore_after));
        }
    }

    /// The file of an asset that was removed under this name, to be copied in again, as tools do that
    /// remove first what they are about to write.
    pub(in crate::drive) fn removed_file(&self, folder: &Node, name: &str) -> Option<Node> {
        let (draft, parent) = match folder {
            Node::Model(Home::Made(draft)) => (*draft, EntryId::ROOT),
            Node::Entry(draft, entry) => (*draft, *entry),
            _ => return None,
        };
        let record = self.outbox.sent_record(self.asset_of_draft(draft)?)?;
        let entries = &record.entries;
        let path = match parent {
            EntryId::ROOT => name.to_owned(),
            parent => {
                let within = entries.iter().find(|entry| entry.id == parent)?;
                format!("{}/{name}", within.path)
            }
        };
        let entry = entries.iter().find(|entry| entry.path == path)?;
        let node = Node::Entry(draft, entry.id);
        (entry.kind == EntryKind::File && self.is_hidden(&node)).then_some(node)
    }

    /// Shows again what was removed.
    pub(in crate::drive) fn bring_back(&self, node: &Node) {
        if let Some(place) = self.owner_of(node) {
            self.deletions().bring_back(place, node);
        }
    }

    /// The model that a thing inside it goes with.
    fn owner_of(&self, node: &Node) -> Option<Place> {
        match node {
            Node::Entry(draft, _) => Some(Place::Model(Home::Made(*draft))),
            Node::RemoteFolder(folder)
            | Node::RemoteSubfolder(folder, _)
            | Node::RemoteFile(folder, ..) => Some(self.place_of(folder.subject())),
            Node::Drop(folder) | Node::Job(folder, ..) => {
                folder.subject().map(|subject| self.place_of(subject))
            }
            Node::RapidLinks(asset) | Node::RapidLink(asset, _) => {
                Some(Place::Model(self.home_of(*asset)))
            }
            _ => None,
        }
    }

    /// What a name stands for, with its folder; refused where nothing may be removed.
    async fn to_be_removed<'a>(
        self: &Arc<Self>,
        parent: Ino,
        name: &'a OsStr,
    ) -> DriveResult<(Node, &'a str, Node)> {
        let folder = self.node(parent)?;
        let name = text(name)?;
        let node = self.child(&folder, name).await?;
        if self.config.read_only {
            return Err(why::read_only_mount());
        }
        Ok((folder, name, node))
    }

    /// Removes a file or a link.
    pub(in crate::drive) async fn remove_file(
        self: &Arc<Self>,
        parent: Ino,
        name: &OsStr,
        caller: &Caller,
    ) -> DriveResult<()> {
        let (folder, name, node) = self.to_be_removed(parent, name).await?;
        match &node {
            Node::Entry(draft, entry) => {
                if self.attributes(&node).await?.kind == FileKind::Folder {
                    return Err(DriveError::IsAFolder);
                }
                self.remove_entry(&folder, name, (*draft, *entry), caller)
                    .await
            }
            Node::Job(folder, text, JobPart::Text) => self.remove_job(*folder, text),
            node if self.is_ghost(node) => {
                self.deletions().ghosts.remove(node);
                Ok(())
            }
            Node::ErrorText(place) => self.dismiss_error(*place),
            Node::Preset(..) | Node::PresetFile(_) => {
                let (shared, file_name) = (Arc::clone(self), name.to_owned());
                self.detached(async move {
                    let gone = shared.outbox.remove_preset(&file_name).await?;
                    if let Some(gone) = gone {
                        shared.preset_gone(gone);
                        shared.keep_for_good().await?;
                    }
                    shared.doubt(Which::Presets);
                    Ok(())
                })
                .await
            }
            Node::Embed(embed) => self.delete_embed(*embed).await,
            Node::RemoteFile(..) | Node::RapidLink(..) | Node::Job(..) => {
                self.hide(node, caller).await
            }
            node if node.kind() == Some(FileKind::Folder) => Err(DriveError::IsAFolder),
            node => Err(why::not_permitted_here(&self.path_of(node))),
        }
    }

    async fn delete_embed(self: &Arc<Self>, embed: EmbedId) -> DriveResult<()> {
        if self.config.no_delete {
            return Err(why::no_delete());
        }
        let shared = Arc::clone(self);
        self.detached(async move {
            match shared.asked(shared.client.delete_embed(embed)).await {
                // What someone else deleted first is deleted too.
                Ok(()) | Err(DriveError::NotFound) => {}
                Err(error) => return Err(error),
            }
            shared.embed_gone(embed);
            shared.keep_for_good().await
        })
        .await
    }

    fn remove_job(&self, folder: DropFolder, text: &Arc<str>) -> DriveResult<()> {
        let in_outbox = job_folder(folder);
        let job = self.outbox.job(&in_outbox, text);
        self.outbox.remove_job(&in_outbox, text)?;
        // What was not there before leaves no ghost: an editor asks for its own names anew.
        for (_, part) in job.iter().flat_map(shown_parts) {
            let ghost = Node::Job(folder, Arc::clone(text), part);
            let mut deletions = self.deletions();
            deletions.leave_ghost(ghost, self.config.restore_after);
        }
        Ok(())
    }

    /// The part of a removed job that a name stands for.
    pub(in crate::drive) fn ghost(&self, folder: DropFolder, name: &str) -> Option<Node> {
        let is_named = |node: &Node| match node {
            Node::Job(of, text, part) => {
                *of == folder && job_part_name(folder, text, *part) == name
            }
            _ => false,
        };
        let found = self
            .deletions()
            .ghosts
            .keys()
            .find(|node| is_named(node))
            .cloned();
        found.filter(|node| self.is_ghost(node))
    }

    /// True for a part of a job that was removed with its text, and that was not made anew.
    pub(in crate::drive) fn is_ghost(&self, node: &Node) -> bool {
        let Node::Job(folder, text, _) = node else {
            return false;
        };
        self.deletions().is_ghost(node, self.config.restore_after)
            && self.outbox.job(&job_folder(*folder), text).is_none()
    }

    async fn remove_entry(
        self: &Arc<Self>,
        folder: &Node,
        name: &str,
        (draft, entry): (DraftId, EntryId),
        caller: &Caller,
    ) -> DriveResult<()> {
        let is_open = self.asset_of_draft(draft).is_none();
        match folder {
            Node::Top(Top::RawModels) if is_open => Ok(self.outbox.remove_draft(draft)?),
            Node::Top(Top::RawModels) => Err(DriveError::NotPermitted(format!(
                "{name} has become an asset; `rm -r` of its folder deletes it"
            ))),
            folder if is_open => {
                let parent = entry_of(folder);
                Ok(self
                    .outbox
                    .remove_file(draft, parent, name, &caller.for_outbox())?)
            }
            _ => self.hide(Node::Entry(draft, entry), caller).await,
        }
    }

    /// Removes an empty folder; of an asset, the asset.
    pub(in crate::drive) async fn remove_dir(
        self: &Arc<Self>,
        parent: Ino,
        name: &OsStr,
        caller: &Caller,
    ) -> DriveResult<()> {
        let (folder, name, node) = self.to_be_removed(parent, name).await?;
        match &node {
            Node::Model(Home::Made(draft)) if self.asset_of_draft(*draft).is_none() => {
                if !self.outbox.children(*draft, EntryId::ROOT)?.is_empty() {
                    return Err(DriveError::NotEmpty);
                }
                Ok(self.outbox.remove_draft(*draft)?)
            }
            Node::Model(_) | Node::Rapid(_) => self.delete_model(&node, caller).await,
            Node::Entry(draft, _) if self.asset_of_draft(*draft).is_none() => {
                let parent = entry_of(&folder);
                Ok(self
                    .outbox
                    .remove_dir(*draft, parent, name, &caller.for_outbox())?)
            }
            Node::Entry(..)
            | Node::RemoteFolder(_)
            | Node::RemoteSubfolder(..)
            | Node::Drop(_)
            | Node::RapidLinks(_) => {
                if !self.rows(&node).await?.is_empty() {
                    return Err(DriveError::NotEmpty);
                }
                self.hide(node, caller).await
            }
            node if node.kind() == Some(FileKind::Folder) => {
                Err(why::not_permitted_here(&self.path_of(node)))
            }
            _ => Err(DriveError::NotAFolder),
        }
    }

    /// Hides a part of a model until the whole is deleted, or for a while.
    async fn hide(self: &Arc<Self>, node: Node, caller: &Caller) -> DriveResult<()> {
        let place = self
            .owner_of(&node)
            .ok_or_else(|| why::not_permitted_here(&self.path_of(&node)))?;
        self.check_may_delete(place).await?;
        let process = process_of(caller.pid);
        self.deletions()
            .hide(place, node, process, self.config.restore_after);
        Ok(())
    }

    /// The `rmdir` that ends an `rm -r`: deletes on the service.
    async fn delete_model(self: &Arc<Self>, node: &Node, caller: &Caller) -> DriveResult<()> {
        let place = match node {
            Node::Model(home) => Place::Model(*home),
            Node::Rapid(rapid) => Place::Rapid(*rapid),
            _ => return Err(DriveError::NotAFolder),
        };
        self.check_may_delete(place).await?;
        if !self.rows(node).await?.is_empty() {
            return Err(DriveError::NotEmpty);
        }
        if !self.deletions().may_end(place, process_of(caller.pid)) {
            return Err(DriveError::NotPermitted(format!(
                "another process removed what was in {}; it is all back in a moment, and `rm -r` deletes it",
                self.path_of(node)
            )));
        }
        let shared = Arc::clone(self);
        let deleted = self
            .detached(async move { shared.delete_on_service(place).await })
            .await;
        // Done or failed, nothing is half removed any more.
        self.deletions().hiding.remove(&place);
        deleted
    }

    /// Deletes whole models by few requests: all of them, or none when they are more than may go.
    pub(in crate::drive) async fn delete_many(
        self: &Arc<Self>,
        subjects: Vec<Subject>,
    ) -> DriveResult<()> {
        for subject in &subjects {
            self.check_may_delete(self.place_of(*subject)).await?;
        }
        let limit = self.config.delete_limit;
        if self.deletions().would_be_over_limit(limit, subjects.len()) {
            return Err(why::delete_limit(limit));
        }
        let shared = Arc::clone(self);
        self.detached(async move { shared.delete_in_bulk(&subjects).await })
            .await
    }

    async fn delete_in_bulk(self: &Arc<Self>, subjects: &[Subject]) -> DriveResult<()> {
        let mut assets = Vec::new();
        let mut rapids = Vec::new();
        for subject in subjects {
            match subject {
                Subject::Asset(asset) => assets.push(*asset),
                Subject::Rapid(rapid) => rapids.push(*rapid),
            }
        }
        for assets in assets.chunks(DELETED_AT_ONCE) {
            self.delete_assets(assets, self.client.delete_assets(assets))
                .await?;
            for asset in assets {
                self.deletions().count();
                self.asset_gone(*asset);
            }
        }
        for rapids in rapids.chunks(DELETED_AT_ONCE) {
            self.asked(self.client.delete_rapid_models(rapids)).await?;
            for rapid in rapids {
                self.deletions().count();
                self.rapid_gone(*rapid);
            }
        }
        self.keep_for_good().await
    }

    async fn delete_on_service(self: &Arc<Self>, place: Place) -> DriveResult<()> {
        let reply = match place {
            Place::Model(home) => {
                let asset = self.asset_of(home).ok_or(DriveError::NotFound)?;
                self.delete_assets(&[asset], self.client.delete_asset(asset))
                    .await
            }
            Place::Rapid(rapid) => self.asked(self.client.delete_rapid_model(rapid)).await,
            Place::Root | Place::Top(_) => return Err(DriveError::NotFound),
        };
        match reply {
            // What someone else deleted first is deleted too.
            Ok(()) | Err(DriveError::NotFound) => {}
            Err(error) => return Err(error),
        }
        self.deletions().count();
        match place {
            Place::Model(home) => {
                if let Some(asset) = self.asset_of(home) {
                    self.asset_gone(asset);
                }
            }
            Place::Rapid(rapid) => self.rapid_gone(rapid),
            Place::Root | Place::Top(_) => {}
        }
        self.room_changed();
        self.keep_for_good().await
    }

    /// Asks the service to delete assets, with the journal knowing before and after.
    async fn delete_assets(
        self: &Arc<Self>,
        assets: &[AssetId],
        call: impl Future<Output = Result<(), ClientError>>,
    ) -> DriveResult<()> {
        self.outbox.deletion_begins(assets).await?;
        let reply = self.asked(call).await;
        match &reply {
            Ok(()) => {}
            // What someone else deleted first is deleted too.
            Err(DriveError::NotFound) if assets.len() == 1 => {}
            Err(_) => self.outbox.deletion_refused(assets).await?,
        }
        reply
    }

    /// Refuses before anything is hidden.
    async fn check_may_delete(self: &Arc<Self>, place: Place) -> DriveResult<()> {
        if self.config.no_delete {
            return Err(why::no_delete());
        }
        let which = match place {
            Place::Rapid(_) => Which::Rapids,
            _ => Which::Assets,
        };
        if self.refreshed(which).await.is_err() || self.is_stale(which) {
            return Err(why::stale_delete());
        }
        let limit = self.config.delete_limit;
        if self.deletions().is_over_limit(limit) {
            return Err(why::delete_limit(limit));
        }
        Ok(())
    }
}

/// The folder of a draft that a node is.
fn entry_of(folder: &Node) -> EntryId {
    match folder {
        Node::Entry(_, entry) => *entry,
        _ => EntryId::ROOT,
    }
}
