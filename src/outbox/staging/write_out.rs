//! Starts writing a large file to disk while it is still being written, so that the sync at its close is short. Only
//! a hint to the kernel: nothing is durable before the sync.

use std::fs::File;
use std::num::NonZeroU64;

use rustix::fs::Advice;

/// Bytes that are collected before write-out is started.
const STEP_LEN_BYTES: u64 = 8 << 20;

/// The range that was written sequentially and for which write-out was not started.
#[derive(Debug, Default)]
pub struct WriteOut {
    start: u64,
    end: u64,
}

impl WriteOut {
    /// Follows a write.
    pub fn wrote(&mut self, file: &File, offset: u64, len: u64) {
        if let Some((start, len)) = self.step(offset, len) {
            // Starts writing dirty pages; they stay in the page cache.
            let _ = rustix::fs::fadvise(file, start, NonZeroU64::new(len), Advice::DontNeed);
        }
    }

    /// The range to write out now: start and length.
    fn step(&mut self, offset: u64, len: u64) -> Option<(u64, u64)> {
        if offset != self.end {
            self.start = offset;
        }
        self.end = offset.saturating_add(len);
        let gathered = self.end - self.start;
        if gathered < STEP_LEN_BYTES {
            return None;
        }
        Some((std::mem::replace(&mut self.start, self.end), gathered))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn a_sequential_writer_is_followed_in_steps_that_leave_nothing_out() {
        let mut write_out = WriteOut::default();
        let steps: Vec<_> = (0..20)
            .filter_map(|at| write_out.step(at * MIB, MIB))
            .collect();
        assert_eq!(steps, [(0, 8 * MIB), (8 * MIB, 8 * MIB)]);
    }

    #[test]
    fn small_and_scattered_writes_are_left_to_the_kernel() {
        let mut write_out = WriteOut::default();
        assert!((0..100).all(|at| write_out.step(at * 16 * MIB, MIB).is_none()));
    }
}
