//! `rawmodels/NAME/`: a source model, draft or asset, with its own files and the folders of the service.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;

use super::attributes::{deletable, folder, permissions};
use super::entry::{self, DraftEntry, cache_name, own_child};
use super::errors::{error_row, free_name, model_failure};
use super::hiding::{is_hidden, without_hidden};
use super::links::RapidLinks;
use super::node::{Node, Row};
use super::place::{AttributeRule, Container, Place, Removal};
use super::refusals;
use super::remote::{ServiceFolder, find_in, map_rows};
use super::staged_zip;
use crate::drive::catalog::{
    ModelView, file_map, files_folder, known_map, learn_reason, model_status,
};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::posix::Attributes;
use crate::drive::tree::Tree;
use crate::drive::values::known::{KnownAsset, system_time};
use crate::drive::values::local::{DropFolder, ErrorParent, HiddenParent};
use crate::drive::values::node::{Home, Model, RemoteFolder};
use crate::outbox::{DraftId, EntryId, ItemStatus, StatusWord};
use crate::wire::paths::{fill, route};
use crate::wire::{AssetId, UploadStatus};

/// The folder of a source model. It keeps its inode when the draft becomes an asset.
pub struct ModelFolder(pub Home);

#[async_trait]
impl Place for ModelFolder {
    fn identity(&self) -> String {
        format!("model/{}", self.0)
    }

    fn path(&self, tree: &Tree) -> String {
        tree.catalog().home_path(self.0)
    }

    async fn attributes(&self, tree: &Arc<Tree>) -> DriveResult<Attributes> {
        let view = tree.catalog().model(self.0).ok_or(DriveError::NotFound)?;
        let sign = state_at_hand(&view).and_then(|it| tree.signs().since(Model::Raw(self.0), &it));
        let attributes = self.own_attributes(tree, view);
        Ok(Attributes {
            mtime: sign.unwrap_or(attributes.mtime),
            ..attributes
        })
    }

    /// The user's files, then the folders of the service under free names.
    async fn rows(&self, tree: &Arc<Tree>) -> DriveResult<Vec<Row>> {
        let view = tree.catalog().model(self.0).ok_or(DriveError::NotFound)?;
        learn_reason(tree.catalog(), Model::Raw(self.0)).await;
        let rows = own_rows(tree, &view).await?;
        let folders = service_folders(tree, &view);
        Ok(all_rows(tree, Model::Raw(self.0), rows, folders))
    }

    async fn child(&self, tree: &Arc<Tree>, name: &str) -> DriveResult<Node> {
        // A draft is local: its names are looked up directly.
        if let Home::Made(draft) = self.0
            && let Some(node) = own_child(tree, draft, EntryId::ROOT, name)
        {
            return Ok(node);
        }
        // So are the files of the service: a zip may have very many.
        if let Some(node) = self.file_at(tree, name).await? {
            return Ok(node);
        }
        let rows = self.rows(tree).await?;
        let row = rows.into_iter().find(|row| row.name == name);
        let found = row
            .map(|row| row.node)
            .or_else(|| self.sent_zip(tree, name));
        found.ok_or(DriveError::NotFound)
    }

    fn failure(&self, tree: &Tree) -> Option<String> {
        model_failure(tree, self.0)
    }

    fn hidden_parent(&self) -> Option<HiddenParent> {
        Some(HiddenParent::Model(Model::Raw(self.0)))
    }

    fn model_folder(&self) -> Option<Model> {
        Some(Model::Raw(self.0))
    }

    fn draft_entry(&self) -> Option<(DraftId, EntryId)> {
        match self.0 {
            Home::Made(draft) => Some((draft, EntryId::ROOT)),
            Home::Found(_) => None,
        }
    }

    fn service_folder(&self) -> Option<RemoteFolder> {
        match self.0 {
            Home::Made(_) => None,
            Home::Found(asset) => Some(RemoteFolder::AssetFiles(asset)),
        }
    }

    fn container(&self) -> Option<Container> {
        self.draft_entry()
            .map(|(draft, entry)| Container::Entries(draft, entry))
    }

    fn check_may_make(&self, tree: &Tree) -> DriveResult<()> {
        match tree.catalog().model(self.0).ok_or(DriveError::NotFound)? {
            view if view.is_open() => Ok(()),
            _ => Err(refusals::frozen_asset(&self.path(tree))),
        }
    }

    fn check_movable(&self, tree: &Tree) -> DriveResult<()> {
        // The service may have accepted it before it says so.
        let is_frozen = match self.0 {
            Home::Made(draft) => tree.outbox().uploads().is_frozen(draft),
            Home::Found(_) => false,
        };
        match tree.catalog().asset_of(self.0).is_some() || is_frozen {
            false => Ok(()),
            true => Err(refusals::no_rename(&self.path(tree))),
        }
    }

    fn removal(&self) -> Removal {
        Removal::Model(Model::Raw(self.0))
    }

    fn attribute_rule(&self) -> AttributeRule {
        match self.draft_entry() {
            Some((draft, entry)) => AttributeRule::Entry(draft, entry),
            None => AttributeRule::Frozen,
        }
    }

    fn cache_name(&self, tree: &Tree) -> DriveResult<String> {
        cache_name(tree, self.0)
    }

    fn id(&self, tree: &Tree) -> Option<String> {
        tree.catalog()
            .asset_of(self.0)
            .map(|asset| asset.to_string())
    }

    fn url(&self, tree: &Tree) -> Option<String> {
        let asset = tree.catalog().asset_of(self.0)?;
        Some(tree.record_url(&fill(route::ASSET, &[&asset])))
    }

    fn has_status(&self, _: &Tree) -> bool {
        true
    }

    async fn status(&self, tree: &Arc<Tree>) -> DriveResult<Option<ItemStatus>> {
        Ok(Some(model_status(tree.catalog(), self.0).await?))
    }
}

impl ModelFolder {
    /// A file or folder at the top of the model as the service has it, or of the zip that is all of a draft. `None` if there is none
    /// of the name, and for what a deletion in progress hides.
    async fn file_at(&self, tree: &Arc<Tree>, name: &str) -> DriveResult<Option<Node>> {
        let view = tree.catalog().model(self.0).ok_or(DriveError::NotFound)?;
        let asset = view.asset.filter(|_| has_files(&view));
        let found = match (self.0, asset) {
            (Home::Made(draft), _)
                if let Some(found) = staged_zip::top_child(tree, draft, name).await =>
            {
                found
            }
            (Home::Made(_), Some(asset)) if view.is_zip() => find_file(tree, asset, name).await,
            (Home::Found(_), Some(asset)) => find_file(tree, asset, name).await,
            _ => return Ok(None),
        };
        match found {
            Ok(node) => Ok(Some(node).filter(|node| !is_hidden(tree, node))),
            Err(DriveError::NotFound) => Ok(None),
            Err(error) if error.may_still_exist() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The zip that was copied in and whose files are shown: not listed, and found by its name.
    fn sent_zip(&self, tree: &Tree, name: &str) -> Option<Node> {
        let view = tree.catalog().model(self.0).filter(ModelView::is_zip)?;
        let sent = view.sent?;
        let entry = sent.entries.iter().find(|entry| entry.path == name)?;
        Some(DraftEntry::in_folder(tree, sent.draft, entry.id).into())
    }

    /// The attributes without a sign.
    fn own_attributes(&self, tree: &Tree, view: ModelView) -> Attributes {
        if let (Home::Made(draft), Some(_)) = (self.0, &view.draft)
            && let Some(info) = tree.outbox().entries().get(draft, EntryId::ROOT)
        {
            return entry::staged_in(tree, draft, &info);
        }
        if let Some(sent) = &view.sent {
            return deletable(Attributes {
                perm: permissions(sent.mode),
                ..folder(tree, sent.mtime)
            });
        }
        let created = view.known.and_then(|known| known.created);
        folder(tree, system_time(created))
    }
}

/// The state, as far as it is known without a request. What the service works on has no sign, as what is complete.
fn state_at_hand(view: &ModelView) -> Option<StatusWord> {
    match (&view.draft, &view.known) {
        (Some(draft), _) => Some(draft.status.word()),
        (None, Some(known)) if known.state.is_failure() => Some(StatusWord::Failed),
        (None, Some(_)) => Some(StatusWord::Complete),
        (None, None) => None,
    }
}

/// The rows of a model: its files, what the service adds to them under free names, without what a deletion hides.
pub(super) fn all_rows(
    tree: &Tree,
    model: Model,
    mut rows: Vec<Row>,
    folders: Vec<Row>,
) -> Vec<Row> {
    let mut taken: HashSet<String> = rows.iter().map(|row| row.name.clone()).collect();
    for row in folders {
        let name = free_name(&row.name, &taken);
        taken.insert(name.clone());
        rows.push(Row { name, ..row });
    }
    rows.extend(error_row(tree, ErrorParent::Model(model), &taken));
    without_hidden(tree, &mut rows, model);
    rows
}

async fn own_rows(tree: &Arc<Tree>, view: &ModelView) -> DriveResult<Vec<Row>> {
    // A zip shows what is in it, before and after the upload, as on every other machine.
    if let Home::Made(draft) = view.home
        && let Some(rows) = staged_zip::top_rows(tree, draft).await
    {
        return Ok(rows);
    }
    match (view.home, view.asset) {
        (Home::Made(draft), Some(asset)) if view.is_zip() && has_files(view) => {
            match service_rows(tree, asset).await {
                Err(error) if error.may_still_exist() => {
                    entry::entry_rows(tree, draft, EntryId::ROOT)
                }
                rows => rows,
            }
        }
        (Home::Made(draft), _) => entry::entry_rows(tree, draft, EntryId::ROOT),
        // An upload of another machine has no files yet.
        (Home::Found(_), Some(_)) if !has_files(view) => Ok(Vec::new()),
        (Home::Found(asset), _) => service_rows(tree, asset).await,
    }
}

/// The files of a model on the service.
async fn service_rows(tree: &Arc<Tree>, asset: AssetId) -> DriveResult<Vec<Row>> {
    let folder = files_folder(tree.catalog(), asset).await?;
    let map = file_map(tree.catalog(), folder).await?;
    Ok(map_rows(tree, folder, &map, ""))
}

async fn find_file(tree: &Arc<Tree>, asset: AssetId, name: &str) -> DriveResult<Node> {
    let folder = files_folder(tree.catalog(), asset).await?;
    find_in(tree, folder, name.to_owned()).await
}

/// The service folders that a model has in its state.
fn service_folders(tree: &Tree, view: &ModelView) -> Vec<Row> {
    let Some(asset) = view.asset else {
        return Vec::new();
    };
    let state = view.known.as_ref().map(|known| &known.state);
    let is_complete = state == Some(&UploadStatus::Complete);
    let mut rows = Vec::new();
    if state.is_some_and(UploadStatus::is_final) {
        rows.push(ServiceFolder::top(RemoteFolder::AssetAnalysis(asset)).row());
    }
    if is_complete {
        let folders = [
            RemoteFolder::AssetRenders(asset),
            RemoteFolder::AssetConverted(asset),
            RemoteFolder::AssetPbr(asset),
        ];
        // Not every asset has these: shown once the service lists a file in them.
        let has_files = |folder: &RemoteFolder| {
            known_map(tree.catalog(), *folder).is_some_and(|map| !map.is_empty())
        };
        let there = folders.into_iter().filter(has_files);
        rows.extend(there.map(|folder| ServiceFolder::top(folder).row()));
    }
    if state != Some(&UploadStatus::Incomplete) || view.draft.is_some() {
        rows.push(DropFolder::Optimize(asset).row());
    }
    if is_complete && view.known.as_ref().is_some_and(KnownAsset::is_glb) {
        rows.push(DropFolder::AssetEmbeds(asset).row());
    }
    if is_complete {
        rows.push(Row::new("rapidmodels", RapidLinks(asset)));
    }
    rows
}

fn has_files(view: &ModelView) -> bool {
    view.known
        .as_ref()
        .is_none_or(|known| known.state != UploadStatus::Incomplete)
}
