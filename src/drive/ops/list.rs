//! Listing folders. A folder that is open shows the rows of the moment it was opened, so that
//! positions stay true while `rm -r` removes what it has read.

use std::sync::Arc;

use super::rows::Row;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::handles::OpenFolder;
use crate::drive::shared::Shared;
use crate::drive::tree::node::{Home, Node, RemoteFolder};
use crate::drive::types::{DirEntry, Fh, FileKind, Ino};

/// Rows given out at a time.
const ROWS_AT_ONCE: usize = 1024;

impl Shared {
    /// Opens a folder.
    pub(in crate::drive) async fn open_dir(self: &Arc<Self>, ino: Ino) -> DriveResult<Fh> {
        let node = self.node(ino)?;
        self.look(&node);
        self.learn_folders(&node).await;
        let rows = self.rows(&node).await?;
        if let Some(folder) = self.remote_folder_of(&node) {
            self.watched.list(folder);
        }
        let rows = self.numbered(ino, rows);
        Ok(self.handles.insert_folder(OpenFolder { rows }))
    }

    /// The next rows of an open folder.
    pub(in crate::drive) fn read_dir(&self, fh: Fh, offset: u64) -> DriveResult<Vec<DirEntry>> {
        let folder = self.handles.folder(fh)?;
        let from = usize::try_from(offset)
            .map_err(|_| DriveError::Invalid("no such position in the folder".into()))?;
        Ok(folder
            .rows
            .iter()
            .skip(from)
            .take(ROWS_AT_ONCE)
            .cloned()
            .collect())
    }

    /// The rows with their numbers, after the two that every folder has.
    fn numbered(&self, folder: Ino, rows: Vec<Row>) -> Vec<DirEntry> {
        let inodes = self.inodes();
        let dots = [".", ".."].map(|name| (name.to_owned(), folder, FileKind::Folder));
        let rows = rows
            .into_iter()
            .map(|row| (row.name, inodes.number(&row.node), row.kind));
        dots.into_iter()
            .chain(rows)
            .zip(1u64..)
            .map(|((name, ino, kind), offset)| DirEntry {
                ino,
                name: name.into(),
                kind,
                offset,
            })
            .collect()
    }

    /// The folder of the service whose files a folder shows.
    fn remote_folder_of(&self, node: &Node) -> Option<RemoteFolder> {
        match node {
            Node::RemoteFolder(folder) | Node::RemoteSubfolder(folder, _) => Some(*folder),
            Node::Model(Home::Found(asset)) => Some(RemoteFolder::AssetFiles(*asset)),
            Node::Rapid(rapid) => Some(RemoteFolder::RapidFiles(*rapid)),
            _ => None,
        }
    }
}
