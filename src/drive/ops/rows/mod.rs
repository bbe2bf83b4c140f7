//! What each folder holds: rows of name, thing and kind. Listing a folder shows them, looking a name
//! up searches them; both see the same rules: the user's files win over service folders, what is
//! hidden by a deletion under way is not there.

mod drop;
mod hidden;
mod model;
mod rapid;
mod top;

pub(in crate::drive) use drop::{job_folder, shown_parts};
pub(in crate::drive) use top::{factory_node, preset_node};

use std::collections::HashSet;
use std::sync::Arc;

use crate::drive::error::{DriveError, DriveResult};
use crate::drive::shared::Shared;
use crate::drive::tree::filemap::{Arranged, FileMap};
use crate::drive::tree::node::{Node, Place, RemoteFolder, Subject, Top};
use crate::drive::types::FileKind;
use crate::outbox::{DraftId, EntryInfo, EntryKind};

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
            Node::Hidden(place) => self.rows_of_hidden(*place).await,
            Node::ById(family) => self.by_id_rows(*family).await,
            // Every name resolves in it, so none is listed.
            Node::Search(_) => Ok(Vec::new()),
            Node::Found(family, query) => self.found_rows(*family, query).await,
            Node::Bundles(bundle) => self.bundle_rows(*bundle).await,
            Node::Model(home) => self.model_rows(*home).await,
            Node::Entry(draft, entry) => self.entry_rows(*draft, *entry),
            Node::RemoteFolder(folder) => self.remote_rows(*folder, "").await,
            Node::RemoteSubfolder(folder, path) => self.remote_rows(*folder, path).await,
            Node::Drop(folder) => Ok(self.drop_rows(*folder)),
            Node::RapidLinks(asset) => self.rapid_link_rows(*asset).await,
            Node::Rapid(rapid) => self.rapid_rows(*rapid).await,
            _ => Err(DriveError::NotAFolder),
        }
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
        self.without_hidden(&mut rows, self.place_of(folder.subject()));
        Ok(rows)
    }

    /// The model that something of the service belongs to.
    pub(in crate::drive) fn place_of(&self, subject: Subject) -> Place {
        match subject {
            Subject::Asset(asset) => Place::Model(self.home_of(asset)),
            Subject::Rapid(rapid) => Place::Rapid(rapid),
        }
    }
}

/// The rows of one folder of a file map.
fn map_rows(
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

/// Your files win: what the service adds gives way.
fn free_name(name: &str, taken: &HashSet<String>) -> String {
    let mut name = name.to_owned();
    while taken.contains(&name) {
        name.push('@');
    }
    name
}
