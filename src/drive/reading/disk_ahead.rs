//! Reading ahead on the local disk, for a reader of a file that is wholly cached. The kernel does so by
//! itself only as far as a mount of an ordinary user allows, and not while a request is on its way here.
//! Pure: ranges in, ranges out.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Requests of one reader lie no further apart.
const OUT_OF_ORDER_BYTES: u64 = 4 << 20;
/// Of a file that is wholly cached, the disk reads so much ahead of a reader that goes on, twice.
const DISK_AHEAD_BYTES: u64 = 8 << 20;

/// How far a reader that goes on had the disk read ahead in a file that is wholly cached.
#[derive(Debug, Default)]
pub(super) struct DiskAhead {
    /// Where the last read ended.
    end: AtomicU64,
    until: AtomicU64,
}

impl DiskAhead {
    /// Notes a read; gives what the disk shall begin to read now.
    pub(super) fn read(&self, range: &Range<u64>, size: u64) -> Option<Range<u64>> {
        let end = self.end.swap(range.end, Ordering::Relaxed);
        // The kernel hands the requests of one reader in out of order.
        let goes_on = range.start > 0 && end.abs_diff(range.start) <= OUT_OF_ORDER_BYTES;
        let until = match goes_on {
            true => self.until.load(Ordering::Relaxed).max(range.end),
            false => range.end,
        };
        if !goes_on || until >= size || until - range.end > DISK_AHEAD_BYTES {
            self.until.store(until, Ordering::Relaxed);
            return None;
        }
        let next = (until + DISK_AHEAD_BYTES).min(size);
        self.until.store(next, Ordering::Relaxed);
        Some(until..next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn a_reader_that_goes_on_finds_everything_behind_its_second_read_asked_for_once() {
        let (ahead, size) = (DiskAhead::default(), 50 * MIB + 5);
        assert_eq!(ahead.read(&(0..MIB), size), None);
        let mut asked = 2 * MIB;
        for start in (MIB..size).step_by(MIB as usize) {
            let end = (start + MIB).min(size);
            if let Some(next) = ahead.read(&(start..end), size) {
                assert_eq!(next.start, asked);
                asked = next.end;
            }
            assert!(asked == size || asked > end + DISK_AHEAD_BYTES / 2, "{end}");
        }
        assert_eq!(asked, size);
    }

    #[test]
    fn far_jumps_ask_the_disk_for_nothing() {
        let ahead = DiskAhead::default();
        for place in [0, 700, 30, 400, 90, 800] {
            let range = place * MIB..place * MIB + 4096;
            assert_eq!(ahead.read(&range, 1000 * MIB), None);
        }
    }
}
