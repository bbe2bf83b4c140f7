//! One object of the cache, open: its data file, its map file, and the state of its blocks.
//!
//! A block's data is written before its checksum, the checksum before memory says that the block is
//! there. A read takes no lock: it notes the object's generation, looks that all blocks are there
//! and verified, reads, and looks at the generation again; whoever takes blocks away removes them
//! from the map, then counts the generation up, then frees the disk, with all writers kept out.

mod punch;
mod write;

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use bytes::Bytes;
use rustix::buffer::spare_capacity;
use tracing::warn;

use super::block_map::{BlockMap, CHUNK_BLOCKS};
use super::key::{FileId, block_range, blocks_of};
use super::map_file::MapHeader;
use super::shared::Shared;
use super::{CacheError, ObjectKey};

/// How often a read that was overtaken by an eviction looks again before it calls it a miss.
const READ_ATTEMPTS: u32 = 3;
const PAGE_LEN_BYTES: u64 = 4096;

pub(super) use punch::free_unclaimed;

/// One object in the cache, open. Cloning gives another handle to it.
///
/// It stays usable whatever happens to the cache: evicted, cleared or deleted, it keeps serving
/// what it has.
#[derive(Debug, Clone)]
pub struct CachedObject {
    open: Arc<OpenObject>,
}

#[derive(Debug)]
pub(super) struct OpenObject {
    shared: Arc<Shared>,
    id: FileId,
    key: ObjectKey,
    data: File,
    map: File,
    header_len: u64,
    blocks: BlockMap,
    /// The bytes counted for this object; the entry in the index holds it too.
    cost: Arc<AtomicU64>,
    /// No longer in the index: this handle gives the bytes back at its end.
    detached: AtomicBool,
    /// The kernel may be reading the file past us, so no block may be taken away.
    lent: AtomicBool,
    lent_file: OnceLock<Arc<File>>,
    generation: AtomicU64,
    /// Shared by writers of blocks, exclusive for who takes blocks away.
    writing: RwLock<()>,
    /// Where the next blocks are taken away.
    clock: AtomicU64,
}

/// What an object's files and map turned out to be.
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

    /// What this is a copy of.
    pub fn key(&self) -> &ObjectKey {
        &self.open.key
    }

    /// The object's length in bytes.
    pub fn size(&self) -> u64 {
        self.open.key.size
    }

    /// What has to be fetched so that `range` can be read: whole blocks, merged, clipped to the size.
    pub fn missing(&self, range: Range<u64>) -> Vec<Range<u64>> {
        self.open.blocks.missing(&range)
    }

    /// Whether every block is there.
    pub fn is_complete(&self) -> bool {
        self.open.blocks.is_complete()
    }

    /// The bytes, clipped to the object's size; `None` when a block is missing or was found bad.
    pub fn read(&self, offset: u64, len: u64) -> Result<Option<Bytes>, CacheError> {
        let found = self.open.read(offset, len);
        self.open.shared.count_read(found.is_some());
        Ok(found)
    }

    /// Stores the block `index`, whole. An error means only that it is not cached.
    pub fn write_block(&self, index: u64, bytes: &[u8]) -> Result<(), CacheError> {
        self.open.write_run(index, &[bytes])
    }

    /// Stores whole blocks from `first` on, given in the pieces in which they came: one write for
    /// all of them. An error means only that some are not cached.
    pub fn write_run(&self, first: u64, pieces: &[Bytes]) -> Result<(), CacheError> {
        let pieces: Vec<&[u8]> = pieces.iter().map(AsRef::as_ref).collect();
        self.open.write_run(first, &pieces)
    }

    /// Compares every block that this process has not compared yet with its checksum and says
    /// whether the object is complete and sound. Blocking work, about 0.2 s a GiB.
    pub fn verify(&self) -> Result<bool, CacheError> {
        self.open.verify_blocks();
        Ok(self.open.blocks.is_verified_whole())
    }

    /// A file with the whole content, once that is complete and verified; cheap to ask for.
    ///
    /// Keep this handle for as long as the file is read: while it lives, no block is taken away.
    pub fn file(&self) -> Option<Arc<File>> {
        self.open.lend_file()
    }
}

impl OpenObject {
    pub(super) fn new(shared: Arc<Shared>, parts: Parts) -> OpenObject {
        OpenObject {
            shared,
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

    /// Tells it that it is no longer in the index.
    pub(super) fn detach(&self) {
        self.detached.store(true, Ordering::Release);
    }

    /// Whether somebody deleted its files.
    pub(super) fn is_unlinked(&self) -> bool {
        let unlinked = |file: &File| file.metadata().is_ok_and(|it| it.nlink() == 0);
        unlinked(&self.data) || unlinked(&self.map)
    }

    /// Compares what was not compared yet; gives how many blocks were looked at.
    pub(super) fn verify_blocks(&self) -> u64 {
        let mut looked_at = 0;
        let mut from = 0;
        while let Some(index) = self.blocks.next_present(from..self.blocks.block_count()) {
            if !self.blocks.is_verified(index) {
                self.verify_block(index);
                looked_at += 1;
            }
            from = index + 1;
        }
        looked_at
    }

    /// Compares all blocks as if nothing had been compared before.
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
            if self.generation.load(Ordering::SeqCst) == generation {
                return Some(bytes);
            }
        }
        None
    }

    /// Whether the block is there and, as this process found once, what was written.
    fn is_sound(&self, index: u64) -> bool {
        self.blocks.check(index).is_some()
            && (self.blocks.is_verified(index) || self.verify_block(index))
    }

    /// One read into fresh memory that is not zeroed first; `None` when the file cannot give it.
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
                // What was read may be a hole that was just made.
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
        if !self.blocks.is_verified_whole() {
            return None;
        }
        // With who takes blocks away kept out, so that it sees the loan or we see the loss.
        let _writing = self.writing.read().unwrap_or_else(PoisonError::into_inner);
        if !self.blocks.is_verified_whole() {
            return None;
        }
        if self.lent_file.get().is_none() {
            // Through the descriptor: the name may be gone or another object's by now.
            let path = format!("/proc/self/fd/{}", self.data.as_raw_fd());
            let file = File::open(path).ok()?;
            let _ = self.lent_file.set(Arc::new(file));
        }
        self.lent.store(true, Ordering::SeqCst);
        self.lent_file.get().cloned()
    }

    fn give_back(&self, bytes: u64) {
        self.cost.fetch_sub(bytes, Ordering::AcqRel);
        self.shared.space().give_back(bytes);
    }
}

impl Drop for OpenObject {
    fn drop(&mut self) {
        if self.detached.load(Ordering::Acquire) {
            self.shared
                .space()
                .give_back(self.cost.load(Ordering::Acquire));
        } else {
            self.shared
                .note_closed(self.id, self.blocks.is_verified_so_far());
        }
    }
}

/// What the map file takes on disk, counted from above: its first page, and the pages of each
/// part of the map that was touched.
pub(super) fn map_cost(header_len: u64, blocks: &BlockMap) -> u64 {
    PAGE_LEN_BYTES + blocks.chunks_in_use() * chunk_cost(header_len, blocks)
}

fn chunk_cost(header_len: u64, blocks: &BlockMap) -> u64 {
    if header_len + blocks.block_count() * 8 <= PAGE_LEN_BYTES {
        return 0;
    }
    CHUNK_BLOCKS * 8 + PAGE_LEN_BYTES
}

/// Opens a file of the cache for reading and writing, never through a symbolic link.
pub(super) fn open_file(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
        .open(path)
}
