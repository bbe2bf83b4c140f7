//! The files of an object: opening them, what they use of the disk, and freeing what they do not need.

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::FallocateFlags;

use super::block_map::{BlockMap, CHUNK_BLOCKS};
use super::key::BLOCK_LEN_BYTES;
use crate::durable::allocated_bytes;

const PAGE_LEN_BYTES: u64 = 4096;
/// Space that a file system may use for a file in addition to its data.
const UNCLAIMED_SLACK_BYTES: u64 = 32 << 10;

/// The `ctime` of a file in nanoseconds. If it differs from the expected one, another program has written to the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChangeTime(pub(super) i64);

impl ChangeTime {
    /// `None` if `fstat` fails.
    pub(super) fn of(file: &File) -> Option<ChangeTime> {
        let about = rustix::fs::fstat(file).ok()?;
        let nanoseconds = (about.st_ctime as i64).saturating_mul(1_000_000_000);
        Some(ChangeTime(
            nanoseconds.saturating_add(about.st_ctime_nsec as i64),
        ))
    }
}

/// Upper bound of the disk space of the map file: its first page, and the pages of each allocated chunk.
pub(super) fn map_cost(header_len: u64, blocks: &BlockMap) -> u64 {
    PAGE_LEN_BYTES + blocks.chunks_in_use() * chunk_cost(header_len, blocks)
}

pub(super) fn chunk_cost(header_len: u64, blocks: &BlockMap) -> u64 {
    if header_len + blocks.block_count() * 8 <= PAGE_LEN_BYTES {
        return 0;
    }
    CHUNK_BLOCKS * 8 + PAGE_LEN_BYTES
}

/// Opens a file of the cache for reading and writing; does not follow symbolic links.
pub(super) fn open_file(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
        .open(path)
}

/// Frees data outside the blocks of the map, left by a crash between the two writes. Space that is not
/// counted must not be used.
pub(super) fn free_unclaimed(data: &File, blocks: &BlockMap) -> io::Result<()> {
    let taken = allocated_bytes(data)?;
    if taken <= blocks.data_cost() + UNCLAIMED_SLACK_BYTES {
        return Ok(());
    }
    let mut from = 0;
    while from < blocks.block_count() {
        let present = blocks.next_present(from..blocks.block_count());
        let until = present.unwrap_or(blocks.block_count());
        if until > from {
            punch_hole(data, from..until)?;
        }
        from = until + 1;
    }
    Ok(())
}

pub(super) fn punch_hole(data: &File, blocks: Range<u64>) -> io::Result<()> {
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    let start = blocks.start * BLOCK_LEN_BYTES;
    let len = (blocks.end - blocks.start) * BLOCK_LEN_BYTES;
    Ok(rustix::fs::fallocate(data, flags, start, len)?)
}
