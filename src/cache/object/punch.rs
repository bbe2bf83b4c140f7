//! Taking blocks away from an object that may be open: to make room, because they are damaged, or
//! because the map does not know them.
//!
//! The order is always: out of the map, the generation counted up, the disk freed; with all writers
//! kept out from the first to the last. A file that the kernel reads past us loses no sound block.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::MetadataExt as _;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use rustix::fs::FallocateFlags;
use tracing::debug;

use super::OpenObject;
use crate::cache::block_map::{BlockMap, CHUNK_BLOCKS, block_cost};
use crate::cache::key::BLOCK_LEN_BYTES;
use crate::cache::map_file::{clear_slots, write_slot};

/// What a file system may take for a file beside its data.
const UNCLAIMED_SLACK_BYTES: u64 = 32 << 10;

impl OpenObject {
    /// Takes blocks away until about `need` bytes are free, and gives how many are. The blocks
    /// longest behind a reader that goes from start to end go first.
    pub(in crate::cache) fn punch(&self, need: u64) -> u64 {
        let _writing = self.writing.write().unwrap_or_else(PoisonError::into_inner);
        if self.lent.load(Ordering::SeqCst) {
            return 0;
        }
        let mut freed = 0;
        let mut wrapped = false;
        while freed < need {
            let from = self.clock.load(Ordering::Relaxed);
            match self.next_run(from, need - freed) {
                Some(run) => {
                    self.clock.store(run.end, Ordering::Relaxed);
                    match self.punch_run(run) {
                        0 => break,
                        bytes => freed += bytes,
                    }
                }
                None if wrapped => break,
                None => {
                    wrapped = true;
                    self.clock.store(0, Ordering::Relaxed);
                }
            }
        }
        freed
    }

    /// The next run of present blocks at or behind `from` that holds about `need` bytes.
    fn next_run(&self, from: u64, need: u64) -> Option<Range<u64>> {
        let start = self.blocks.next_present(from..self.blocks.block_count())?;
        let longest = need.div_ceil(BLOCK_LEN_BYTES).clamp(1, CHUNK_BLOCKS);
        let end = (start..self.blocks.block_count().min(start + longest))
            .take_while(|index| self.blocks.check(*index).is_some())
            .last()
            .map_or(start + 1, |last| last + 1);
        Some(start..end)
    }

    fn punch_run(&self, run: Range<u64>) -> u64 {
        let mut removed = Vec::new();
        for index in run.clone() {
            if let Some(check) = self.blocks.check(index)
                && self.blocks.remove(index, check)
            {
                removed.push((index, check));
            }
        }
        self.generation.fetch_add(1, Ordering::SeqCst);
        let punched = clear_slots(&self.map, self.header_len, run.clone())
            .and_then(|()| punch_hole(&self.data, run));
        if let Err(error) = punched {
            // The data is untouched, and no writer was let in.
            debug!(error = %error, "this file system cannot free parts of files");
            for (index, check) in removed {
                self.blocks.insert(index, check, false);
            }
            return 0;
        }
        let bytes = removed
            .iter()
            .map(|(index, _)| block_cost(*index, self.key.size))
            .sum();
        self.give_back(bytes);
        bytes
    }

    pub(super) fn drop_bad_block(&self, index: u64) {
        let Some(check) = self.blocks.check(index) else {
            return;
        };
        // With writers kept out: who writes it anew must not be undone.
        let _writing = self.writing.write().unwrap_or_else(PoisonError::into_inner);
        if !self.blocks.remove(index, check) {
            return;
        }
        self.generation.fetch_add(1, Ordering::SeqCst);
        self.give_back(block_cost(index, self.key.size));
        self.shared.count_bad_block();
        debug!(block = index, "dropped a damaged block of the cache");
        let noted = write_slot(&self.map, self.header_len, index, 0)
            .and_then(|()| punch_hole(&self.data, index..index + 1));
        if let Err(error) = noted {
            debug!(block = index, error = %error, "could not free a damaged block");
        }
    }
}

/// Frees what the data file holds beyond the blocks of the map, as a crash between the two writes
/// leaves it. What is not counted must not take room.
pub(in crate::cache) fn free_unclaimed(data: &File, blocks: &BlockMap) -> io::Result<()> {
    let taken = data.metadata()?.blocks() * 512;
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

fn punch_hole(data: &File, blocks: Range<u64>) -> io::Result<()> {
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    let start = blocks.start * BLOCK_LEN_BYTES;
    let len = (blocks.end - blocks.start) * BLOCK_LEN_BYTES;
    Ok(rustix::fs::fallocate(data, flags, start, len)?)
}
