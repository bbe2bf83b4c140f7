//! One entry of a draft's tree: a file or a folder.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::outbox::drafts::info::{AttributeChange, EntryKind};
use crate::outbox::ids::{Caller, EntryId, Maker};
use crate::outbox::journal::forms::Blob;
use crate::outbox::moment::Moment;
use crate::outbox::staging::{ContentHash, ContentId};

/// The bit of a folder's mode by which it gives its group to new entries.
const SET_GROUP_ID: u32 = 0o2000;

/// The attributes of an entry that `stat` shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attributes {
    pub mode: u32,
    /// The owner, once it is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// The group, once it is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gid: Option<u32>,
    pub mtime: Moment,
    /// Change time.
    pub ctime: Moment,
}

impl Attributes {
    /// The attributes of a new entry.
    pub fn new(mode: u32, now: Moment) -> Attributes {
        Attributes {
            mode: mode & 0o7777,
            uid: None,
            gid: None,
            mtime: now,
            ctime: now,
        }
    }

    /// What was made by a user other than the owner of the drive belongs to that user.
    pub fn made_by(mode: u32, caller: &Caller, owner: Option<u32>, now: Moment) -> Attributes {
        let maker = Maker::of(caller, owner);
        Attributes {
            uid: maker.map(|maker| maker.uid),
            gid: maker.map(|maker| maker.gid),
            ..Attributes::new(mode, now)
        }
    }

    /// These attributes of a new entry in a folder: a folder with the set-group-ID bit gives its group to what is made in
    /// it, and the bit to folders.
    pub fn made_in(self, folder: &Attributes, kind: EntryKind) -> Attributes {
        if folder.mode & SET_GROUP_ID == 0 {
            return self;
        }
        let inherited = match kind {
            EntryKind::Folder => SET_GROUP_ID,
            EntryKind::File => 0,
        };
        Attributes {
            mode: self.mode | inherited,
            gid: folder.gid,
            ..self
        }
    }

    /// These attributes after a change.
    pub fn changed(self, change: &AttributeChange, now: Moment) -> Attributes {
        Attributes {
            mode: change.mode.map_or(self.mode, |mode| mode & 0o7777),
            uid: change.uid.or(self.uid),
            gid: change.gid.or(self.gid),
            mtime: change.mtime.map_or(self.mtime, Moment::from),
            ctime: now,
        }
    }
}

/// How far the bytes of a file can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileState {
    /// Never flushed: its writer did not finish.
    Unflushed,
    /// Size and hash are those of the last flush.
    Flushed,
    /// A write failed, and the file was not written again since.
    WriteFailed,
}

/// The content of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileBody {
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

/// The content of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeBody {
    File(FileBody),
    /// A folder: entries by name.
    Folder(BTreeMap<String, EntryId>),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// The root is its own parent.
    pub parent: EntryId,
    /// Empty for the root.
    pub name: String,
    pub attributes: Attributes,
    /// Extended attributes.
    pub xattrs: BTreeMap<String, Blob>,
    pub body: NodeBody,
}

impl Node {
    pub fn kind(&self) -> EntryKind {
        match self.body {
            NodeBody::File(_) => EntryKind::File,
            NodeBody::Folder(_) => EntryKind::Folder,
        }
    }

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
