//! What was copied in to make an asset, as the journal keeps it.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::outbox::drafts::info::{DraftKind, EntryKind};
use crate::outbox::ids::{DraftId, EntryId};
use crate::wire::AssetId;

/// One file or folder of what was copied in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentEntry {
    /// The number it had in the draft.
    pub id: EntryId,
    /// Its path from the draft's folder, with `/` between names.
    pub path: String,
    /// File or folder.
    pub kind: EntryKind,
    pub size: u64,
    pub mode: u32,
    /// Owner to show.
    pub uid: Option<u32>,
    /// Group to show.
    pub gid: Option<u32>,
    /// Modification time as it was set.
    #[serde(with = "crate::outbox::moment::as_moment")]
    pub mtime: SystemTime,
    /// Checksum of the staged bytes (XXH3, 128 bits, hex).
    pub hash: Option<String>,
    /// The name under which the service has it; `None` for what was kept back.
    pub sent_as: Option<String>,
}

/// The tree that was copied in; kept for as long as the asset exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentRecord {
    /// The asset it became.
    pub asset: AssetId,
    /// The draft it was.
    pub draft: DraftId,
    /// The draft's name at the top (for a loose file with its extension).
    pub name: String,
    pub kind: DraftKind,
    /// The name of the zip it was sent as, if it was.
    pub zip_name: Option<String>,
    /// When the draft was made.
    #[serde(with = "crate::outbox::moment::as_moment")]
    pub created: SystemTime,
    /// Permission bits of the draft's folder.
    pub mode: u32,
    /// Modification time of the draft's folder.
    #[serde(with = "crate::outbox::moment::as_moment")]
    pub mtime: SystemTime,
    /// Everything in it, folders before what they hold.
    pub entries: Vec<SentEntry>,
}
