//! What `/.assetfs/status.json` says about the mount. Read by the commands, so its fields are
//! added to, never renamed. No secret and no signed URL is ever in it.

use serde::{Deserialize, Serialize};

use crate::cache::DiskShortage;
use crate::outbox::StatusWord;

/// The state of a mount at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MountStatus {
    /// Process that serves the mount.
    pub pid: u32,
    /// Version of assetfs that serves it.
    pub version: String,
    /// Origin and owner of the account.
    pub account: String,
    /// False while the service cannot be reached.
    pub online: bool,
    /// The last failure to reach the service, while it lasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offline_because: Option<String>,
    /// True when nothing can be written through it.
    #[serde(default)]
    pub read_only: bool,
    /// Models on their way in.
    pub drafts: Vec<DraftStatus>,
    /// Files that move at this moment.
    pub transfers: Vec<TransferStatus>,
    /// Jobs of the drop folders that are not done.
    pub jobs: Vec<JobStatusLine>,
    /// Uploads that began on the service without an answer.
    pub orphans: Vec<OrphanStatus>,
    /// Files that the journal did not know of; `assetfs recover` takes them back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recovered: Vec<RecoveredStatus>,
    /// The block cache.
    pub cache: CacheStatus,
    /// The request budget.
    pub rate: RateStatus,
    /// Bytes that moved since the mount.
    #[serde(default)]
    pub traffic: TrafficStatus,
    /// What failed lately, newest first.
    pub failures: Vec<FailureLine>,
    /// Inodes held.
    pub inodes: u64,
    /// Open files and folders.
    pub handles: u64,
}

/// A folder of files that the journal did not know of.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RecoveredStatus {
    /// Its path on the local disk.
    pub folder: String,
    /// Why it was made.
    pub reason: String,
    /// How many files are in it.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Bytes that moved since the mount.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrafficStatus {
    /// Of files, from the service.
    pub fetched_bytes: u64,
    /// Read through the drive, but for what the kernel serves by itself.
    pub read_bytes: u64,
    /// Written through the drive.
    pub written_bytes: u64,
}

/// One draft.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DraftStatus {
    /// Path from the top of the drive.
    pub path: String,
    #[serde(default)]
    pub state: StatusWord,
    /// How much of the present step is done, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<u8>,
    /// One line for people: what it does or waits for.
    pub status: String,
    /// The asset it became, once the service has told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asset: Option<u64>,
    /// Bytes that have reached the service.
    pub sent_bytes: u64,
    /// Bytes in all.
    pub total_bytes: u64,
    /// True when nothing goes on without help.
    pub stuck: bool,
}

/// Which way a file moves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// To the service.
    #[default]
    Up,
    /// From the service.
    Down,
}

/// One file under way.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TransferStatus {
    /// Path from the top of the drive.
    pub path: String,
    #[serde(default)]
    pub direction: Direction,
    /// Bytes moved.
    pub done_bytes: u64,
    /// Bytes in all.
    pub total_bytes: u64,
    /// Files moved.
    #[serde(default)]
    pub done_files: usize,
    /// Files in all.
    #[serde(default)]
    pub total_files: usize,
    /// How fast it is, as soon as that can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_second: Option<u64>,
    /// How long the rest will take at that speed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds_left: Option<u64>,
    /// The files on their way at this moment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileTransferStatus>,
}

/// One file of a transfer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FileTransferStatus {
    /// Its name in the model.
    pub name: String,
    /// Bytes moved.
    pub done_bytes: u64,
    /// Bytes in all.
    pub total_bytes: u64,
}

/// One job of a drop folder.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct JobStatusLine {
    /// Path of the job's text.
    pub path: String,
    #[serde(default)]
    pub state: StatusWord,
    /// How much of it is done, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<u8>,
    /// The line of its `.status` file.
    pub status: String,
}

/// One upload whose start was never answered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OrphanStatus {
    /// The asset's id, where it could be found.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// When it was seen first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

/// The block cache.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CacheStatus {
    /// Bytes held.
    pub used_bytes: u64,
    /// Bytes allowed.
    pub limit_bytes: u64,
    /// Objects of which it holds something.
    pub objects: u64,
    /// Reads that it served, since the mount.
    #[serde(default)]
    pub hits: u64,
    /// Reads that lacked a block.
    #[serde(default)]
    pub misses: u64,
    /// Objects, or parts of open ones, that had to go.
    #[serde(default)]
    pub evictions: u64,
    /// Times that there was no room for what was read.
    #[serde(default)]
    pub refused: u64,
    /// Blocks that were found damaged, and fetched again.
    #[serde(default)]
    pub bad_blocks: u64,
    /// Pinned and open files left no room for what was to be kept last.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_taken_up: bool,
    /// Its disk is too full for anything new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_shortage: Option<DiskShortage>,
    /// Paths that are kept whatever happens.
    #[serde(default)]
    pub pins: Vec<String>,
    /// The verification that was asked for last.
    #[serde(default)]
    pub verify: VerifyStatus,
}

/// A comparison of the cache with its checksums.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct VerifyStatus {
    /// One is under way.
    pub running: bool,
    /// How many have ended since the mount; the rest tells of the last.
    pub done: u64,
    /// Objects looked at.
    pub objects: u64,
    /// Blocks looked at.
    pub blocks: u64,
    /// Blocks that were damaged, and are gone now.
    pub bad_blocks: u64,
}

/// The request budget.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RateStatus {
    /// Requests allowed a minute.
    pub limit_per_minute: u64,
    /// Requests that could go out right now.
    pub available: u64,
    /// Requests that wait for their place.
    pub waiting: u64,
    /// Requests that went out since the mount.
    #[serde(default)]
    pub taken: u64,
    /// Seconds for which nothing goes out, because the service asked for it.
    #[serde(default)]
    pub paused_secs: u64,
}

/// One failure, as `assetfs why` prints it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FailureLine {
    /// Path from the top of the drive.
    pub path: String,
    /// What, why, what to do.
    pub why: String,
    /// When it failed, in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}
