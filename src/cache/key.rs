//! The key of a cached object, the names of its files, and its division into blocks.

use std::fmt;
use std::ops::Range;

use sha2::{Digest as _, Sha256};

use super::error::CacheError;

/// Length of a block; the last block of an object may be shorter.
pub const BLOCK_LEN_BYTES: u64 = 64 * 1024;

/// Maximum size of a cached object. The map takes 1/8192 of it.
const MAX_OBJECT_LEN_BYTES: u64 = 16 << 40;
const MAX_NAME_LEN: usize = 4096;
const MAX_ETAG_LEN: usize = 1024;

/// Identifies one version of a remote object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ObjectKey {
    /// A stable name such as `raw/1042/chair.bin`.
    pub name: String,
    /// In bytes.
    pub size: u64,
    /// The version, if the server sends an ETag.
    pub etag: Option<String>,
}

impl ObjectKey {
    /// Checks that the object fits the limits of the format.
    pub(super) fn check(&self) -> Result<(), CacheError> {
        let too_large = self.size > MAX_OBJECT_LEN_BYTES
            || self.name.len() > MAX_NAME_LEN
            || self
                .etag
                .as_ref()
                .is_some_and(|etag| etag.len() > MAX_ETAG_LEN);
        if too_large {
            return Err(CacheError::TooLarge {
                name: self.name.clone(),
                size: self.size,
            });
        }
        Ok(())
    }
}

/// Whether `name` is `prefix` or lies below it, by whole path components; an empty prefix matches all.
pub fn lies_below(name: &str, prefix: &str) -> bool {
    let prefix = prefix.trim_end_matches('/');
    match name.strip_prefix(prefix) {
        Some(rest) => prefix.is_empty() || rest.is_empty() || rest.starts_with('/'),
        None => false,
    }
}

/// Cryptographic hash of an object's name, so that no two names collide.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct NameHash(pub(super) u128);

impl NameHash {
    pub(super) fn of(name: &str) -> NameHash {
        let digest = Sha256::digest(name.as_bytes());
        let half = digest[..16].try_into().expect("a digest has 32 bytes");
        NameHash(u128::from_be_bytes(half))
    }
}

impl fmt::Debug for NameHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Identifies one pair of files. Each pair has a new random salt, so files of an earlier copy of an object
/// are never mistaken for the current ones, neither on disk nor in a race.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct FileId {
    pub(super) name: NameHash,
    pub(super) salt: u64,
}

/// The two files of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    Data,
    Map,
}

impl FileId {
    pub(super) fn file_name(self, kind: FileKind) -> String {
        let extension = match kind {
            FileKind::Data => "data",
            FileKind::Map => "map",
        };
        format!("{:032x}-{:016x}.{extension}", self.name.0, self.salt)
    }

    /// Parses a name made by [`FileId::file_name`]; `None` for any other name.
    pub(super) fn parse(file_name: &str) -> Option<(FileId, FileKind)> {
        let (stem, extension) = file_name.split_once('.')?;
        let (name, salt) = stem.split_once('-')?;
        let kind = match extension {
            "data" => FileKind::Data,
            "map" => FileKind::Map,
            _ => return None,
        };
        let id = FileId {
            name: NameHash(u128::from_str_radix(name, 16).ok()?),
            salt: u64::from_str_radix(salt, 16).ok()?,
        };
        (id.file_name(kind) == file_name).then_some((id, kind))
    }
}

/// Number of blocks of an object of this size.
pub(super) fn block_count(size: u64) -> u64 {
    size.div_ceil(BLOCK_LEN_BYTES)
}

/// Byte range of a block, clipped to the object.
pub(super) fn block_range(index: u64, size: u64) -> Range<u64> {
    let start = index.saturating_mul(BLOCK_LEN_BYTES).min(size);
    start..start.saturating_add(BLOCK_LEN_BYTES).min(size)
}

/// The blocks that overlap a byte range, clipped to the object.
pub(super) fn blocks_of(range: &Range<u64>, size: u64) -> Range<u64> {
    let end = range.end.min(size);
    if range.start >= end {
        return 0..0;
    }
    range.start / BLOCK_LEN_BYTES..end.div_ceil(BLOCK_LEN_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_end_at_a_slash() {
        for (name, prefix, below) in [
            ("raw/10/a", "raw/10", true),
            ("raw/10/a", "raw/10/", true),
            ("raw/10", "raw/10", true),
            ("raw/104/a", "raw/10", false),
            ("raw/10/a", "", true),
            ("raw/10/a", "rapid", false),
        ] {
            assert_eq!(lies_below(name, prefix), below, "{name} {prefix}");
        }
    }

    #[test]
    fn file_names_are_parsed_and_other_names_are_not() {
        let id = FileId {
            name: NameHash::of("raw/1/../../etc/passwd"),
            salt: 42,
        };
        for kind in [FileKind::Data, FileKind::Map] {
            let name = id.file_name(kind);
            assert!(!name.contains('/'));
            assert_eq!(FileId::parse(&name), Some((id, kind)));
            assert_eq!(FileId::parse(&name.to_uppercase()), None);
        }
        for name in ["", "index", "a-b.data", "+1-1.map", "lock.map"] {
            assert_eq!(FileId::parse(name), None);
        }
    }

    #[test]
    fn blocks_cover_the_object_exactly() {
        let size = 2 * BLOCK_LEN_BYTES + 5;
        assert_eq!(block_count(size), 3);
        assert_eq!(block_range(2, size), 2 * BLOCK_LEN_BYTES..size);
        assert_eq!(block_range(9, size), size..size);
        assert_eq!(block_count(0), 0);
        assert_eq!(blocks_of(&(0..u64::MAX), size), 0..3);
        assert_eq!(
            blocks_of(&(BLOCK_LEN_BYTES..BLOCK_LEN_BYTES + 1), size),
            1..2
        );
        assert_eq!(blocks_of(&(size..size + 9), size), 0..0);
        assert_eq!(blocks_of(&(7..7), size), 0..0);
    }
}
