//! Removal of blocks from an object that may be open: to free space, because they are damaged, or because the
//! map does not contain them.
//!
//! The order is always: remove from the map, increment the generation, free the disk space; writers are
//! excluded for all three. A file that the kernel reads directly loses no correct block.

use std::ops::Range;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use tracing::debug;

use super::OpenObject;
use crate::cache::block_map::{CHUNK_BLOCKS, block_cost};
use crate::cache::key::BLOCK_LEN_BYTES;
use crate::cache::map_file::{clear_slots, write_slot};
use crate::cache::object_file::punch_hole;

impl OpenObject {
    /// Evicts blocks until about `need` bytes are free; returns the freed bytes. Goes round from start to
    /// end, so the blocks farthest behind a sequential reader go first.
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

    /// The next run of present blocks at or behind `from` with about `need` bytes.
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
            // The data is unchanged, and no writer was active.
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
        self.subtract(bytes);
        bytes
    }

    pub(super) fn drop_bad_block(&self, index: u64) {
        let Some(check) = self.blocks.check(index) else {
            return;
        };
        // Excludes writers: a block that is rewritten meanwhile must not be removed.
        let _writing = self.writing.write().unwrap_or_else(PoisonError::into_inner);
        if !self.blocks.remove(index, check) {
            return;
        }
        self.generation.fetch_add(1, Ordering::SeqCst);
        self.subtract(block_cost(index, self.key.size));
        self.host.count_bad_block();
        debug!(block = index, "removed a damaged block of the cache");
        let noted = write_slot(&self.map, self.header_len, index, 0)
            .and_then(|()| punch_hole(&self.data, index..index + 1));
        if let Err(error) = noted {
            debug!(block = index, error = %error, "could not free a damaged block");
        }
    }
}
