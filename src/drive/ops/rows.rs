//! What each folder holds: rows of name, thing and kind. Listing a folder shows them, looking a name
//! up searches them; both see the same rules: the user's files win over service folders, what is
//! hidden by a deletion under way is not there.

use std::collections::HashSet;
use std::sync::Arc;

use super::paths::job_part_name;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::fresh::listings::Which;
use crate::drive::shared::{ModelView, Shared};
use crate::drive::tree::filemap::{Arranged, FileMap};
use crate::drive::tree::known::KnownPreset;
use crate::drive::tree::node::{
    AccountFile, AssetFolder, ErrorPlace, Family, HiddenFile, Home, JobPart, Node, Place,
    RemoteFolder, Top,
};
use crate::drive::types::FileKind;
use crate::outbox::{
    DraftId, DraftKind, EntryId, EntryInfo, EntryKind, JobFolder, JobInfo, JobState, OwnerFolder,
    SentEntry,
};
use crate::wire::{AssetId, PresetId, RapidId, UploadStatus};

/// One row of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::drive) struct Row {
    pub(in crate::drive) name: String,
    pub(in crate::drive) node: Node,
    pub(in crate::drive) kind: FileKind,
}

impl Row {
    fn new(name: impl Into<String>, node: Node) -> Row {
        let kind = node
            .kind()
            .expect("only entries of drafts have no kind of their own");
        Row {
            name: name.into(),
            node,
            kind,
        }
    }

    fn entry(draft: DraftId, info: &EntryInfo) -> Row {
        Row {
            name: info.name.clone(),
            node: Node::Entry(draft, info.id),
            kind: entry_kind(info.kind),
        }
    }
}

/// File or folder, in the drive's words.
pub(in crate::drive) fn entry_kind(kind: EntryKind) -> FileKind {
    match kind {
        EntryKind::File => FileKind::File,
        EntryKind::Folder => FileKind::Folder,
    }
}

/// The name of the file that tells what failed.
pub(in crate::drive) const ERROR_FILE: &str = "ERROR.txt";

impl Shared {
    /// The rows of a folder, in the order in which they are listed.
    pub(in crate::drive) async fn rows(self: &Arc<Self>, folder: &Node) -> DriveResult<Vec<Row>> {
        match folder {
            Node::Root => Ok(Top::IN_ROOT
                .map(|top| Row::new(top.name(), Node::Top(top)))
                .into()),
            Node::Top(top) => self.top_rows(*top).await,
            Node::Hidden(place) => Ok(hidden_rows(*place)),
            Node::ById(family) => self.by_id_rows(*family).await,
            Node::Model(home) => self.model_rows(*home).await,
            Node::Entry(draft, entry) => self.entry_rows(*draft, *entry),
            Node::RemoteFolder(folder) => self.remote_rows(*folder, "").await,
            Node::RemoteSubfolder(folder, path) => self.remote_rows(*folder, path).await,
            Node::AssetFolder(asset, AssetFolder::Optimize) => Ok(self.optimize_rows(*asset)),
            Node::AssetFolder(asset, AssetFolder::RapidLinks) => self.rapid_link_rows(*asset).await,
            Node::Rapid(rapid) => self.rapid_rows(*rapid).await,
            _ => Err(DriveError::NotAFolder),
        }
    }

    async fn top_rows(self: &Arc<Self>, top: Top) -> DriveResult<Vec<Row>> {
        match top {
            Top::RawModels => {
                let listed = self.refreshed(Which::Assets).await;
                let rows = self.raw_model_rows();
                // Drafts are shown even where nothing of the service is known.
                if rows.is_empty() {
                    listed.map(|()| rows)
                } else {
                    Ok(rows)
                }
            }
            Top::RapidModels => {
                self.refreshed(Which::Rapids).await?;
                Ok(self.rapid_model_rows())
            }
            Top::Presets => {
                let listed = self.refreshed(Which::Presets).await;
                let mut rows = vec![Row::new(
                    Top::FactoryPresets.name(),
                    Node::Top(Top::FactoryPresets),
                )];
                rows.extend(self.preset_rows());
                if rows.len() == 1 {
                    listed.map(|()| rows)
                } else {
                    Ok(rows)
                }
            }
            Top::FactoryPresets => {
                self.refreshed(Which::Factory).await?;
                Ok(self.factory_rows())
            }
            Top::Account => Ok(AccountFile::ALL
                .map(|file| Row::new(file.name(), Node::Account(file)))
                .into()),
        }
    }

    /// Drafts by name and number, then what the service has.
    fn raw_model_rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for draft in self.outbox.drafts() {
            if self.asset_of_draft(draft.id).is_some() {
                continue;
            }
            match draft.kind {
                DraftKind::Folder => {
                    rows.push(Row::new(draft.name, Node::Model(Home::Made(draft.id))))
                }
                DraftKind::LooseFile => rows.extend(self.loose_row(draft.id)),
            }
        }
        let unseen = self.outbox.unseen_assets();
        let listed: Vec<(AssetId, String)> = {
            let known = self.known();
            let rows = known.assets.rows();
            let shown = rows.filter(|row| !unseen.contains(&row.id));
            shown
                .filter_map(|row| Some((row.id, known.assets.name(row.id.0)?.to_owned())))
                .collect()
        };
        rows.extend(
            listed
                .into_iter()
                .map(|(asset, name)| Row::new(name, Node::Model(self.home_of(asset)))),
        );
        rows
    }

    /// The one file of a loose draft, as it stands at the top.
    pub(in crate::drive) fn loose_row(&self, draft: DraftId) -> Option<Row> {
        let children = self.outbox.children(draft, EntryId::ROOT).ok()?;
        children.first().map(|info| Row::entry(draft, info))
    }

    fn rapid_model_rows(&self) -> Vec<Row> {
        let known = self.known();
        let named = known
            .rapids
            .rows()
            .filter_map(|row| Some((row.id, known.rapids.name(row.id.0)?)));
        named
            .map(|(rapid, name)| Row::new(name, Node::Rapid(rapid)))
            .collect()
    }

    /// What is held here, then what the service has and nothing here stands for.
    pub(in crate::drive) fn preset_rows(&self) -> Vec<Row> {
        let overlay = self.outbox.preset_overlay();
        let mut rows: Vec<Row> = overlay
            .files
            .iter()
            .map(|file| Row::new(&file.name, Node::PresetFile(file.name.as_str().into())))
            .collect();
        let held: HashSet<&str> = overlay
            .files
            .iter()
            .map(|file| file.name.as_str())
            .collect();
        let known = self.known();
        for preset in known.presets.rows() {
            let Some(name) = known.presets.name(preset.id.0) else {
                continue;
            };
            if !held.contains(name) && !overlay.hidden.contains(&preset.id) {
                rows.push(Row::new(name, preset_node(preset)));
            }
        }
        rows
    }

    fn factory_rows(&self) -> Vec<Row> {
        let known = self.known();
        let named = known
            .factory
            .rows()
            .filter_map(|row| Some((row, known.factory.name(row.id.0)?)));
        named
            .map(|(row, name)| Row::new(name, factory_node(row)))
            .collect()
    }

    async fn by_id_rows(self: &Arc<Self>, family: Family) -> DriveResult<Vec<Row>> {
        let ids: Vec<u64> = match family {
            Family::Raw => {
                self.refreshed(Which::Assets).await?;
                self.known().assets.rows().map(|row| row.id.0).collect()
            }
            Family::Rapid => {
                self.refreshed(Which::Rapids).await?;
                self.known().rapids.rows().map(|row| row.id.0).collect()
            }
        };
        Ok(ids
            .into_iter()
            .map(|id| Row::new(id.to_string(), Node::ByIdLink(family, id)))
            .collect())
    }

    /// The user's files, then the folders of the service under names that are free.
    async fn model_rows(self: &Arc<Self>, home: Home) -> DriveResult<Vec<Row>> {
        let view = self.model(home).ok_or(DriveError::NotFound)?;
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
            (Home::Made(draft), _) => self.entry_rows(draft, EntryId::ROOT),
            // What others are still uploading has no files yet.
            (Home::Found(_), Some(_)) if !has_files(view) => Ok(Vec::new()),
            (Home::Found(asset), _) => Ok(map_rows(
                RemoteFolder::AssetFiles(asset),
                &*self.file_map(RemoteFolder::AssetFiles(asset)).await?,
                "",
                |path| self.contents.count(RemoteFolder::AssetFiles(asset), path),
            )),
        }
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
        if state == Some(&UploadStatus::Complete) {
            for folder in [
                RemoteFolder::AssetRenders(asset),
                RemoteFolder::AssetConverted(asset),
            ] {
                // Not every asset has these: shown once the service has named a file in them.
                if self.known_map(folder).is_some_and(|map| !map.is_empty()) {
                    add_remote(folder);
                }
            }
        }
        if state != Some(&UploadStatus::Incomplete) || view.draft.is_some() {
            folders.push((
                AssetFolder::Optimize.name(),
                Node::AssetFolder(asset, AssetFolder::Optimize),
            ));
        }
        if state == Some(&UploadStatus::Complete) {
            folders.push((
                AssetFolder::RapidLinks.name(),
                Node::AssetFolder(asset, AssetFolder::RapidLinks),
            ));
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
        let asset = self.asset_of_draft(draft)?;
        let record = self.outbox.sent_record(asset)?;
        record.entries.iter().find(|sent| sent.id == entry).cloned()
    }

    async fn remote_rows(
        self: &Arc<Self>,
        folder: RemoteFolder,
        path: &str,
    ) -> DriveResult<Vec<Row>> {
        let map = self.file_map(folder).await?;
        if !path.is_empty() && map.find(path) != Some(Arranged::Folder(path.into())) {
            return Err(DriveError::NotFound);
        }
        let mut rows = map_rows(folder, &map, path, |path| self.contents.count(folder, path));
        self.without_hidden(&mut rows, self.place_of(folder));
        Ok(rows)
    }

    /// The model that a folder of the service belongs to.
    pub(in crate::drive) fn place_of(&self, folder: RemoteFolder) -> Place {
        match folder {
            RemoteFolder::AssetFiles(asset)
            | RemoteFolder::AssetAnalysis(asset)
            | RemoteFolder::AssetRenders(asset)
            | RemoteFolder::AssetConverted(asset) => Place::Model(self.home_of(asset)),
            RemoteFolder::RapidFiles(rapid)
            | RemoteFolder::RapidAnalysis(rapid)
            | RemoteFolder::RapidRenders(rapid) => Place::Rapid(rapid),
        }
    }

    /// What became of each text, then the texts: whoever removes them in this order finds each.
    fn optimize_rows(&self, asset: AssetId) -> Vec<Row> {
        let jobs = self.outbox.job_entries(&optimize_folder(asset));
        let texts: HashSet<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
        let mut taken: HashSet<String> = texts.iter().map(|name| (*name).to_owned()).collect();
        let mut rows = Vec::new();
        let place = ErrorPlace::Optimize(asset);
        if self.error_text(place).is_some() {
            let name = free_name(ERROR_FILE, &taken);
            rows.push(Row::new(name, Node::ErrorText(place)));
        }
        for (job, part) in jobs.iter().flat_map(shown_parts) {
            let name = job_part_name(&job.name, part);
            // A text of that name is the user's, and wins.
            if taken.insert(name.clone()) {
                let node = Node::Job(asset, job.name.as_str().into(), part);
                rows.push(Row::new(name, node));
            }
        }
        rows.extend(texts.into_iter().map(|name| {
            let node = Node::Job(asset, name.into(), JobPart::Text);
            Row::new(name, node)
        }));
        self.without_hidden(&mut rows, Place::Model(self.home_of(asset)));
        rows
    }

    async fn rapid_link_rows(self: &Arc<Self>, asset: AssetId) -> DriveResult<Vec<Row>> {
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

    async fn rapid_rows(self: &Arc<Self>, rapid: RapidId) -> DriveResult<Vec<Row>> {
        let row = self.known_rapid(rapid).await?;
        let mut rows = Vec::new();
        if row.state.is_final() {
            let folder = RemoteFolder::RapidFiles(rapid);
            let map = self.file_map(folder).await?;
            rows = map_rows(folder, &map, "", |path| self.contents.count(folder, path));
        }
        let mut taken: HashSet<String> = rows.iter().map(|row| row.name.clone()).collect();
        let renders = RemoteFolder::RapidRenders(rapid);
        let has_renders = self.known_map(renders).is_some_and(|map| !map.is_empty());
        let folders = [
            (row.state.is_final(), RemoteFolder::RapidAnalysis(rapid)),
            (has_renders, renders),
        ];
        for (_, folder) in folders.into_iter().filter(|(is_there, _)| *is_there) {
            let name = free_name(folder.name().unwrap_or_default(), &taken);
            taken.insert(name.clone());
            rows.push(Row::new(name, Node::RemoteFolder(folder)));
        }
        let place = ErrorPlace::Rapid(rapid);
        if self.error_text(place).is_some() {
            rows.push(Row::new(
                free_name(ERROR_FILE, &taken),
                Node::ErrorText(place),
            ));
        }
        self.without_hidden(&mut rows, Place::Rapid(rapid));
        Ok(rows)
    }
}

/// The rows of a hidden folder. They are the same whether or not its place is still there.
pub(in crate::drive) fn hidden_rows(place: Place) -> Vec<Row> {
    let mut rows: Vec<Row> = HiddenFile::of(place)
        .iter()
        .map(|file| Row::new(file.name(), Node::HiddenFile(place, *file)))
        .collect();
    match place {
        Place::Top(Top::RawModels) => rows.push(Row::new("by-id", Node::ById(Family::Raw))),
        Place::Top(Top::RapidModels) => rows.push(Row::new("by-id", Node::ById(Family::Rapid))),
        Place::Rapid(rapid) => rows.push(Row::new("source", Node::SourceLink(rapid))),
        Place::Root | Place::Top(_) | Place::Model(_) => {}
    }
    rows
}

/// The rows of one folder of a file map.
pub(in crate::drive) fn map_rows(
    folder: RemoteFolder,
    map: &FileMap,
    path: &str,
    count: impl Fn(&str) -> u32,
) -> Vec<Row> {
    let node = |arranged: Arranged| match arranged {
        Arranged::File(path) => {
            let contents = count(&path);
            Node::RemoteFile(folder, path, contents)
        }
        Arranged::Folder(path) => Node::RemoteSubfolder(folder, path),
    };
    map.rows(path)
        .into_iter()
        .map(|(name, arranged)| Row::new(name, node(arranged)))
        .collect()
}

/// The drop folder of an asset, in the outbox's words.
pub(in crate::drive) fn optimize_folder(asset: AssetId) -> JobFolder {
    JobFolder::Optimize(OwnerFolder::Asset(asset))
}

/// The node of a preset: its text is part of it.
pub(in crate::drive) fn preset_node(preset: &KnownPreset) -> Node {
    Node::Preset(PresetId(preset.id.0), preset.text_checksum())
}

/// The node of a factory preset.
pub(in crate::drive) fn factory_node(preset: &KnownPreset) -> Node {
    Node::FactoryPreset(PresetId(preset.id.0), preset.text_checksum())
}

/// What was never sent went with the staged copy, and so did a folder that held nothing else.
fn is_still_there(entries: &[SentEntry], entry: &SentEntry) -> bool {
    if entry.kind == EntryKind::File {
        return entry.sent_as.is_some();
    }
    let within = format!("{}/", entry.path);
    let is_file_within =
        |other: &&SentEntry| other.kind == EntryKind::File && other.path.starts_with(&within);
    let mut files = entries.iter().filter(is_file_within).peekable();
    files.peek().is_none() || files.any(|file| file.sent_as.is_some())
}

/// What a job shows beside its text.
pub(in crate::drive) fn shown_parts(job: &JobInfo) -> impl Iterator<Item = (&JobInfo, JobPart)> {
    let result = matches!(job.state, JobState::Done).then_some(JobPart::Result);
    let status = (job.state != JobState::Editing).then_some(JobPart::Status);
    result
        .into_iter()
        .chain(status)
        .map(move |part| (job, part))
}

/// Your files win: what the service adds gives way.
fn free_name(name: &str, taken: &HashSet<String>) -> String {
    let mut name = name.to_owned();
    while taken.contains(&name) {
        name.push('@');
    }
    name
}

fn has_files(view: &ModelView) -> bool {
    view.known
        .as_ref()
        .is_none_or(|known| known.state != UploadStatus::Incomplete)
}
