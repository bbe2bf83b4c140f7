//! One entry of a draft's tree: a file with its staged bytes, or a folder with its children.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::outbox::drafts::info::EntryKind;
use crate::outbox::ids::EntryId;
use crate::outbox::journal::forms::Blob;
use crate::outbox::moment::Moment;
use crate::outbox::staging::{ContentHash, ContentId};

/// What `stat` shows of an entry, as it was set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attributes {
    pub mode: u32,
    /// Owner to show, once set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// Group to show, once set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gid: Option<u32>,
    pub mtime: Moment,
    /// Change time.
    pub ctime: Moment,
}

impl Attributes {
    /// Attributes of something made now.
    pub fn new(mode: u32, now: Moment) -> Attributes {
        Attributes {
            mode: mode & 0o7777,
            uid: None,
            gid: None,
            mtime: now,
            ctime: now,
        }
    }
}

/// How far the bytes of a file can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileState {
    /// Made, and never flushed: its writer did not finish.
    Unflushed,
    /// Size and hash are those of the last flush.
    Flushed,
    /// A write failed and nobody has started over.
    WriteFailed,
}

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileBody {
    /// The staged bytes.
    pub content: ContentId,
    /// Length at the last flush.
    pub size: u64,
    /// Checksum at the last flush.
    pub hash: Option<ContentHash>,
    /// How far the bytes can be trusted.
    pub state: FileState,
}

impl FileBody {
    /// An empty file that was never flushed.
    pub fn new(content: ContentId) -> FileBody {
        FileBody {
            content,
            size: 0,
            hash: None,
            state: FileState::Unflushed,
        }
    }
}

/// A file or a folder with what it holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeBody {
    /// A file.
    File(FileBody),
    /// A folder: entries by name.
    Folder(BTreeMap<String, EntryId>),
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// The folder it is in; the root is its own parent.
    pub parent: EntryId,
    /// Its name there; empty for the root.
    pub name: String,
    /// What `stat` shows.
    pub attributes: Attributes,
    /// Extended attributes as set.
    pub xattrs: BTreeMap<String, Blob>,
    /// File or folder.
    pub body: NodeBody,
}

impl Node {
    /// File or folder.
    pub fn kind(&self) -> EntryKind {
        match self.body {
            NodeBody::File(_) => EntryKind::File,
            NodeBody::Folder(_) => EntryKind::Folder,
        }
    }

    /// The file's body, if it is one.
    pub fn file(&self) -> Option<&FileBody> {
        match &self.body {
            NodeBody::File(file) => Some(file),
            NodeBody::Folder(_) => None,
        }
    }

    /// The folder's children, if it is one.
    pub fn folder(&self) -> Option<&BTreeMap<String, EntryId>> {
        match &self.body {
            NodeBody::File(_) => None,
            NodeBody::Folder(children) => Some(children),
        }
    }
}
