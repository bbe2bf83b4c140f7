//! How much the cache takes and may take. Counts; frees nothing itself.
//!
//! Bytes are counted before they are written and given back after they are freed, so the disk
//! never holds more than the count says.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::CacheError;
use super::key::BLOCK_LEN_BYTES;

/// The free room on disk is looked at once in so many bytes written, and sooner when it is short.
const LOOK_EVERY_BYTES: u64 = 4 << 20;

/// How much disk the cache may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheLimits {
    /// Bytes on disk, at most.
    pub max_bytes: u64,
    /// The share of the disk that stays free, in percent.
    pub keep_free_percent: u8,
}

impl Default for CacheLimits {
    /// 10 GiB, and 5 % of the disk left free.
    fn default() -> CacheLimits {
        CacheLimits {
            max_bytes: 10 << 30,
            keep_free_percent: 5,
        }
    }
}

/// A disk that is too full for the cache to take anything new.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct DiskShortage {
    /// What is free.
    pub free_bytes: u64,
    /// What the cache leaves free.
    pub keep_free_bytes: u64,
}

impl DiskShortage {
    /// Whether no more of the disk with this folder is free than the share that has to stay free. A
    /// disk that cannot be asked, as when the folder was deleted, is taken to have room: a write
    /// itself will tell.
    pub fn of(dir: &Path, keep_free_percent: u8) -> Option<DiskShortage> {
        let disk = DiskRoom::of(dir, keep_free_percent)?;
        (disk.free < disk.keep.saturating_add(BLOCK_LEN_BYTES)).then_some(DiskShortage {
            free_bytes: disk.free,
            keep_free_bytes: disk.keep,
        })
    }
}

/// What is free on a disk, and what has to stay free.
struct DiskRoom {
    free: u64,
    keep: u64,
}

impl DiskRoom {
    /// `None` where nothing has to stay free, or the disk cannot be asked.
    fn of(dir: &Path, keep_free_percent: u8) -> Option<DiskRoom> {
        let percent = u64::from(keep_free_percent.min(100));
        let disk = match percent {
            0 => return None,
            _ => rustix::fs::statvfs(dir).ok()?,
        };
        let keep =
            (disk.f_blocks / 100).saturating_mul(percent) + disk.f_blocks % 100 * percent / 100;
        Some(DiskRoom {
            free: disk.f_bavail.saturating_mul(disk.f_frsize),
            keep: keep.saturating_mul(disk.f_frsize),
        })
    }
}

/// The count of bytes in use.
#[derive(Debug)]
pub(super) struct Space {
    limits: CacheLimits,
    used: AtomicU64,
    until_look: AtomicU64,
    /// What is pinned and open left no room for what was to be taken last.
    is_taken_up: AtomicBool,
}

impl Space {
    pub(super) fn new(limits: CacheLimits, used: u64) -> Space {
        Space {
            limits,
            used: AtomicU64::new(used),
            until_look: AtomicU64::new(0),
            is_taken_up: AtomicBool::new(false),
        }
    }

    pub(super) fn limits(&self) -> CacheLimits {
        self.limits
    }

    pub(super) fn used(&self) -> u64 {
        self.used.load(Ordering::Acquire)
    }

    pub(super) fn add(&self, bytes: u64) {
        self.used.fetch_add(bytes, Ordering::AcqRel);
    }

    pub(super) fn give_back(&self, bytes: u64) {
        let before = self.used.fetch_sub(bytes, Ordering::AcqRel);
        debug_assert!(before >= bytes, "gave back {bytes} of {before}");
    }

    /// How many bytes are in use beyond the limit.
    pub(super) fn over_limit(&self) -> u64 {
        self.used().saturating_sub(self.limits.max_bytes)
    }

    /// How many bytes have to be freed before `bytes` more may be written to the disk itself.
    /// Mostly answers without looking.
    pub(super) fn disk_lack(&self, dir: &Path, bytes: u64) -> u64 {
        let due = self
            .until_look
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| {
                left.checked_sub(bytes)
            })
            .is_err();
        if !due {
            return 0;
        }
        let Some(disk) = DiskRoom::of(dir, self.limits.keep_free_percent) else {
            return 0;
        };
        let (wanted, free) = (disk.keep.saturating_add(bytes), disk.free);
        let spare = free.saturating_sub(wanted);
        self.until_look
            .store(LOOK_EVERY_BYTES.min(spare / 2), Ordering::Release);
        wanted.saturating_sub(free)
    }

    /// Notes whether what may not go left room for what was to be taken.
    pub(super) fn note_taken_up(&self, is_taken_up: bool) {
        self.is_taken_up.store(is_taken_up, Ordering::Relaxed);
    }

    /// Whether what may not go left no room for what was to be taken last.
    pub(super) fn is_taken_up(&self) -> bool {
        self.is_taken_up.load(Ordering::Relaxed)
    }

    pub(super) fn full(&self) -> CacheError {
        CacheError::Full {
            used: self.used(),
            max: self.limits.max_bytes,
        }
    }
}
