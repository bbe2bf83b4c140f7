//! An open object of the cache: its data file, its map file, and the state of its blocks.
//!
//! The data of a block is written before its checksum, and the checksum before the block is marked as present
//! in memory. A read takes no lock: it loads the generation of the object, checks that all blocks are present
//! and verified, reads, and checks that the generation is unchanged. Eviction removes blocks from the map,
//! then increments the generation, then frees the disk space, while no writer is active.
//!
//! A complete object is not written to any more. If its data file changes nevertheless, another program has damaged it,
//! and all blocks are verified again before they are returned.

mod punch;
mod write;

use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use bytes::Bytes;
use rustix::buffer::spare_capacity;
use tracing::warn;

use super::block_map::BlockMap;
use super::error::CacheError;
use super::key::{FileId, ObjectKey, block_range, blocks_of};
use super::map_file::MapHeader;
use super::object_file::ChangeTime;
use super::space::Space;

/// Attempts of a read that races with evictions, before it counts as a miss.
const READ_ATTEMPTS: u32 = 3;

/// An open object of the cache. Clones are handles to the same object.
///
/// It stays usable if it is evicted or the cache is cleared or deleted: it keeps serving its blocks.
#[derive(Debug, Clone)]
pub struct CachedObject {
    open: Arc<OpenObject>,
}

/// The cache as its open objects see it.
pub(super) trait ObjectHost: std::fmt::Debug + Send + Sync {
    fn space(&self) -> &Space;
    /// Frees space if necessary and counts `bytes` as used. On an error nothing is counted.
    fn reserve(&self, bytes: u64) -> Result<(), CacheError>;
    /// Frees about `need` bytes if possible; returns the freed bytes.
    fn evict(&self, need: u64) -> u64;
    fn count_read(&self, hit: bool);
    fn count_bad_block(&self);
    /// An object that is still in the index was closed. `verified` is the change time of its data if all its blocks on
    /// disk are verified.
    fn note_closed(&self, id: FileId, verified: Option<ChangeTime>);
}

#[derive(Debug)]
pub(super) struct OpenObject {
    host: Arc<dyn ObjectHost>,
    id: FileId,
    key: ObjectKey,
    data: File,
    map: File,
    header_len: u64,
    blocks: BlockMap,
    /// Bytes counted for this object; shared with the entry in the index.
    cost: Arc<AtomicU64>,
    /// No longer in the index: dropping this object subtracts its bytes.
    detached: AtomicBool,
    /// The kernel may read the file directly (passthrough), so no block may be evicted.
    lent: AtomicBool,
    lent_file: OnceLock<Arc<File>>,
    generation: AtomicU64,
    /// Shared by writers of blocks, exclusive for eviction.
    writing: RwLock<()>,
    /// Position of the next eviction of blocks.
    clock: AtomicU64,
    /// The [`ChangeTime`] of the data after the last write of this process.
    written: AtomicI64,
}

/// The opened files of an object.
pub(super) struct Parts {
    pub(super) id: FileId,
    pub(super) key: ObjectKey,
    pub(super) data: File,
    pub(super) map: File,
    pub(super) header_len: u64,
    pub(super) blocks: BlockMap,
    pub(super) cost: Arc<AtomicU64>,
}

impl CachedObject {
    pub(super) fn new(open: Arc<OpenObject>) -> CachedObject {
        CachedObject { open }
    }

    pub fn key(&self) -> &ObjectKey {
        &self.open.key
    }

    pub fn size(&self) -> u64 {
        self.open.key.size
    }

    /// The byte ranges to fetch before `range` can be read: whole blocks, merged, clipped to the object.
    pub fn missing(&self, range: Range<u64>) -> Vec<Range<u64>> {
        self.open.blocks.missing(&range)
    }

    /// Whether every block is present.
    pub fn is_complete(&self) -> bool {
        self.open.blocks.is_complete()
    }

    /// Reads bytes, clipped to the object; `None` if a block is missing or damaged.
    pub fn read(&self, offset: u64, len: u64) -> Result<Option<Bytes>, CacheError> {
        let found = self.open.read(offset, len);
        self.open.host.count_read(found.is_some());
        Ok(found)
    }

    /// Stores a whole block. An error only means that it is not cached.
    pub fn write_block(&self, index: u64, bytes: &[u8]) -> Result<(), CacheError> {
        self.open.write_run(index, &[bytes])
    }

    /// Stores whole blocks from `first` on with vectored writes. The pieces need not match the blocks.
    /// An error only means that some blocks are not cached.
    pub fn write_run(&self, first: u64, pieces: &[Bytes]) -> Result<(), CacheError> {
        let pieces: Vec<&[u8]> = pieces.iter().map(AsRef::as_ref).collect();
        self.open.write_run(first, &pieces)
    }

    /// Verifies all blocks that this process has not verified yet. Returns whether the object is complete
    /// and correct. Blocks the thread for about 0.2 s per GiB.
    pub fn verify(&self) -> Result<bool, CacheError> {
        // If the file has changed, blocks that were verified before have to be verified again.
        self.open.check_untouched();
        self.open.verify_blocks();
        Ok(self.open.blocks.is_verified_whole())
    }

    /// A file with the whole content, if the object is complete and verified. A cheap call.
    ///
    /// Keep this handle while the file is read: as long as it exists, no block is evicted.
    pub fn file(&self) -> Option<Arc<File>> {
        self.open.lend_file()
    }
}

impl OpenObject {
    pub(super) fn new(host: Arc<dyn ObjectHost>, parts: Parts) -> OpenObject {
        let written = ChangeTime::of(&parts.data).map_or(0, |at| at.0);
        OpenObject {
            written: AtomicI64::new(written),
            host,
            id: parts.id,
            key: parts.key,
            data: parts.data,
            map: parts.map,
            header_len: parts.header_len,
            blocks: parts.blocks,
            cost: parts.cost,
            detached: AtomicBool::new(false),
            lent: AtomicBool::new(false),
            lent_file: OnceLock::new(),
            generation: AtomicU64::new(0),
            writing: RwLock::new(()),
            clock: AtomicU64::new(0),
        }
    }

    pub(super) fn key(&self) -> &ObjectKey {
        &self.key
    }

    pub(super) fn id(&self) -> FileId {
        self.id
    }

    /// Marks the object as no longer in the index.
    pub(super) fn detach(&self) {
        self.detached.store(true, Ordering::Release);
    }

    /// Whether its files were deleted from outside.
    pub(super) fn is_unlinked(&self) -> bool {
        let unlinked = |file: &File| file.metadata().is_ok_and(|it| it.nlink() == 0);
        unlinked(&self.data) || unlinked(&self.map)
    }

    /// Verifies the blocks that are not verified yet; returns their number.
    pub(super) fn verify_blocks(&self) -> u64 {
        let mut checked = 0;
        let mut from = 0;
        while let Some(index) = self.blocks.next_present(from..self.blocks.block_count()) {
            if !self.blocks.is_verified(index) {
                self.verify_block(index);
                checked += 1;
            }
            from = index + 1;
        }
        checked
    }

    /// Verifies all blocks again.
    pub(super) fn verify_again(&self) -> u64 {
        self.blocks.forget_verified();
        self.verify_blocks()
    }

    fn read(&self, offset: u64, len: u64) -> Option<Bytes> {
        let range = offset.min(self.key.size)..offset.saturating_add(len).min(self.key.size);
        if range.is_empty() {
            return Some(Bytes::new());
        }
        for _ in 0..READ_ATTEMPTS {
            let generation = self.generation.load(Ordering::SeqCst);
            let mut blocks = blocks_of(&range, self.key.size);
            if !blocks.all(|index| self.is_sound(index)) {
                return None;
            }
            let Some(bytes) = self.read_file(&range) else {
                blocks_of(&range, self.key.size).for_each(|index| self.drop_bad_block(index));
                return None;
            };
            // In this order: another reader that notices a change changes the generation before it stores the new time.
            if self.check_untouched() && self.generation.load(Ordering::SeqCst) == generation {
                return Some(bytes);
            }
        }
        None
    }

    /// Notes that this process has written to the data file.
    fn note_written(&self) {
        if let Some(at) = ChangeTime::of(&self.data) {
            self.written.fetch_max(at.0, Ordering::AcqRel);
        }
    }

    /// False if the data of a complete object has changed since this process wrote or opened it. Then all blocks are marked
    /// as not verified. Two cases count as unchanged: an incomplete object, whose file this process changes all the time,
    /// and one that this process has deleted, which nobody else can open.
    fn check_untouched(&self) -> bool {
        if !self.blocks.is_complete() || self.detached.load(Ordering::Acquire) {
            return true;
        }
        let Some(at) = ChangeTime::of(&self.data) else {
            return true;
        };
        if self.written.load(Ordering::Acquire) == at.0 {
            return true;
        }
        // In this order: another reader that sees the new time must not take a damaged block for verified.
        self.generation.fetch_add(1, Ordering::SeqCst);
        self.blocks.forget_verified();
        self.written.store(at.0, Ordering::Release);
        false
    }

    /// Whether the block is present and verified; verifies it if necessary.
    fn is_sound(&self, index: u64) -> bool {
        self.blocks.check(index).is_some()
            && (self.blocks.is_verified(index) || self.verify_block(index))
    }

    /// Reads into uninitialized memory; `None` if the file cannot be read or is too short.
    fn read_file(&self, range: &Range<u64>) -> Option<Bytes> {
        let len = usize::try_from(range.end - range.start).ok()?;
        let mut bytes = Vec::with_capacity(len);
        while bytes.len() < len {
            let at = range.start + bytes.len() as u64;
            match rustix::io::pread(&self.data, spare_capacity(&mut bytes), at) {
                Ok(0) => return None,
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(errno) => {
                    warn!(offset = at, error = %errno, "could not read a file of the cache");
                    return None;
                }
            }
        }
        bytes.truncate(len);
        Some(Bytes::from(bytes))
    }

    fn verify_block(&self, index: u64) -> bool {
        let range = block_range(index, self.key.size);
        for _ in 0..READ_ATTEMPTS {
            let generation = self.generation.load(Ordering::SeqCst);
            let Some(check) = self.blocks.check(index) else {
                return false;
            };
            let sound = self.read_file(&range).is_some_and(|bytes| {
                MapHeader::block_check(self.id.salt, index, &[&bytes]) == check
            });
            if self.generation.load(Ordering::SeqCst) != generation {
                // The bytes may come from a hole that was just punched.
                continue;
            }
            if sound {
                self.blocks.mark_verified(index);
            } else {
                self.drop_bad_block(index);
            }
            return sound;
        }
        false
    }

    fn lend_file(&self) -> Option<Arc<File>> {
        if !self.blocks.is_verified_whole() || !self.check_untouched() {
            return None;
        }
        // Excludes eviction: either it sees `lent`, or the check below sees the missing block.
        let _writing = self.writing.read().unwrap_or_else(PoisonError::into_inner);
        if !self.blocks.is_verified_whole() {
            return None;
        }
        if self.lent_file.get().is_none() {
            // Opened by the descriptor: the name may be deleted or used by another object.
            let path = format!("/proc/self/fd/{}", self.data.as_raw_fd());
            let file = File::open(path).ok()?;
            let _ = self.lent_file.set(Arc::new(file));
        }
        self.lent.store(true, Ordering::SeqCst);
        self.lent_file.get().cloned()
    }

    fn subtract(&self, bytes: u64) {
        self.cost.fetch_sub(bytes, Ordering::AcqRel);
        self.host.space().subtract(bytes);
    }
}

impl Drop for OpenObject {
    fn drop(&mut self) {
        if self.detached.load(Ordering::Acquire) {
            self.host
                .space()
                .subtract(self.cost.load(Ordering::Acquire));
        } else {
            let written = ChangeTime(self.written.load(Ordering::Acquire));
            let is_verified = self.blocks.is_verified_so_far();
            self.host
                .note_closed(self.id, is_verified.then_some(written));
        }
    }
}
