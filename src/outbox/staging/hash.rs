//! Checksums of staged bytes, computed while they are written.
//!
//! [`RunningHash`] follows sequential writes at no extra I/O; after writes in another order the file has to be read
//! again. Pure except for [`hash_upto`].

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::{fmt, io};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use xxhash_rust::xxh3::Xxh3;

use crate::durable::answering;

/// Bytes per read when a file is hashed again.
const READ_LEN_BYTES: usize = 1 << 20;
/// An aligned run of this many zeros is hashed as its length. Part of the format of the journal's hashes.
const ZERO_RUN_LEN_BYTES: u64 = 64 << 20;
/// Precedes the length of a run of zeros in the hash.
const ZERO_RUN_TAG: &[u8] = b"assetfs zeros ";
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// XXH3, 128 bits, of all bytes of a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ContentHash(pub u128);

impl ContentHash {
    /// The hash of `bytes`.
    pub fn of(bytes: &[u8]) -> ContentHash {
        ContentHash(xxhash_rust::xxh3::xxh3_128(bytes))
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for ContentHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ContentHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ContentHash, D::Error> {
        let text = String::deserialize(deserializer)?;
        u128::from_str_radix(&text, 16)
            .map(ContentHash)
            .map_err(serde::de::Error::custom)
    }
}

/// Hashes bytes in order. Long runs of zeros cost nothing, so that a hole of many terabytes need not be read.
///
/// The hash is XXH3 of the bytes. An aligned run of [`ZERO_RUN_LEN_BYTES`] zeros is replaced by a tag and its length,
/// whether it is a hole or was written: the hash depends on the content only.
#[derive(Clone)]
pub struct ContentHasher {
    state: Box<Xxh3>,
    upto: u64,
    /// Zeros at the end that are not in `state` yet; they begin at an aligned offset.
    zeros: u64,
}

impl Default for ContentHasher {
    fn default() -> ContentHasher {
        ContentHasher {
            state: Box::new(Xxh3::new()),
            upto: 0,
            zeros: 0,
        }
    }
}

impl ContentHasher {
    /// Number of hashed bytes.
    pub fn len_bytes(&self) -> u64 {
        self.upto
    }

    /// Hashes the next bytes.
    pub fn update(&mut self, mut data: &[u8]) {
        while !data.is_empty() {
            let room = usize::try_from(self.room_in_stretch()).unwrap_or(usize::MAX);
            let (piece, rest) = data.split_at(data.len().min(room));
            if self.is_zero_so_far() && is_zero(piece) {
                self.zeros += piece.len() as u64;
            } else {
                self.take_in_zeros();
                self.state.update(piece);
            }
            self.upto += piece.len() as u64;
            data = rest;
        }
    }

    /// Hashes zeros without reading them.
    pub fn skip_zeros(&mut self, mut len: u64) {
        if !self.is_zero_so_far() {
            let part = len.min(self.room_in_stretch());
            update_zeros(&mut self.state, part);
            self.upto += part;
            len -= part;
        }
        self.zeros += len;
        self.upto += len;
    }

    /// The hash of the bytes so far.
    pub fn digest(&self) -> ContentHash {
        let mut whole = self.clone();
        whole.take_in_zeros();
        ContentHash(whole.state.digest128())
    }

    fn room_in_stretch(&self) -> u64 {
        ZERO_RUN_LEN_BYTES - self.upto % ZERO_RUN_LEN_BYTES
    }

    fn is_zero_so_far(&self) -> bool {
        self.zeros % ZERO_RUN_LEN_BYTES == self.upto % ZERO_RUN_LEN_BYTES
    }

    fn take_in_zeros(&mut self) {
        let zeros = std::mem::take(&mut self.zeros);
        let part = zeros % ZERO_RUN_LEN_BYTES;
        if zeros > part {
            self.state.update(ZERO_RUN_TAG);
            self.state.update(&(zeros - part).to_le_bytes());
        }
        update_zeros(&mut self.state, part);
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes
        .chunks(ZEROS.len())
        .all(|chunk| chunk == &ZEROS[..chunk.len()])
}

fn update_zeros(state: &mut Xxh3, mut len: u64) {
    while len > 0 {
        let piece = len.min(ZEROS.len() as u64);
        state.update(&ZEROS[..usize::try_from(piece).expect("a short piece")]);
        len -= piece;
    }
}

/// The hash of a file that is being written.
pub struct RunningHash {
    /// The state after the bytes so far; `None` after a write out of order.
    state: Option<ContentHasher>,
}

impl RunningHash {
    /// The hash of an empty file.
    pub fn empty() -> RunningHash {
        RunningHash::at(ContentHasher::default())
    }

    /// For a file whose bytes were not seen.
    pub fn unknown() -> RunningHash {
        RunningHash { state: None }
    }

    /// For a file whose bytes were all read. Further appends are followed.
    pub fn at(state: ContentHasher) -> RunningHash {
        RunningHash { state: Some(state) }
    }

    /// Follows a write.
    pub fn wrote(&mut self, offset: u64, data: &[u8]) {
        match &mut self.state {
            Some(state) if offset == state.len_bytes() => state.update(data),
            // A gap was skipped, so the writes are out of order.
            _ => self.state = None,
        }
    }

    /// Follows a change of length.
    pub fn resized(&mut self, size: u64) {
        if size == 0 {
            *self = RunningHash::empty();
        } else if self
            .state
            .as_ref()
            .is_some_and(|state| size < state.len_bytes())
        {
            self.state = None;
        }
    }

    /// The hash of the file, if it has `size` bytes and all were written in order.
    pub fn digest(&self, size: u64) -> Option<ContentHash> {
        let state = self.state.as_ref()?;
        (state.len_bytes() == size).then(|| state.digest())
    }
}

/// Hashes the first `size` bytes of a file, or all if it has fewer. Holes are not read.
pub fn hash_upto(file: &File, size: u64) -> io::Result<ContentHasher> {
    answering::check_may_block("hashing a file");
    let mut hasher = ContentHasher::default();
    let mut buffer = vec![0; READ_LEN_BYTES];
    let size = size.min(file.metadata()?.len());
    while hasher.len_bytes() < size {
        let data = next_data(file, hasher.len_bytes(), size);
        hasher.skip_zeros(data.start - hasher.len_bytes());
        while hasher.len_bytes() < data.end {
            let at = hasher.len_bytes();
            let wanted =
                usize::try_from(data.end - at).map_or(READ_LEN_BYTES, |n| n.min(READ_LEN_BYTES));
            let got = file.read_at(&mut buffer[..wanted], at)?;
            if got == 0 {
                // It was truncated meanwhile.
                return Ok(hasher);
            }
            hasher.update(&buffer[..got]);
        }
    }
    Ok(hasher)
}

/// The offset of the next data that is no hole, between `from` and `size`.
fn next_data(file: &File, from: u64, size: u64) -> std::ops::Range<u64> {
    use rustix::fs::{SeekFrom, seek};
    use rustix::io::Errno;
    let start = match seek(file, SeekFrom::Data(from)) {
        Ok(start) => start.min(size),
        Err(Errno::NXIO) => return size..size,
        // A file system without support for holes.
        Err(_) => return from..size,
    };
    let end = seek(file, SeekFrom::Hole(start)).map_or(size, |end| end.min(size));
    // Another thread may have changed the file in between.
    start..end.max(start)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_sequential_writer_costs_no_second_reading() {
        let mut running = RunningHash::empty();
        running.wrote(0, b"hello ");
        running.wrote(6, b"world");
        assert_eq!(running.digest(11), Some(ContentHash::of(b"hello world")));
    }

    #[test]
    fn any_other_order_asks_for_the_file() {
        let mut running = RunningHash::empty();
        running.wrote(6, b"world");
        running.wrote(0, b"hello ");
        assert_eq!(running.digest(11), None);
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"hello world").unwrap();
        let read = hash_upto(&file, 11).unwrap();
        assert_eq!(read.digest(), ContentHash::of(b"hello world"));
        let mut running = RunningHash::at(read);
        running.wrote(11, b"!");
        assert_eq!(running.digest(12), Some(ContentHash::of(b"hello world!")));
    }

    #[test]
    fn a_hole_at_the_end_is_noticed() {
        let mut running = RunningHash::empty();
        running.wrote(0, b"abc");
        running.resized(10);
        assert_eq!(running.digest(10), None);
        running.resized(2);
        assert_eq!(running.digest(2), None);
        running.resized(0);
        assert_eq!(running.digest(0), Some(ContentHash::of(b"")));
    }

    #[test]
    fn a_hole_of_eight_tebibytes_costs_nothing() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(b"head", 0).unwrap();
        let end = 8 << 40;
        if file.set_len(end).is_err() {
            crate::skip::skipped("the disk of the temporary folder has no sparse files of 8 TiB");
            return;
        }
        file.write_all_at(b"x", end - 1).unwrap();
        let began = std::time::Instant::now();
        let hasher = hash_upto(&file, u64::MAX).unwrap();
        assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
        assert_eq!(hasher.len_bytes(), end);
    }

    #[test]
    fn written_zeros_and_holes_hash_alike() {
        let len = 2 * ZERO_RUN_LEN_BYTES + 5;
        let sparse = tempfile::tempfile().unwrap();
        sparse.set_len(len).unwrap();
        sparse.write_all_at(b"x", len).unwrap();
        let mut written = RunningHash::empty();
        let zeros = vec![0; 3 << 20];
        let mut at = 0;
        while at < len {
            let piece = zeros.len().min(usize::try_from(len - at).unwrap());
            written.wrote(at, &zeros[..piece]);
            at += piece as u64;
        }
        written.wrote(len, b"x");
        let read = hash_upto(&sparse, u64::MAX).unwrap();
        assert_eq!(written.digest(len + 1), Some(read.digest()));
        let mut longer = ContentHasher::default();
        longer.skip_zeros(len + ZERO_RUN_LEN_BYTES);
        longer.update(b"x");
        assert_ne!(longer.digest(), read.digest());
    }
}
