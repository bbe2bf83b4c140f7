//! What drafts and their entries look like from outside. Plain values; nothing here knows inodes or paths of the tree.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::outbox::ids::{DraftId, EntryId};
use crate::outbox::status::ItemStatus;
use crate::wire::AssetId;

/// File or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A regular file with staged bytes.
    File,
    /// A folder.
    Folder,
}

/// What an entry of a draft shows. `uid`, `gid` are `None` until someone sets them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryInfo {
    /// The entry's number.
    pub id: EntryId,
    /// The folder it is in; the root is its own parent.
    pub parent: EntryId,
    /// Its name; for the root the draft's name.
    pub name: String,
    /// File or folder.
    pub kind: EntryKind,
    /// Bytes written so far.
    pub size: u64,
    pub mode: u32,
    /// Owner to show.
    pub uid: Option<u32>,
    /// Group to show.
    pub gid: Option<u32>,
    /// Time of the last change of content, or what was set.
    pub mtime: SystemTime,
    /// Time of the last change of anything.
    pub ctime: SystemTime,
    /// Number of folders directly in it.
    pub subfolders: u32,
}

/// What `set_attributes` changes; what is `None` stays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AttributeChange {
    pub mode: Option<u32>,
    /// Owner to show.
    pub uid: Option<u32>,
    /// Group to show.
    pub gid: Option<u32>,
    /// New length of a file.
    pub size: Option<u64>,
    pub mtime: Option<SystemTime>,
}

/// What a staged file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// Reading alone: does not count as a writer and wakes nothing.
    Read,
    /// Writing, with or without reading.
    Write,
    /// Writing, after cutting the file to nothing.
    Truncate,
}

/// A name somewhere: at the top (a draft) or in a folder of a draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A draft's own name.
    Top(String),
    /// A name in a folder of a draft.
    In {
        draft: DraftId,
        /// The folder in it.
        parent: EntryId,
        /// The name in that folder.
        name: String,
    },
}

/// Where a renamed thing is now. Entries below it keep their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Renamed {
    /// The draft it is in.
    pub draft: DraftId,
    /// Its number there; `ROOT` when it became a draft of its own.
    pub entry: EntryId,
}

/// What kind of copy a draft is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DraftKind {
    /// A folder that becomes an asset.
    Folder,
    /// One file beside the folders: its root holds exactly one file, of the draft's name.
    LooseFile,
}

/// How far a draft is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DraftPhase {
    /// It may change; nothing of it has left.
    Editing,
    /// Its files are on their way. A change sends it back to editing.
    Uploading {
        /// Bytes sent of all bytes.
        percent: u8,
    },
    /// The service has it and works on it; nothing can change any more.
    Accepted,
    /// The service is done, and it is checked that it holds what was sent.
    Complete,
    /// The service could not import it; the staged copy is kept.
    ImportFailed,
}

impl DraftPhase {
    /// True once the service has accepted the upload: no file can be added or changed.
    pub fn is_frozen(&self) -> bool {
        matches!(
            self,
            DraftPhase::Accepted | DraftPhase::Complete | DraftPhase::ImportFailed
        )
    }
}

/// What a draft shows. It exists until its staged copy is dropped; then a [`SentRecord`] stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftInfo {
    pub id: DraftId,
    /// Its name at the top.
    pub name: String,
    pub kind: DraftKind,
    /// How far it is.
    pub phase: DraftPhase,
    pub status: ItemStatus,
    /// Every file that the model names and that is not there, and when it goes, as a sentence.
    pub lacking: Option<String>,
    /// The asset it became, once the service has accepted it.
    pub asset: Option<AssetId>,
    /// Something that did not stop it but that its owner should know.
    pub warning: Option<String>,
    /// The last failure, as a sentence: what, why, what to do.
    pub failure: Option<String>,
    /// Why the service gave no answer to the last attempt to send it.
    pub no_answer: Option<String>,
    /// Bytes staged.
    pub size: u64,
    /// When it was made.
    pub created: SystemTime,
}
