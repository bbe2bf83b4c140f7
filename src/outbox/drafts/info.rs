//! Drafts and their entries as callers see them. Plain values.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::outbox::ids::{DraftId, EntryId};
use crate::outbox::status::ItemStatus;
use crate::wire::AssetId;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A regular file with staged bytes.
    File,
    Folder,
}

/// An entry of a draft. `uid` and `gid` are `None` until they are set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryInfo {
    pub id: EntryId,
    /// Its parent folder; the root is its own parent.
    pub parent: EntryId,
    /// For the root, the draft's name.
    pub name: String,
    pub kind: EntryKind,
    /// Bytes written so far.
    pub size: u64,
    pub mode: u32,
    pub uid: Option<u32>,
    pub gid: Option<u32>,
    /// Time of the last change of the content, or the time that was set.
    pub mtime: SystemTime,
    /// Time of the last change of anything.
    pub ctime: SystemTime,
    /// Number of folders directly in it.
    pub subfolders: u32,
}

/// The attributes to change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AttributeChange {
    pub mode: Option<u32>,
    pub uid: Option<u32>,
    pub gid: Option<u32>,
    /// New length of a file.
    pub size: Option<u64>,
    pub mtime: Option<SystemTime>,
}

/// How a staged file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// Reading only: does not count as a writer and wakes no task.
    Read,
    /// Writing, with or without reading.
    Write,
    /// Writing, after truncating the file.
    Truncate,
}

/// A name in `rawmodels/` or in a folder of a draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    Top(String),
    /// A name in a folder of a draft.
    In {
        draft: DraftId,
        /// The folder in it.
        parent: EntryId,
        name: String,
    },
}

/// The new place of something that was renamed. Entries below it keep their ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Renamed {
    pub draft: DraftId,
    /// `ROOT` if it became a draft of its own.
    pub entry: EntryId,
}

/// What kind of copy a draft is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DraftKind {
    /// A folder that becomes an asset.
    Folder,
    /// A loose file: its root contains exactly one file, with the draft's name.
    LooseFile,
}

/// The state of a draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DraftPhase {
    /// It may change; nothing of it was sent.
    Editing,
    /// Its files are being sent. A change ends the upload.
    Uploading { percent: u8 },
    /// The service has accepted it and imports it; it cannot change any more.
    Accepted,
    /// The service has imported it; the outbox checks that the service has what was sent.
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

/// A draft. It exists until its staged copy is deleted; then a [`SentRecord`] remains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftInfo {
    pub id: DraftId,
    /// Its name at the top.
    pub name: String,
    pub kind: DraftKind,
    pub phase: DraftPhase,
    pub status: ItemStatus,
    /// All missing files that the model refers to, and when the draft is sent, as a sentence.
    pub missing_files: Option<String>,
    /// The asset it became, once the service has accepted it.
    pub asset: Option<AssetId>,
    /// What the upload was sent without.
    pub warning: Option<String>,
    /// Why the staged copy of a complete model is kept: the difference to the files of the service.
    pub comparison: Option<String>,
    /// The last failure, as a sentence: what, why, what to do.
    pub failure: Option<String>,
    /// True if it goes on only when the user does something: it failed, the account or the local disk has no room, or
    /// the service refuses the token.
    pub is_stuck: bool,
    /// Why the service did not answer the last request.
    pub no_answer: Option<String>,
    /// The asset that it is a new version of, until it has taken the name.
    pub replaces: Option<Replaced>,
    pub size: u64,
    /// When it was made.
    pub created: SystemTime,
}

/// The asset that a new version replaces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replaced {
    pub asset: AssetId,
    /// The first of the versions, if `asset` is a new version itself: it links the others when `asset` is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_version: Option<AssetId>,
    /// Its name in `rawmodels/`, which the new version takes.
    pub name: String,
    /// Its name on the service, which the new version is given.
    pub model_name: String,
    /// Delete it once the new version is complete.
    #[serde(default)]
    pub remove_old: bool,
}
