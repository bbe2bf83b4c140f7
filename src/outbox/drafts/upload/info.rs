//! What uploads look like from outside: transfers, drains and orphans.

use std::time::{Duration, SystemTime};

use crate::outbox::ids::DraftId;
use crate::wire::AssetId;

/// One upload under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferInfo {
    /// The draft that is sent.
    pub draft: DraftId,
    pub name: String,
    /// Bytes the service has taken so far.
    pub sent: u64,
    /// All bytes.
    pub total: u64,
    /// Files sent completely.
    pub files_sent: usize,
    /// All files.
    pub files: usize,
    /// Files on their way at this moment.
    pub current: Vec<FileTransfer>,
    /// Its speed, once it is known.
    pub bytes_per_second: Option<u64>,
    /// How long the rest will take at that speed.
    pub time_left: Option<Duration>,
}

/// One file of an upload under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileTransfer {
    /// Its name in the asset.
    pub name: String,
    /// Bytes of it that have gone out.
    pub sent: u64,
    /// All of them.
    pub total: u64,
}

/// An incomplete asset that an upload of ours may have left: its `start` reply was lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orphan {
    /// The asset on the service.
    pub id: AssetId,
    pub name: String,
    /// When the service says it was made.
    pub created: Option<SystemTime>,
}

/// What a drain left behind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DrainReport {
    /// Drafts that the service accepted meanwhile.
    pub accepted: Vec<(DraftId, AssetId)>,
    /// Drafts that stay, each with the reason.
    pub left: Vec<(DraftId, String)>,
}
