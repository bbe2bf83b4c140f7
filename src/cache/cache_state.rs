//! State shared by all handles of a cache: the index, the count of bytes, and eviction.
//!
//! The index lock is short and never held during I/O or while an object is closed. Eviction removes closed
//! objects in LRU order, then blocks of open objects; never pinned objects, and never files that the kernel
//! reads directly.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use super::error::CacheError;
use super::index::{Entry, Index, Lookup, Removed};
use super::index_file;
use super::key::{FileId, NameHash};
use super::object::{ObjectHost, OpenObject};
use super::object_file::ChangeTime;
use super::space::Space;
use crate::durable::DirLock;
use crate::locks::Locked;

/// Minimum number of bytes of open objects to evict at once.
const PUNCH_BYTES: u64 = 1 << 20;
/// The index is saved after this many changes, or after an eighth of its length if that is more.
const SAVE_AFTER_CHANGES: u64 = 1024;

#[derive(Debug)]
pub(super) struct CacheState {
    pub(super) root: PathBuf,
    pub(super) objects: PathBuf,
    /// Locks for opening objects, by class of their name.
    pub(super) opening: [Mutex<()>; 16],
    index: Mutex<Index>,
    space: Space,
    changes: AtomicU64,
    counters: Counters,
    /// Held until the last handle or open object is dropped.
    _lock: DirLock,
}

#[derive(Debug, Default)]
struct Counters {
    hits: AtomicU64,
    misses: AtomicU64,
    evictions: AtomicU64,
    refused: AtomicU64,
    bad_blocks: AtomicU64,
}

/// Content of the cache, and counters since it was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CacheStats {
    /// Bytes on disk as counted for the limit.
    pub bytes: u64,
    pub max_bytes: u64,
    pub objects: u64,
    pub hits: u64,
    /// Reads with at least one missing block.
    pub misses: u64,
    /// Evicted objects, and evicted runs of blocks of open objects.
    pub evictions: u64,
    /// Writes that were refused for lack of space.
    pub refused: u64,
    /// Damaged blocks that were removed.
    pub bad_blocks: u64,
    /// Whether the last write was refused because pinned and open objects use all space.
    pub is_taken_up: bool,
}

impl CacheState {
    pub(super) fn new(
        root: PathBuf,
        objects: PathBuf,
        index: Index,
        space: Space,
        lock: DirLock,
    ) -> CacheState {
        CacheState {
            root,
            objects,
            opening: Default::default(),
            index: Mutex::new(index),
            space,
            changes: AtomicU64::new(0),
            counters: Counters::default(),
            _lock: lock,
        }
    }

    /// Each change of the index is atomic, so it is consistent even after a panic while the lock was held.
    #[track_caller]
    pub(super) fn index(&self) -> MutexGuard<'_, Index> {
        self.index.locked()
    }

    pub(super) fn look_up(&self, name: NameHash) -> Lookup {
        self.index().look_up(name)
    }

    /// Evicts until the limit is met; false if that is not possible.
    fn shrink_to_limit(&self) -> bool {
        loop {
            match self.space.over_limit() {
                0 => return true,
                over if self.evict(over) == 0 => return false,
                _ => {}
            }
        }
    }

    /// Evicts what exceeds the limit, for example after a start with a lower limit.
    pub(super) fn keep_limit(&self) {
        let over = self.space.over_limit();
        if over > 0 {
            self.evict(over);
        }
    }

    fn punch_open(&self, need: u64) -> u64 {
        let worthwhile = need.max(PUNCH_BYTES.min(self.space.limits().max_bytes / 16));
        let open = self.index().open_unpinned();
        let mut freed = 0;
        for object in &open {
            if freed >= need {
                break;
            }
            let bytes = object.punch(worthwhile - freed.min(worthwhile));
            if bytes > 0 {
                self.counters.evictions.fetch_add(1, Ordering::Relaxed);
            }
            freed += bytes;
        }
        freed
    }

    /// Unlinks the files of removed entries and subtracts their bytes.
    pub(super) fn discard(&self, removed: Vec<Removed>) -> u64 {
        let mut freed = 0;
        for it in &removed {
            index_file::unlink(&self.objects, it.id);
            self.space.subtract(it.cost);
            freed += it.cost;
        }
        self.note_changes(removed.len() as u64);
        freed
    }

    /// Adds a new object whose bytes are already counted.
    pub(super) fn insert(&self, id: FileId, mut entry: Entry, open: &Arc<OpenObject>) {
        entry.open = Arc::downgrade(open);
        self.index().insert(id.name, entry);
        self.note_changes(1);
    }

    /// Records that an object was reopened; false if it was evicted meanwhile.
    pub(super) fn reopened(&self, open: &Arc<OpenObject>, cost: u64) -> bool {
        let mut index = self.index();
        let Some(entry) = index.entry(open.id()) else {
            return false;
        };
        entry.open = Arc::downgrade(open);
        // The saved index may be old; the map is authoritative.
        let counted = entry.cost.swap(cost, Ordering::AcqRel);
        self.space.add(cost);
        self.space.subtract(counted);
        true
    }

    /// Saves the index periodically, so that opening the cache after a crash is fast.
    fn note_changes(&self, changes: u64) {
        let before = self.changes.fetch_add(changes, Ordering::Relaxed);
        if before + changes < SAVE_AFTER_CHANGES {
            return;
        }
        let len = self.index().len() as u64;
        if before + changes >= len / 8 {
            self.save_index(false);
        }
    }

    pub(super) fn save_index(&self, closed: bool) {
        self.changes.store(0, Ordering::Relaxed);
        let bytes = index_file::encode(&self.index(), closed);
        index_file::write(&self.root, &bytes);
    }

    pub(super) fn stats(&self) -> CacheStats {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        CacheStats {
            bytes: self.space.used(),
            max_bytes: self.space.limits().max_bytes,
            objects: self.index().len() as u64,
            hits: count(&self.counters.hits),
            misses: count(&self.counters.misses),
            evictions: count(&self.counters.evictions),
            refused: count(&self.counters.refused),
            bad_blocks: count(&self.counters.bad_blocks),
            is_taken_up: self.space.is_taken_up(),
        }
    }
}

impl ObjectHost for CacheState {
    fn reserve(&self, bytes: u64) -> Result<(), CacheError> {
        self.space.add(bytes);
        let lack = self.space.disk_lack(&self.root, bytes);
        if lack == 0 || self.evict(lack) >= lack {
            let has_room = self.shrink_to_limit();
            self.space.note_taken_up(!has_room);
            if has_room {
                return Ok(());
            }
        }
        self.space.subtract(bytes);
        self.counters.refused.fetch_add(1, Ordering::Relaxed);
        Err(self.space.full())
    }

    fn evict(&self, need: u64) -> u64 {
        let removed = self.index().remove_oldest(need);
        self.counters
            .evictions
            .fetch_add(removed.len() as u64, Ordering::Relaxed);
        let freed = self.discard(removed);
        if freed >= need {
            return freed;
        }
        freed + self.punch_open(need - freed)
    }

    fn space(&self) -> &Space {
        &self.space
    }

    fn note_closed(&self, id: FileId, verified: Option<ChangeTime>) {
        self.index().close(id, verified);
        self.note_changes(1);
    }

    fn count_read(&self, hit: bool) {
        let counter = if hit {
            &self.counters.hits
        } else {
            &self.counters.misses
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    fn count_bad_block(&self) {
        self.counters.bad_blocks.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for CacheState {
    fn drop(&mut self) {
        self.save_index(true);
    }
}
