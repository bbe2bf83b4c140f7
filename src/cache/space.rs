//! How much the cache takes and may take. Counts; frees nothing itself.
//!
//! Bytes are counted before they are written and given back after they are freed, so the disk
//! never holds more than the count says.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::CacheError;

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

/// The count of bytes in use.
#[derive(Debug)]
pub(super) struct Space {
    limits: CacheLimits,
    used: AtomicU64,
    until_look: AtomicU64,
}

impl Space {
    pub(super) fn new(limits: CacheLimits, used: u64) -> Space {
        Space {
            limits,
            used: AtomicU64::new(used),
            until_look: AtomicU64::new(0),
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
        let (wanted, free) = self.look(dir, bytes);
        let spare = free.saturating_sub(wanted);
        self.until_look
            .store(LOOK_EVERY_BYTES.min(spare / 2), Ordering::Release);
        wanted.saturating_sub(free)
    }

    /// The bytes that have to be free for this write, and those that are. A disk that cannot be
    /// asked, as when the folder was deleted, is taken to have room: the write itself will tell.
    fn look(&self, dir: &Path, bytes: u64) -> (u64, u64) {
        let Ok(disk) = rustix::fs::statvfs(dir) else {
            return (0, u64::MAX);
        };
        let percent = u64::from(self.limits.keep_free_percent.min(100));
        if percent == 0 {
            return (0, u64::MAX);
        }
        let keep =
            (disk.f_blocks / 100).saturating_mul(percent) + disk.f_blocks % 100 * percent / 100;
        let wanted = keep.saturating_mul(disk.f_frsize).saturating_add(bytes);
        (wanted, disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    pub(super) fn full(&self) -> CacheError {
        CacheError::Full {
            used: self.used(),
            max: self.limits.max_bytes,
        }
    }
}
