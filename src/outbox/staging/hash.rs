//! Checksums of staged bytes, computed while they are written.
//!
//! [`RunningHash`] follows a sequential writer for free; any other order of writes makes it say that
//! the file has to be read again. Pure but for [`hash_file`].

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use xxhash_rust::xxh3::Xxh3;

/// How much is read at once when a file is hashed again.
const READ_LEN_BYTES: usize = 1 << 20;

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

/// The hash of a file that is being written.
pub struct RunningHash {
    /// State over the bytes below `upto`; `None` once the order was broken.
    state: Option<Box<Xxh3>>,
    upto: u64,
}

impl RunningHash {
    /// The hash of an empty file.
    pub fn empty() -> RunningHash {
        RunningHash {
            state: Some(Box::new(Xxh3::new())),
            upto: 0,
        }
    }

    /// For a file whose bytes were not seen.
    pub fn unknown() -> RunningHash {
        RunningHash {
            state: None,
            upto: 0,
        }
    }

    /// Follows a write.
    pub fn wrote(&mut self, offset: u64, data: &[u8]) {
        match &mut self.state {
            Some(state) if offset == self.upto => {
                state.update(data);
                self.upto += data.len() as u64;
            }
            // Bytes beyond what was hashed: a later write may still fill the gap in order only
            // when nothing was skipped, so the order is broken.
            _ => self.state = None,
        }
    }

    /// Follows a change of length.
    pub fn resized(&mut self, size: u64) {
        if size == 0 {
            *self = RunningHash::empty();
        } else if size < self.upto {
            self.state = None;
        }
    }

    /// The hash of the file if it has `size` bytes and all were seen in order.
    pub fn digest(&self, size: u64) -> Option<ContentHash> {
        let state = self.state.as_ref().filter(|_| self.upto == size)?;
        Some(ContentHash(state.digest128()))
    }

    /// Reads the whole file again, after which further appends are followed.
    pub fn catch_up(&mut self, file: &File, size: u64) -> io::Result<ContentHash> {
        let (state, upto) = hash_upto(file, size)?;
        let digest = ContentHash(state.digest128());
        self.state = Some(state);
        self.upto = upto;
        Ok(digest)
    }
}

/// The hash of a whole file, and its length.
pub fn hash_file(file: &File) -> io::Result<(ContentHash, u64)> {
    let (state, len) = hash_upto(file, u64::MAX)?;
    Ok((ContentHash(state.digest128()), len))
}

fn hash_upto(file: &File, size: u64) -> io::Result<(Box<Xxh3>, u64)> {
    let mut state = Box::new(Xxh3::new());
    let mut buffer = vec![0; READ_LEN_BYTES];
    let mut at = 0;
    while at < size {
        let wanted = usize::try_from(size - at).map_or(READ_LEN_BYTES, |n| n.min(READ_LEN_BYTES));
        let got = file.read_at(&mut buffer[..wanted], at)?;
        if got == 0 {
            break;
        }
        state.update(&buffer[..got]);
        at += got as u64;
    }
    Ok((state, at))
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
        assert_eq!(
            running.catch_up(&file, 11).unwrap(),
            ContentHash::of(b"hello world")
        );
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
}
