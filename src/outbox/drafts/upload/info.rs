//! Uploads as callers see them: transfers, drains and orphans.

use std::time::{Duration, SystemTime};

use crate::outbox::ids::DraftId;
use crate::wire::AssetId;

/// A running upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferInfo {
    pub draft: DraftId,
    pub name: String,
    /// Bytes sent so far.
    pub sent: u64,
    pub total: u64,
    /// Files sent completely.
    pub files_sent: usize,
    pub files: usize,
    /// Files that are being sent now.
    pub current: Vec<FileTransfer>,
    pub bytes_per_second: Option<u64>,
    /// The remaining time at that speed.
    pub time_left: Option<Duration>,
}

/// One file of a running upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileTransfer {
    /// Its name in the asset.
    pub name: String,
    pub sent: u64,
    pub total: u64,
}

/// An incomplete asset that an upload from here may have left, because its start reply was lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orphan {
    pub id: AssetId,
    pub name: String,
    pub created: Option<SystemTime>,
}

/// The result of a drain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DrainReport {
    /// Drafts that the service has accepted.
    pub accepted: Vec<(DraftId, AssetId)>,
    /// Drafts that were not sent, each with the reason.
    pub left: Vec<(DraftId, String)>,
}
