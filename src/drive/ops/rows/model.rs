//! The rows of a source model: what was copied in, and the folders of the service.

use std::collections::HashSet;
use std::sync::Arc;

use super::{ERROR_FILE, Row, entry_kind, free_name, map_rows};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::shared::{ModelView, Shared};
use crate::drive::tree::known::KnownAsset;
use crate::drive::tree::node::{DropFolder, ErrorPlace, Home, Node, Place, RemoteFolder};
use crate::outbox::{DraftId, EntryId, EntryKind, SentEntry, is_service_folder};
use crate::wire::{AssetId, UploadStatus};

impl Shared {
    /// The user's files, then the folders of the service under names that are free.
    pub(super) async fn model_rows(self: &Arc<Self>, home: Home) -> DriveResult<Vec<Row>> {
        let view = self.model(home).ok_or(DriveError::NotFound)?;
        self.learn_reason(&Node::Model(home)).await;
        let mut rows = self.own_rows(&view).await?;
        let mut taken: HashSet<String> = rows.iter().map(|row| row.name.clone()).collect();
        for (name, node) in self.service_folders(&view) {
            let name = free_name(name, &taken);
            taken.insert(name.clone());
            rows.push(Row::new(name, node));
        }
        if self.error_text(ErrorPlace::Model(home)).is_some() {
            rows.push(Row::new(
                free_name(ERROR_FILE, &taken),
                Node::ErrorText(ErrorPlace::Model(home)),
            ));
        }
        self.without_hidden(&mut rows, Place::Model(home));
        Ok(rows)
    }

    async fn own_rows(self: &Arc<Self>, view: &ModelView) -> DriveResult<Vec<Row>> {
        match (view.home, view.asset) {
            // A zip shows what is in it, as on every other machine, as soon as the service has it.
            (Home::Made(draft), Some(asset)) if view.is_zip() && has_files(view) => {
                match self.service_rows(asset).await {
                    Err(error) if error.leaves_the_tree_as_it_was() => {
                        self.entry_rows(draft, EntryId::ROOT)
                    }
                    rows => rows,
                }
            }
            (Home::Made(draft), _) => self.entry_rows(draft, EntryId::ROOT),
            // What others are still uploading has no files yet.
            (Home::Found(_), Some(_)) if !has_files(view) => Ok(Vec::new()),
            (Home::Found(asset), _) => self.service_rows(asset).await,
        }
    }

    /// The files of a model as the service tells them.
    async fn service_rows(self: &Arc<Self>, asset: AssetId) -> DriveResult<Vec<Row>> {
        let folder = self.files_folder(asset).await?;
        let map = self.file_map(folder).await?;
        Ok(map_rows(folder, &map, "", |path| {
            self.contents.count(folder, path)
        }))
    }

    /// The folders of the service that a model has in its present state.
    fn service_folders(&self, view: &ModelView) -> Vec<(&'static str, Node)> {
        let Some(asset) = view.asset else {
            return Vec::new();
        };
        let state = view.known.as_ref().map(|known| &known.state);
        let mut folders = Vec::new();
        let mut add_remote = |folder: RemoteFolder| {
            folders.push((
                folder.name().unwrap_or_default(),
                Node::RemoteFolder(folder),
            ));
        };
        if state.is_some_and(UploadStatus::is_final) {
            add_remote(RemoteFolder::AssetAnalysis(asset));
        }
        let is_complete = state == Some(&UploadStatus::Complete);
        if is_complete {
            for folder in [
                RemoteFolder::AssetRenders(asset),
                RemoteFolder::AssetConverted(asset),
                RemoteFolder::AssetPbr(asset),
            ] {
                // Not every asset has these: shown once the service has named a file in them.
                if self.known_map(folder).is_some_and(|map| !map.is_empty()) {
                    add_remote(folder);
                }
            }
        }
        let mut add_drop = |folder: DropFolder| folders.push((folder.name(), folder.node()));
        if state != Some(&UploadStatus::Incomplete) || view.draft.is_some() {
            add_drop(DropFolder::Optimize(asset));
        }
        if is_complete && view.known.as_ref().is_some_and(KnownAsset::is_glb) {
            add_drop(DropFolder::AssetEmbeds(asset));
        }
        if is_complete {
            folders.push(("rapidmodels", Node::RapidLinks(asset)));
        }
        folders
    }

    /// The entries of a folder that was copied in: of the draft while its staged copy is kept, then
    /// of the record of what was sent.
    pub(in crate::drive) fn entry_rows(
        &self,
        draft: DraftId,
        folder: EntryId,
    ) -> DriveResult<Vec<Row>> {
        let mut rows: Vec<Row> = if self.outbox.draft(draft).is_some() {
            let children = self.outbox.children(draft, folder)?;
            children
                .iter()
                .map(|info| Row::entry(draft, info))
                .collect()
        } else {
            self.sent_rows(draft, folder)?
        };
        if folder != EntryId::ROOT {
            self.without_hidden(&mut rows, Place::Model(Home::Made(draft)));
        }
        Ok(rows)
    }

    fn sent_rows(&self, draft: DraftId, folder: EntryId) -> DriveResult<Vec<Row>> {
        let asset = self.asset_of_draft(draft).ok_or(DriveError::NotFound)?;
        let record = self.outbox.sent_record(asset).ok_or(DriveError::NotFound)?;
        let prefix = match folder {
            EntryId::ROOT => String::new(),
            folder => {
                let entry = record
                    .entries
                    .iter()
                    .find(|entry| entry.id == folder)
                    .ok_or(DriveError::NotFound)?;
                format!("{}/", entry.path)
            }
        };
        let in_folder = |entry: &SentEntry| {
            let name = entry.path.strip_prefix(&prefix)?;
            let is_here = !name.is_empty() && !name.contains('/');
            (is_here && is_still_there(&record.entries, entry)).then(|| Row {
                name: name.to_owned(),
                node: Node::Entry(draft, entry.id),
                kind: entry_kind(entry.kind),
            })
        };
        Ok(record.entries.iter().filter_map(in_folder).collect())
    }

    /// What a record of an upload says about one entry.
    pub(in crate::drive) fn sent_entry(&self, draft: DraftId, entry: EntryId) -> Option<SentEntry> {
        let Some(asset) = self.asset_of_draft(draft) else {
            return self.outbox.frozen_entry(draft, entry);
        };
        let record = self.outbox.sent_record(asset)?;
        record.entries.iter().find(|sent| sent.id == entry).cloned()
    }

    pub(super) async fn rapid_link_rows(self: &Arc<Self>, asset: AssetId) -> DriveResult<Vec<Row>> {
        let rapids = self.rapids_of(asset).await?;
        let named = rapids
            .into_iter()
            .filter_map(|rapid| Some((rapid, self.rapid_name(rapid)?)));
        let mut rows: Vec<Row> = named
            .map(|(rapid, name)| Row::new(name, Node::RapidLink(asset, rapid)))
            .collect();
        self.without_hidden(&mut rows, Place::Model(self.home_of(asset)));
        Ok(rows)
    }
}

/// What was never sent went with the staged copy, and so did a folder that held nothing else. An empty
/// folder is the owner's own, unless it has the name of one of the service's.
fn is_still_there(entries: &[SentEntry], entry: &SentEntry) -> bool {
    if entry.kind == EntryKind::File {
        return entry.sent_as.is_some();
    }
    let within = format!("{}/", entry.path);
    let is_file_within =
        |other: &&SentEntry| other.kind == EntryKind::File && other.path.starts_with(&within);
    let mut files = entries.iter().filter(is_file_within).peekable();
    match files.peek() {
        None => !is_service_folder(&entry.path),
        Some(_) => files.any(|file| file.sent_as.is_some()),
    }
}

fn has_files(view: &ModelView) -> bool {
    view.known
        .as_ref()
        .is_none_or(|known| known.state != UploadStatus::Incomplete)
}
