//! Removing. In a draft everything goes at once. In an asset or an optimized model, which the service
//! deletes only as a whole, `unlink` hides, and the `rmdir` that ends an `rm -r` sends the one DELETE,
//! if it comes from the process that removed the entries; else everything hidden is back after a
//! while.

use std::ffi::OsStr;
use std::sync::Arc;

use super::lookup::text;
use super::text::process_of;
use crate::client::ClientError;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::fresh::listings::Which;
use crate::drive::places::{
    Container, DraftEntry, DropFolder, Model, Node, Removal, child, dismiss_error, is_ghost,
    is_hidden, refusals, shown_parts,
};
use crate::drive::shared::Shared;
use crate::drive::tree::node::Home;
use crate::drive::types::{Caller, FileKind, Ino};
use crate::outbox::{DraftId, EntryId, EntryKind};
use crate::wire::{AssetId, EmbedId, ModelId};

/// Models that one request deletes.
const DELETED_AT_ONCE: usize = 50;

impl Shared {
    /// The file of an asset that was removed under this name, to be copied in again, as tools do that
    /// remove first what they are about to write.
    pub(in crate::drive) fn removed_file(&self, folder: &Node, name: &str) -> Option<Node> {
        let (draft, parent) = folder.draft_entry()?;
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
        let is_file = entry.kind == EntryKind::File;
        let entry = entry.id;
        let node = Node::from(DraftEntry { draft, entry });
        (is_file && is_hidden(self, &node)).then_some(node)
    }

    /// Shows again what was removed.
    pub(in crate::drive) fn bring_back(&self, node: &Node) {
        if let Some(model) = node.owner(self) {
            self.deletions().bring_back(model, node);
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
        let node = child(self, &folder, name).await?;
        if self.config.read_only {
            return Err(refusals::read_only_mount());
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
        match node.removal() {
            Removal::Entry(draft, entry) => {
                if node.attributes(self).await?.kind == FileKind::Folder {
                    return Err(DriveError::IsAFolder);
                }
                let of = DraftEntry { draft, entry };
                self.remove_entry(&folder, name, of, caller).await
            }
            Removal::Job(folder, text_name) => self.remove_job(folder, &text_name),
            Removal::JobPart(entry) if is_ghost(self, &entry) => {
                self.deletions().remove_ghost(&entry);
                Ok(())
            }
            Removal::ErrorText(parent) => dismiss_error(self, parent),
            Removal::Preset => {
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
            Removal::Embed(embed) => self.delete_embed(embed).await,
            _ if node.kind() == Some(FileKind::Folder) => Err(DriveError::IsAFolder),
            Removal::JobPart(_) | Removal::Part => self.hide(node, caller).await,
            Removal::Model(_) | Removal::Refused => {
                Err(refusals::not_permitted_here(&node.path(self)))
            }
        }
    }

    async fn delete_embed(self: &Arc<Self>, embed: EmbedId) -> DriveResult<()> {
        if self.config.no_delete {
            return Err(refusals::no_delete());
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

    fn remove_job(&self, folder: DropFolder, text_name: &str) -> DriveResult<()> {
        let in_outbox = folder.in_outbox();
        let job = self.outbox.job(&in_outbox, text_name);
        self.outbox.remove_job(&in_outbox, text_name)?;
        // What was not there before leaves no ghost: an editor asks for its own names anew.
        for (_, part) in job.iter().flat_map(shown_parts) {
            let ghost = folder.entry(text_name, part);
            let mut deletions = self.deletions();
            deletions.leave_ghost(ghost, self.config.restore_after);
        }
        Ok(())
    }

    async fn remove_entry(
        self: &Arc<Self>,
        folder: &Node,
        name: &str,
        of: DraftEntry,
        caller: &Caller,
    ) -> DriveResult<()> {
        let is_open = self.asset_of_draft(of.draft).is_none();
        match folder.container() {
            Some(Container::Drafts) if is_open => Ok(self.outbox.remove_draft(of.draft)?),
            Some(Container::Drafts) => Err(DriveError::NotPermitted(format!(
                "{name} has become an asset; `rm -r` of its folder deletes it"
            ))),
            Some(Container::Entries(_, parent)) if is_open => {
                let caller = caller.for_outbox();
                Ok(self.outbox.remove_file(of.draft, parent, name, &caller)?)
            }
            _ => self.hide(of.into(), caller).await,
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
        match node.removal() {
            Removal::Model(Model::Raw(Home::Made(draft))) if self.is_open_draft(draft) => {
                if !self.outbox.children(draft, EntryId::ROOT)?.is_empty() {
                    return Err(DriveError::NotEmpty);
                }
                Ok(self.outbox.remove_draft(draft)?)
            }
            Removal::Model(model) => self.delete_model(model, caller).await,
            Removal::Entry(draft, _) if self.is_open_draft(draft) => {
                let parent = folder
                    .draft_entry()
                    .map_or(EntryId::ROOT, |(_, entry)| entry);
                let caller = caller.for_outbox();
                Ok(self.outbox.remove_dir(draft, parent, name, &caller)?)
            }
            Removal::Entry(..) | Removal::Part if node.kind() != Some(FileKind::File) => {
                if !node.rows(self).await?.is_empty() {
                    return Err(DriveError::NotEmpty);
                }
                self.hide(node, caller).await
            }
            _ if node.kind() == Some(FileKind::Folder) => {
                Err(refusals::not_permitted_here(&node.path(self)))
            }
            _ => Err(DriveError::NotAFolder),
        }
    }

    fn is_open_draft(&self, draft: DraftId) -> bool {
        self.asset_of_draft(draft).is_none()
    }

    /// Hides a part of a model until the whole is deleted, or for a while.
    async fn hide(self: &Arc<Self>, node: Node, caller: &Caller) -> DriveResult<()> {
        let model = node
            .owner(self)
            .ok_or_else(|| refusals::not_permitted_here(&node.path(self)))?;
        self.check_may_delete(model).await?;
        let process = process_of(caller.pid);
        self.deletions()
            .hide(model, node, process, self.config.restore_after);
        Ok(())
    }

    /// The `rmdir` that ends an `rm -r`: deletes on the service.
    async fn delete_model(self: &Arc<Self>, model: Model, caller: &Caller) -> DriveResult<()> {
        self.check_may_delete(model).await?;
        if !model.folder().rows(self).await?.is_empty() {
            return Err(DriveError::NotEmpty);
        }
        if !self.deletions().may_end(model, process_of(caller.pid)) {
            return Err(DriveError::NotPermitted(format!(
                "another process removed what was in {}; it is all back in a moment, and `rm -r` deletes it",
                model.path(self)
            )));
        }
        let shared = Arc::clone(self);
        let deleted = self
            .detached(async move { shared.delete_on_service(model).await })
            .await;
        self.deletions().end(model);
        deleted
    }

    /// Deletes whole models by few requests: all of them, or none when they are more than may go.
    pub(in crate::drive) async fn delete_many(
        self: &Arc<Self>,
        subjects: Vec<ModelId>,
    ) -> DriveResult<()> {
        for subject in &subjects {
            self.check_may_delete(Model::of(*subject, self)).await?;
        }
        let limit = self.config.delete_limit;
        if self.deletions().would_be_over_limit(limit, subjects.len()) {
            return Err(refusals::delete_limit(limit));
        }
        let shared = Arc::clone(self);
        self.detached(async move { shared.delete_in_bulk(&subjects).await })
            .await
    }

    async fn delete_in_bulk(self: &Arc<Self>, subjects: &[ModelId]) -> DriveResult<()> {
        let mut assets = Vec::new();
        let mut rapids = Vec::new();
        for subject in subjects {
            match subject {
                ModelId::Asset(asset) => assets.push(*asset),
                ModelId::Rapid(rapid) => rapids.push(*rapid),
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

    async fn delete_on_service(self: &Arc<Self>, model: Model) -> DriveResult<()> {
        let reply = match model {
            Model::Raw(home) => {
                let asset = self.asset_of(home).ok_or(DriveError::NotFound)?;
                self.delete_assets(&[asset], self.client.delete_asset(asset))
                    .await
            }
            Model::Rapid(rapid) => self.asked(self.client.delete_rapid_model(rapid)).await,
        };
        match reply {
            // What someone else deleted first is deleted too.
            Ok(()) | Err(DriveError::NotFound) => {}
            Err(error) => return Err(error),
        }
        self.deletions().count();
        match model {
            Model::Raw(home) => {
                if let Some(asset) = self.asset_of(home) {
                    self.asset_gone(asset);
                }
            }
            Model::Rapid(rapid) => self.rapid_gone(rapid),
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
    async fn check_may_delete(self: &Arc<Self>, model: Model) -> DriveResult<()> {
        if self.config.no_delete {
            return Err(refusals::no_delete());
        }
        let which = match model {
            Model::Rapid(_) => Which::Rapids,
            Model::Raw(_) => Which::Assets,
        };
        if self.refreshed(which).await.is_err() || self.is_stale(which) {
            return Err(refusals::stale_delete());
        }
        let limit = self.config.delete_limit;
        if self.deletions().is_over_limit(limit) {
            return Err(refusals::delete_limit(limit));
        }
        Ok(())
    }
}
