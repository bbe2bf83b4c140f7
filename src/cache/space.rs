//! The disk space that the cache uses and may use. Only counts; eviction is in `cache_state`.
//!
//! Bytes are counted before they are written and subtracted after they are freed, so the disk usage never
//! exceeds the count.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::error::CacheError;
use super::key::BLOCK_LEN_BYTES;

/// The free disk space is checked after this many written bytes, and earlier if it is low.
const CHECK_EVERY_BYTES: u64 = 4 << 20;

/// Limits of the disk space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheLimits {
    /// Maximum bytes on disk.
    pub max_bytes: u64,
    pub keep_free: KeepFree,
}

impl Default for CacheLimits {
    /// 10 GiB.
    fn default() -> CacheLimits {
        CacheLimits {
            max_bytes: 10 << 30,
            keep_free: KeepFree::default(),
        }
    }
}

/// How much of the disk the cache leaves free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepFree {
    /// Part of the disk.
    pub percent: u8,
    /// At most this many bytes: on a large disk a part would be more than what is usually free.
    pub max_bytes: u64,
}

impl KeepFree {
    pub const NOTHING: KeepFree = KeepFree {
        percent: 0,
        max_bytes: 0,
    };
}

impl Default for KeepFree {
    /// 5 % of the disk, at most 5 GiB.
    fn default() -> KeepFree {
        KeepFree {
            percent: 5,
            max_bytes: 5 << 30,
        }
    }
}

/// A disk that is too full for new blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct DiskShortage {
    pub free_bytes: u64,
    pub keep_free_bytes: u64,
}

impl DiskShortage {
    /// Checks the disk of this folder. `None` if there is enough space, or if the disk cannot be queried (for
    /// example because the folder was deleted): then a write will fail by itself.
    pub fn of(dir: &Path, keep_free: KeepFree) -> Option<DiskShortage> {
        let disk = DiskSpace::of(dir, keep_free)?;
        (disk.free < disk.keep.saturating_add(BLOCK_LEN_BYTES)).then_some(DiskShortage {
            free_bytes: disk.free,
            keep_free_bytes: disk.keep,
        })
    }
}

/// Free bytes of a disk, and bytes that have to stay free.
struct DiskSpace {
    free: u64,
    keep: u64,
}

impl DiskSpace {
    /// `None` if nothing has to stay free, or the disk cannot be queried.
    fn of(dir: &Path, keep_free: KeepFree) -> Option<DiskSpace> {
        let percent = u64::from(keep_free.percent.min(100));
        let disk = match percent {
            0 => return None,
            _ => rustix::fs::statvfs(dir).ok()?,
        };
        let keep =
            (disk.f_blocks / 100).saturating_mul(percent) + disk.f_blocks % 100 * percent / 100;
        Some(DiskSpace {
            free: disk.f_bavail.saturating_mul(disk.f_frsize),
            keep: keep.saturating_mul(disk.f_frsize).min(keep_free.max_bytes),
        })
    }
}

/// The counter of bytes in use.
#[derive(Debug)]
pub(super) struct Space {
    limits: CacheLimits,
    used: AtomicU64,
    until_check: AtomicU64,
    /// The last write was refused because pinned and open objects use all space.
    is_taken_up: AtomicBool,
}

impl Space {
    pub(super) fn new(limits: CacheLimits, used: u64) -> Space {
        Space {
            limits,
            used: AtomicU64::new(used),
            until_check: AtomicU64::new(0),
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

    pub(super) fn subtract(&self, bytes: u64) {
        let before = self.used.fetch_sub(bytes, Ordering::AcqRel);
        debug_assert!(before >= bytes, "subtracted {bytes} of {before}");
    }

    /// Number of bytes over the limit.
    pub(super) fn over_limit(&self) -> u64 {
        self.used().saturating_sub(self.limits.max_bytes)
    }

    /// Number of bytes to free before `bytes` may be written without using the reserve of the disk. Most
    /// calls return without querying the disk.
    pub(super) fn disk_lack(&self, dir: &Path, bytes: u64) -> u64 {
        let due = self
            .until_check
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| {
                left.checked_sub(bytes)
            })
            .is_err();
        if !due {
            return 0;
        }
        let Some(disk) = DiskSpace::of(dir, self.limits.keep_free) else {
            return 0;
        };
        let (wanted, free) = (disk.keep.saturating_add(bytes), disk.free);
        let spare = free.saturating_sub(wanted);
        self.until_check
            .store(CHECK_EVERY_BYTES.min(spare / 2), Ordering::Release);
        wanted.saturating_sub(free)
    }

    /// Sets [`Space::is_taken_up`].
    pub(super) fn note_taken_up(&self, is_taken_up: bool) {
        self.is_taken_up.store(is_taken_up, Ordering::Relaxed);
    }

    /// Whether the last write was refused because pinned and open objects use all space.
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
