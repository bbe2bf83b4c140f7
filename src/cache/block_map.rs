//! The present blocks of an open object and their checksums, in memory. No I/O.
//!
//! Lock-free. The invariant: a block is present only after its data was written, and verified only after this
//! process compared its data with the checksum. A checksum of zero means absent.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::key::{BLOCK_LEN_BYTES, block_count, block_range, blocks_of};

/// Number of blocks whose states are allocated together, so that a huge sparse object needs little memory.
pub(super) const CHUNK_BLOCKS: u64 = 1024;

/// States of an object's blocks.
#[derive(Debug)]
pub(super) struct BlockMap {
    size: u64,
    chunks: Box<[OnceLock<Chunk>]>,
    present: AtomicU64,
    verified: AtomicU64,
}

#[derive(Debug)]
struct Chunk {
    checks: Box<[AtomicU64]>,
    verified: Box<[AtomicU64]>,
    claimed: Box<[AtomicU64]>,
}

/// Result of claiming a block for writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claim {
    /// Another writer has it.
    Taken,
    Yours,
    /// `Yours`, and its chunk was allocated.
    YoursInNewChunk,
}

impl BlockMap {
    /// Creates an empty map.
    pub(super) fn new(size: u64) -> BlockMap {
        let chunks = block_count(size).div_ceil(CHUNK_BLOCKS);
        BlockMap {
            size,
            chunks: (0..chunks).map(|_| OnceLock::new()).collect(),
            present: AtomicU64::new(0),
            verified: AtomicU64::new(0),
        }
    }

    pub(super) fn block_count(&self) -> u64 {
        block_count(self.size)
    }

    /// Number of allocated chunks.
    pub(super) fn chunks_in_use(&self) -> u64 {
        self.chunks.iter().filter(|it| it.get().is_some()).count() as u64
    }

    pub(super) fn is_complete(&self) -> bool {
        self.present.load(Ordering::Acquire) == self.block_count()
    }

    /// Whether all blocks are present and verified. A block can be marked as verified just after it was
    /// removed, so the count of verified blocks alone is not enough.
    pub(super) fn is_verified_whole(&self) -> bool {
        self.is_complete() && self.verified.load(Ordering::Acquire) >= self.block_count()
    }

    /// Whether every present block is verified.
    pub(super) fn is_verified_so_far(&self) -> bool {
        self.verified.load(Ordering::Acquire) >= self.present.load(Ordering::Acquire)
    }

    /// The checksum of a present block.
    pub(super) fn check(&self, index: u64) -> Option<u64> {
        let (chunk, at) = self.chunk(index)?;
        Some(chunk.checks[at].load(Ordering::Acquire)).filter(|check| *check != 0)
    }

    pub(super) fn is_verified(&self, index: u64) -> bool {
        self.chunk(index)
            .is_some_and(|(chunk, at)| bit(&chunk.verified, at).load())
    }

    /// Adds a block whose data has been written.
    pub(super) fn insert(&self, index: u64, check: u64, verified: bool) {
        let (chunk, at, _) = self.chunk_or_new(index);
        if chunk.checks[at].swap(check, Ordering::AcqRel) == 0 {
            self.present.fetch_add(1, Ordering::AcqRel);
        }
        if verified {
            self.mark_verified(index);
        }
    }

    /// Marks a block whose data was compared with the checksum.
    pub(super) fn mark_verified(&self, index: u64) {
        let Some((chunk, at)) = self.chunk(index) else {
            return;
        };
        if !bit(&chunk.verified, at).set() {
            self.verified.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Marks all blocks as not verified.
    pub(super) fn forget_verified(&self) {
        for index in 0..self.block_count() {
            if let Some((chunk, at)) = self.chunk(index)
                && bit(&chunk.verified, at).clear()
            {
                self.verified.fetch_sub(1, Ordering::AcqRel);
            }
        }
    }

    /// Removes the block if it still has this checksum; returns whether it did.
    pub(super) fn remove(&self, index: u64, check: u64) -> bool {
        let Some((chunk, at)) = self.chunk(index) else {
            return false;
        };
        let removed = check != 0
            && chunk.checks[at]
                .compare_exchange(check, 0, Ordering::AcqRel, Ordering::Acquire)
                .is_ok();
        if removed {
            self.present.fetch_sub(1, Ordering::AcqRel);
            if bit(&chunk.verified, at).clear() {
                self.verified.fetch_sub(1, Ordering::AcqRel);
            }
        }
        removed
    }

    /// Claims the block for writing; only one writer at a time can have it.
    pub(super) fn claim(&self, index: u64) -> Claim {
        let (chunk, at, new) = self.chunk_or_new(index);
        match (bit(&chunk.claimed, at).set(), new) {
            (true, _) => Claim::Taken,
            (false, false) => Claim::Yours,
            (false, true) => Claim::YoursInNewChunk,
        }
    }

    /// Releases a claim.
    pub(super) fn release(&self, index: u64) {
        if let Some((chunk, at)) = self.chunk(index) {
            bit(&chunk.claimed, at).clear();
        }
    }

    /// The first present block in `blocks`.
    pub(super) fn next_present(&self, blocks: Range<u64>) -> Option<u64> {
        let mut index = blocks.start;
        while index < blocks.end {
            if self.chunk(index).is_none() {
                index = (index / CHUNK_BLOCKS + 1) * CHUNK_BLOCKS;
                continue;
            }
            if self.check(index).is_some() {
                return Some(index);
            }
            index += 1;
        }
        None
    }

    /// The byte ranges to fetch for `range`: whole blocks, merged, clipped to the object.
    pub(super) fn missing(&self, range: &Range<u64>) -> Vec<Range<u64>> {
        let mut missing: Vec<Range<u64>> = Vec::new();
        if self.is_complete() {
            return missing;
        }
        for index in blocks_of(range, self.size) {
            if self.check(index).is_some() {
                continue;
            }
            let block = block_range(index, self.size);
            match missing.last_mut() {
                Some(last) if last.end == block.start => last.end = block.end,
                _ => missing.push(block),
            }
        }
        missing
    }

    /// Disk space of the present blocks with pages of 4 KiB.
    pub(super) fn data_cost(&self) -> u64 {
        let present = self.present.load(Ordering::Acquire);
        match self.block_count().checked_sub(1) {
            Some(last) if self.check(last).is_some() => {
                (present - 1) * BLOCK_LEN_BYTES + block_cost(last, self.size)
            }
            _ => present * BLOCK_LEN_BYTES,
        }
    }

    fn chunk(&self, index: u64) -> Option<(&Chunk, usize)> {
        let (chunk, at) = place(index);
        Some((self.chunks.get(chunk)?.get()?, at))
    }

    fn chunk_or_new(&self, index: u64) -> (&Chunk, usize, bool) {
        let (chunk, at) = place(index);
        let mut new = false;
        let chunk = self.chunks[chunk].get_or_init(|| {
            new = true;
            let first = index / CHUNK_BLOCKS * CHUNK_BLOCKS;
            Chunk::new((self.block_count() - first).min(CHUNK_BLOCKS))
        });
        (chunk, at, new)
    }
}

/// Disk space of one block.
pub(super) fn block_cost(index: u64, size: u64) -> u64 {
    let range = block_range(index, size);
    (range.end - range.start).next_multiple_of(4096)
}

impl Chunk {
    fn new(blocks: u64) -> Chunk {
        let blocks = usize::try_from(blocks).expect("a chunk is small");
        let zeros = |len: usize| (0..len).map(|_| AtomicU64::new(0)).collect();
        Chunk {
            checks: zeros(blocks),
            verified: zeros(blocks.div_ceil(64)),
            claimed: zeros(blocks.div_ceil(64)),
        }
    }
}

fn place(index: u64) -> (usize, usize) {
    let chunk = usize::try_from(index / CHUNK_BLOCKS).expect("the size of the key was checked");
    let at = usize::try_from(index % CHUNK_BLOCKS).expect("below the chunk's length");
    (chunk, at)
}

/// One bit of a bitmap.
struct Bit<'a> {
    word: &'a AtomicU64,
    mask: u64,
}

fn bit(words: &[AtomicU64], at: usize) -> Bit<'_> {
    Bit {
        word: &words[at / 64],
        mask: 1 << (at % 64),
    }
}

impl Bit<'_> {
    fn load(&self) -> bool {
        self.word.load(Ordering::Acquire) & self.mask != 0
    }

    /// Sets the bit and returns the old value.
    fn set(&self) -> bool {
        self.word.fetch_or(self.mask, Ordering::AcqRel) & self.mask != 0
    }

    /// Clears the bit and returns the old value.
    fn clear(&self) -> bool {
        self.word.fetch_and(!self.mask, Ordering::AcqRel) & self.mask != 0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_a_plain_map(
            size in 0..5000 * BLOCK_LEN_BYTES,
            steps in prop::collection::vec((any::<prop::sample::Index>(), 0_u64..4, any::<bool>()), 0..60),
            range in (0..6000 * BLOCK_LEN_BYTES, 0..100 * BLOCK_LEN_BYTES),
        ) {
            let map = BlockMap::new(size);
            let mut model: BTreeMap<u64, (u64, bool)> = BTreeMap::new();
            let count = map.block_count();
            for (place, check, verified) in steps {
                if count == 0 { break; }
                let index = place.index(usize::try_from(count).unwrap()) as u64;
                if check == 0 {
                    let old = model.remove(&index).map_or(0, |it| it.0);
                    prop_assert!(!map.remove(index, 99));
                    prop_assert_eq!(map.remove(index, old), old != 0);
                } else {
                    map.insert(index, check, verified);
                    let was = model.get(&index).is_some_and(|it| it.1);
                    model.insert(index, (check, verified || was));
                }
            }
            for index in 0..count.min(2000) {
                prop_assert_eq!(map.check(index), model.get(&index).map(|it| it.0));
                prop_assert_eq!(map.is_verified(index), model.get(&index).is_some_and(|it| it.1));
            }
            prop_assert_eq!(map.is_complete(), model.len() as u64 == count);
            prop_assert_eq!(map.is_verified_so_far(), model.values().all(|it| it.1));
            prop_assert_eq!(map.next_present(0..count), model.keys().next().copied());
            let cost: u64 = model.keys().map(|index| block_cost(*index, size)).sum();
            prop_assert_eq!(map.data_cost(), cost);

            let range = range.0..range.0 + range.1;
            let missing = map.missing(&range);
            for index in blocks_of(&range, size) {
                let block = block_range(index, size);
                let listed = missing.iter().any(|it| it.start <= block.start && block.end <= it.end);
                prop_assert_eq!(listed, !model.contains_key(&index));
            }
            prop_assert!(missing.windows(2).all(|pair| pair[0].end < pair[1].start));
        }
    }

    #[test]
    fn a_block_has_one_writer() {
        let map = BlockMap::new(100);
        assert_eq!(map.claim(0), Claim::YoursInNewChunk);
        assert_eq!(map.claim(0), Claim::Taken);
        map.release(0);
        assert_eq!(map.claim(0), Claim::Yours);
    }

    #[test]
    fn an_empty_object_is_complete_and_verified() {
        let map = BlockMap::new(0);
        assert!(map.is_complete() && map.is_verified_whole());
        assert!(map.missing(&(0..10)).is_empty());
    }
}
