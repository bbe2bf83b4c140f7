//! Adding blocks: a run of blocks at once, from the pieces that the network delivered, without copying them
//! together.
//!
//! Each block has one writer at a time. The data of a run is written before its checksums, the checksums
//! before the blocks are marked as present in memory.

use std::io::{self, IoSlice};
use std::ops::Range;
use std::path::Path;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::OpenObject;
use crate::cache::block_map::{Claim, block_cost};
use crate::cache::error::CacheError;
use crate::cache::key::{BLOCK_LEN_BYTES, block_range};
use crate::cache::map_file::{MapHeader, write_slots};
use crate::cache::object_file::chunk_cost;
use crate::disk_room::is_disk_full;

/// Maximum number of pieces in one write (UIO_MAXIOV).
const MAX_PIECES: usize = 1024;
/// Maximum length of one write. The kernel uses page-cache folios of this size for one write; larger folios
/// are expensive to allocate, because memory may have to be compacted or fetched from the hypervisor.
const WRITE_BYTES: u64 = 256 << 10;

impl OpenObject {
    /// Stores whole blocks from `first` on. Present blocks are not changed.
    pub(super) fn write_run(&self, first: u64, pieces: &[&[u8]]) -> Result<(), CacheError> {
        let run = self.run_of(first, pieces)?;
        let mut stored = Ok(());
        let mut index = run.start;
        while index < run.end {
            let claimed = self.claim_from(index..run.end);
            if claimed.is_empty() {
                // It is present, or another writer is storing the same bytes.
                index += 1;
                continue;
            }
            let part = cut(pieces, &self.bytes_between(first, &claimed));
            let result = self.store(claimed.clone(), &part);
            claimed.clone().for_each(|index| self.blocks.release(index));
            stored = stored.and(result);
            index = claimed.end;
        }
        stored
    }

    /// The blocks that the pieces form; fails if they are not whole blocks.
    fn run_of(&self, first: u64, pieces: &[&[u8]]) -> Result<Range<u64>, CacheError> {
        let len: usize = pieces.iter().map(|piece| piece.len()).sum();
        let count = (len as u64).div_ceil(BLOCK_LEN_BYTES);
        let run = first..first.saturating_add(count);
        let start = block_range(first, self.key.size).start;
        let end = block_range(run.end.saturating_sub(1), self.key.size).end;
        if len == 0 || start >= self.key.size || end - start != len as u64 {
            return Err(CacheError::WrongBlock {
                name: self.key.name.clone(),
                index: first,
                len,
            });
        }
        Ok(run)
    }

    /// Claims the longest run of blocks that have to be written.
    fn claim_from(&self, blocks: Range<u64>) -> Range<u64> {
        let mut end = blocks.start;
        for index in blocks.clone() {
            if self.is_sound(index) {
                break;
            }
            match self.blocks.claim(index) {
                Claim::Taken => break,
                Claim::Yours => {}
                Claim::YoursInNewChunk => self.count(chunk_cost(self.header_len, &self.blocks)),
            }
            if self.blocks.check(index).is_some() {
                self.blocks.release(index);
                break;
            }
            end = index + 1;
        }
        blocks.start..end
    }

    fn bytes_between(&self, first: u64, blocks: &Range<u64>) -> Range<usize> {
        let base = first * BLOCK_LEN_BYTES;
        let at = |offset: u64| usize::try_from(offset - base).expect("a run is in memory");
        let end = block_range(blocks.end - 1, self.key.size).end;
        at(blocks.start * BLOCK_LEN_BYTES)..at(end)
    }

    fn store(&self, run: Range<u64>, pieces: &[&[u8]]) -> Result<(), CacheError> {
        let cost = run.clone().map(|it| block_cost(it, self.key.size)).sum();
        self.host.reserve(cost)?;
        let mut stored = self.put(run.clone(), pieces);
        if stored.as_ref().is_err_and(|error| is_disk_full(error)) && self.host.evict(cost) > 0 {
            stored = self.put(run, pieces);
        }
        match stored {
            Ok(()) => Ok(()),
            Err(error) => {
                self.host.space().subtract(cost);
                Err(match is_disk_full(&error) {
                    true => self.host.space().full(),
                    false => CacheError::io("write", Path::new(&self.key.name))(error),
                })
            }
        }
    }

    fn put(&self, run: Range<u64>, pieces: &[&[u8]]) -> io::Result<()> {
        let _writing = self.writing.read().unwrap_or_else(PoisonError::into_inner);
        let checks: Vec<u64> = run
            .clone()
            .map(|index| {
                let block = cut(pieces, &self.bytes_between(run.start, &(index..index + 1)));
                MapHeader::block_check(self.id.salt, index, &block)
            })
            .collect();
        self.write_aligned(pieces, run.start * BLOCK_LEN_BYTES)?;
        write_slots(&self.map, self.header_len, run.start, &checks)?;
        self.note_written();
        // Before the blocks can be evicted and their bytes subtracted.
        let cost = run.clone().map(|it| block_cost(it, self.key.size)).sum();
        self.cost.fetch_add(cost, Ordering::AcqRel);
        for (index, check) in run.zip(checks) {
            self.blocks.insert(index, check, true);
        }
        Ok(())
    }

    /// Writes in parts that end at multiples of [`WRITE_BYTES`].
    fn write_aligned(&self, pieces: &[&[u8]], offset: u64) -> io::Result<()> {
        let end = offset + pieces.iter().map(|piece| piece.len() as u64).sum::<u64>();
        let mut start = offset;
        while start < end {
            let next = end.min((start / WRITE_BYTES + 1) * WRITE_BYTES);
            let at = |position: u64| usize::try_from(position - offset).expect("in memory");
            self.write_pieces(&cut(pieces, &(at(start)..at(next))), start)?;
            start = next;
        }
        Ok(())
    }

    fn write_pieces(&self, pieces: &[&[u8]], mut offset: u64) -> io::Result<()> {
        let mut slices: Vec<IoSlice<'_>> = pieces.iter().map(|it| IoSlice::new(it)).collect();
        let mut left = slices.as_mut_slice();
        while !left.is_empty() {
            let now = &left[..left.len().min(MAX_PIECES)];
            match rustix::io::pwritev(&self.data, now, offset) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    offset += written as u64;
                    IoSlice::advance_slices(&mut left, written);
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    fn count(&self, bytes: u64) {
        self.cost.fetch_add(bytes, Ordering::AcqRel);
        self.host.space().add(bytes);
    }
}

/// The parts of the pieces within a range of their bytes.
fn cut<'a>(pieces: &[&'a [u8]], range: &Range<usize>) -> Vec<&'a [u8]> {
    let mut parts = Vec::new();
    let mut start = 0;
    for piece in pieces {
        let end = start + piece.len();
        let (from, to) = (range.start.max(start), range.end.min(end));
        if from < to {
            parts.push(&piece[from - start..to - start]);
        }
        start = end;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_returns_exactly_the_bytes_of_the_range() {
        let bytes: Vec<u8> = (0..100).collect();
        let pieces: Vec<&[u8]> = [0..10, 10..11, 11..60, 60..60, 60..100]
            .map(|part| &bytes[part])
            .to_vec();
        for range in [0..100, 0..10, 5..11, 10..11, 9..61, 99..100, 30..30] {
            assert_eq!(cut(&pieces, &range).concat(), bytes[range]);
        }
    }
}
