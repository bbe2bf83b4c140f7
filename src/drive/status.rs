//! The contents of `/.assetfs/status.json`. Commands read it, so fields are added, never renamed. It contains
//! no secret and no signed URL.

use serde::{Deserialize, Serialize};

use super::history::HistoryCounts;
use crate::cache::{DiskShortage, SharedCacheStats};
use crate::outbox::StatusWord;

/// The state of a mount at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MountStatus {
    /// The number of its form; 0 of a drive of an earlier version.
    #[serde(default)]
    pub schema: u32,
    /// Id of the process that serves the mount.
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
    /// Drafts that are not uploaded yet.
    pub drafts: Vec<DraftStatus>,
    /// Running transfers.
    pub transfers: Vec<TransferStatus>,
    /// Jobs in drop folders that are not done.
    pub jobs: Vec<JobStatusLine>,
    /// Uploads whose start the service never answered, and those that were given up and are not deleted yet.
    pub orphans: Vec<OrphanStatus>,
    /// Files that the journal did not name; `assetfs recover` restores them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recovered: Vec<RecoveredStatus>,
    /// State folders of other accounts, or of this one under another address, with drafts that no mount sends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsent_elsewhere: Vec<String>,
    /// The block cache.
    pub cache: CacheStatus,
    /// The shared cache below it, if the mount has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_cache: Option<SharedCacheStats>,
    /// The request budget.
    pub rate: RateStatus,
    /// Bytes transferred since the mount started.
    #[serde(default)]
    pub traffic: TrafficStatus,
    /// The account's folder of drafts, journals and the event log.
    #[serde(default)]
    pub state_dir: String,
    /// Numbers of uploads, failures and deletions since the mount started.
    #[serde(default)]
    pub history: HistoryCounts,
    /// The number of stale results, counted from what is known without a request.
    #[serde(default)]
    pub stale_results: u64,
    /// The number of models whose import failed and that were not copied in through this drive, as far as it knows.
    #[serde(default)]
    pub failed_elsewhere: u64,
    /// Recent failures, newest first.
    pub failures: Vec<FailureLine>,
    /// What was refused lately because it cannot be done: commands, texts, names. Newest first.
    #[serde(default)]
    pub refused: Vec<FailureLine>,
    /// Inodes that the kernel holds.
    pub inodes: u64,
    /// Open files and folders.
    pub handles: u64,
    /// Folders that programs watch by inotify and that changes are reported for.
    #[serde(default)]
    pub inotify_folders: u64,
    /// Nothing on the service may be deleted.
    #[serde(default)]
    pub no_delete: bool,
    /// How many models may be deleted now without a confirmation; `None` while `allow-delete` lifts the limit.
    pub deletions_left: Option<usize>,
}

impl MountStatus {
    /// How many models may be deleted now without a confirmation, if they are fewer than `count`.
    pub fn fewer_deletions_than(&self, count: usize) -> Option<usize> {
        self.deletions_left.filter(|left| *left < count)
    }

    /// The drafts that are being uploaded, without those that need the user's help.
    pub fn uploading(&self) -> impl Iterator<Item = &DraftStatus> {
        let is_sent = |draft: &&DraftStatus| draft.state == StatusWord::Uploading && !draft.stuck;
        self.drafts.iter().filter(is_sent)
    }

    /// The failures that no draft and no job shows already.
    pub fn other_failures(&self) -> impl Iterator<Item = &FailureLine> {
        self.not_shown(&self.failures, self.drafts.iter())
    }

    /// What was refused, without what a job or a failed model shows already. What a draft waits for is another matter: it
    /// says nothing of the command that was refused.
    pub fn other_refusals(&self) -> impl Iterator<Item = &FailureLine> {
        let drafts = self.drafts.iter();
        let failed = drafts.filter(|draft| draft.state == StatusWord::Failed);
        self.not_shown(&self.refused, failed)
    }

    fn not_shown<'a>(
        &'a self,
        lines: &'a [FailureLine],
        drafts: impl Iterator<Item = &'a DraftStatus>,
    ) -> impl Iterator<Item = &'a FailureLine> {
        let drafts = drafts.map(|draft| (&draft.path, &draft.status));
        let jobs = self.jobs.iter().map(|job| (&job.path, &job.status));
        let shown: Vec<_> = drafts.chain(jobs).collect();
        let is_shown = move |line: &FailureLine| {
            let mut shown = shown.iter();
            shown.any(|(path, status)| **path == line.path && status.contains(&line.why))
        };
        lines.iter().filter(move |line| !is_shown(line))
    }

    /// How much of these is uploaded.
    pub fn percent_uploaded(&self) -> u64 {
        let (sent, total) = self.uploading().fold((0, 0), |(sent, total), draft| {
            (sent + draft.sent_bytes, total + draft.total_bytes)
        });
        (sent * 100).checked_div(total).unwrap_or(0)
    }
}

/// A folder with files that the journal did not name.
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

/// Bytes transferred since the mount started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrafficStatus {
    /// Downloaded from the service.
    pub fetched_bytes: u64,
    /// Read through the drive, without what the kernel serves itself.
    pub read_bytes: u64,
    /// Written through the drive.
    pub written_bytes: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DraftStatus {
    /// Path from the top of the drive.
    pub path: String,
    #[serde(default)]
    pub state: StatusWord,
    /// Progress of the current step, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<u8>,
    /// One line for people: what it does or waits for.
    pub status: String,
    /// The id of its asset, once known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asset: Option<u64>,
    /// The path of the model that it is a new version of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
    /// True if that model is deleted once this one is complete.
    #[serde(default)]
    pub removes_old: bool,
    /// Bytes uploaded.
    pub sent_bytes: u64,
    /// Bytes in all.
    pub total_bytes: u64,
    /// True if it goes on only when the user does something: it failed, the account or the local disk has no room, or
    /// the service refuses the token. An outage of the service passes by itself.
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

/// One transfer.
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
    /// Bytes per second, once known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_second: Option<u64>,
    /// Estimated seconds for the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds_left: Option<u64>,
    /// The files being transferred now.
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
    /// Progress of the transfer, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<u8>,
    /// About how long it still takes, if earlier jobs tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds_left: Option<u64>,
    /// The line of its `.status` file.
    pub status: String,
}

/// One upload whose start was never answered, or that was given up and is not deleted yet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OrphanStatus {
    /// The asset's id, where it could be found.
    pub id: u64,
    pub name: String,
    /// When it was first seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Why it is still there, of an upload whose draft was changed or removed: deleting it is tried again by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_deleted_because: Option<String>,
}

/// The block cache.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CacheStatus {
    /// Bytes held.
    pub used_bytes: u64,
    /// Bytes allowed.
    pub limit_bytes: u64,
    /// Objects with at least one block.
    pub objects: u64,
    /// Reads served from the cache since the mount started.
    #[serde(default)]
    pub hits: u64,
    /// Reads for which a block was missing.
    #[serde(default)]
    pub misses: u64,
    /// Evicted objects, or parts of open ones.
    #[serde(default)]
    pub evictions: u64,
    /// Blocks that were not cached for lack of room.
    #[serde(default)]
    pub refused: u64,
    /// Damaged blocks, which were fetched again.
    #[serde(default)]
    pub bad_blocks: u64,
    /// True if pinned and open files left no room for the last block.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_taken_up: bool,
    /// True if its disk is too full for new blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_shortage: Option<DiskShortage>,
    /// Pinned paths.
    #[serde(default)]
    pub pins: Vec<String>,
    /// The last verification.
    #[serde(default)]
    pub verify: VerifyStatus,
}

/// A comparison of the cache with its checksums.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct VerifyStatus {
    /// True while one is running.
    pub running: bool,
    /// Verifications completed since the mount started; the counts below are of the last.
    pub done: u64,
    /// Objects checked.
    pub objects: u64,
    /// Blocks checked.
    pub blocks: u64,
    /// Damaged blocks, which were removed.
    pub bad_blocks: u64,
}

/// The request budget.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RateStatus {
    /// Requests per minute at the present rate: the mount's share of what the account is allowed.
    pub limit_per_minute: u64,
    /// Requests that could be sent now.
    pub available: u64,
    /// Waiting requests.
    pub waiting: u64,
    /// Requests sent since the mount started.
    #[serde(default)]
    pub taken: u64,
    /// Requests that the service refused since the mount started, because there were too many.
    #[serde(default)]
    pub refused: u64,
    /// Seconds until requests are sent again, if the service asked to pause.
    #[serde(default)]
    pub paused_secs: u64,
}

/// One failure, as `assetfs why` prints it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FailureLine {
    /// Path from the top of the drive.
    pub path: String,
    /// The message: what, why, what to do.
    pub why: String,
    /// When it failed, in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_that_a_job_or_a_draft_shows_is_no_other_failure() {
        let failure = |path: &str, why: &str| FailureLine {
            path: path.into(),
            why: why.into(),
            at: None,
        };
        let status = MountStatus {
            drafts: vec![DraftStatus {
                path: "/rawmodels/fan".into(),
                status: "failed: no faces".into(),
                ..DraftStatus::default()
            }],
            jobs: vec![JobStatusLine {
                path: "/rawmodels/chair/optimize/web.json".into(),
                status: "failed: web.json is not JSON".into(),
                ..JobStatusLine::default()
            }],
            failures: vec![
                failure("/rawmodels/fan", "no faces"),
                failure("/rawmodels/fan", "no room"),
                failure("/rawmodels/chair/optimize/web.json", "web.json is not JSON"),
                failure("/rawmodels/chair", "no faces"),
            ],
            ..MountStatus::default()
        };
        let others: Vec<_> = status.other_failures().cloned().collect();
        assert_eq!(
            others,
            [
                failure("/rawmodels/fan", "no room"),
                failure("/rawmodels/chair", "no faces")
            ]
        );
    }
}
