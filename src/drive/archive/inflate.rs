//! Unpacks a deflated member block by block and computes its checksum.
//!
//! Invariant: it never returns more bytes than the directory declares, and it ends only with the declared length and
//! checksum. Does no I/O.

use bytes::{Bytes, BytesMut};
use flate2::{Decompress, FlushDecompress, Status};

use crate::cache::BLOCK_LEN_BYTES;

pub(super) struct Inflater {
    engine: Decompress,
    crc: crc32fast::Hasher,
    /// Packed bytes that were read and not used yet.
    input: Bytes,
    /// Packed bytes that were read.
    taken: u64,
    /// The block that is being filled.
    block: BytesMut,
    /// Bytes that came out before it.
    given: u64,
    ended: bool,
}

/// The next step of unpacking.
pub(super) enum Step {
    /// Needs more packed bytes.
    NeedsInput,
    /// A block is complete.
    Block(Bytes),
    /// Complete and correct.
    Done,
    /// Damaged.
    Damaged(String),
}

impl Inflater {
    pub(super) fn new() -> Inflater {
        Inflater {
            engine: Decompress::new(false),
            crc: crc32fast::Hasher::new(),
            input: Bytes::new(),
            taken: 0,
            block: BytesMut::new(),
            given: 0,
            ended: false,
        }
    }

    /// The offset in the packed bytes to read next.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    pub(super) fn feed(&mut self, packed: Bytes) {
        self.taken += packed.len() as u64;
        self.input = packed;
    }

    /// Continues until a block is full or another step is needed. `size` and `crc` are what the directory
    /// promises; with `no_more` no packed bytes are left.
    pub(super) fn step(&mut self, size: u64, crc: u32, no_more: bool) -> Step {
        loop {
            let declared = usize::try_from((size - self.given).min(BLOCK_LEN_BYTES));
            let want = declared.expect("a block is short");
            if self.block.len() == want && want > 0 {
                return self.give();
            }
            if self.ended {
                return self.check(size, crc);
            }
            if self.input.is_empty() && !no_more {
                return Step::NeedsInput;
            }
            let (before_in, before_out) = (self.engine.total_in(), self.engine.total_out());
            // One byte more than declared, to detect too much data.
            let mut room = vec![0; want - self.block.len() + 1];
            let status = self
                .engine
                .decompress(&self.input, &mut room, FlushDecompress::None);
            let used = (self.engine.total_in() - before_in) as usize;
            let came = (self.engine.total_out() - before_out) as usize;
            self.input = self.input.slice(used..);
            match status {
                Err(error) => return Step::Damaged(format!("it cannot be unpacked: {error}")),
                Ok(Status::StreamEnd) => self.ended = true,
                Ok(_) if used == 0 && came == 0 && no_more => {
                    return Step::Damaged("its compressed data end early".to_owned());
                }
                Ok(_) => {}
            }
            if self.block.len() + came > want {
                match self.split_block(&room[..came], want, size) {
                    Some(step) => return step,
                    None => continue,
                }
            }
            self.take(&room[..came]);
        }
    }

    /// The rest starts the next block.
    fn split_block(&mut self, came: &[u8], want: usize, size: u64) -> Option<Step> {
        if self.given + want as u64 >= size {
            return Some(Step::Damaged(
                "it unpacks to more bytes than declared".to_owned(),
            ));
        }
        let (fits, rest) = came.split_at(want - self.block.len());
        self.take(fits);
        let step = self.give();
        self.take(rest);
        Some(step)
    }

    fn take(&mut self, bytes: &[u8]) {
        self.crc.update(bytes);
        self.block.extend_from_slice(bytes);
    }

    fn give(&mut self) -> Step {
        let block = std::mem::take(&mut self.block).freeze();
        self.given += block.len() as u64;
        Step::Block(block)
    }

    fn check(&self, size: u64, crc: u32) -> Step {
        if self.given + self.block.len() as u64 != size {
            return Step::Damaged("it unpacks to fewer bytes than declared".to_owned());
        }
        if self.crc.clone().finalize() != crc {
            return Step::Damaged("its checksum does not match".to_owned());
        }
        Step::Done
    }
}
