//! Chunks of the shared cache: their names and their form.
//!
//! A chunk is 1 MiB of one version of one object of one account, or what is left at its end. Its name is a hash of all that
//! identifies it. The stored bytes begin with a header that repeats the name and has a checksum, so that a
//! damaged, truncated or exchanged chunk is recognized. The checksum finds damage, not malice: whoever may write to the
//! store is trusted.

use std::fmt;
use std::ops::Range;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use xxhash_rust::xxh3::Xxh3;

use crate::cache::key::{BLOCK_LEN_BYTES, ObjectKey};

/// Length of a chunk in blocks of the cache.
pub(super) const CHUNK_BLOCKS: u64 = 16;
const CHUNK_BYTES: u64 = CHUNK_BLOCKS * BLOCK_LEN_BYTES;

const MAGIC: [u8; 8] = *b"assetfs1";
const HEADER_LEN: usize = 64;
/// A chunk with its header.
pub(super) const MAX_STORED: u64 = CHUNK_BYTES + HEADER_LEN as u64;

/// One version of one object of one account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ObjectId {
    hash: [u8; 32],
    size: u64,
}

impl ObjectId {
    /// `None` without an ETag: then nothing proves that another mount means the same content.
    pub(super) fn of(account: &str, key: &ObjectKey) -> Option<ObjectId> {
        let etag = key.etag.as_deref()?;
        let mut hash = Sha256::new();
        for part in [account, &key.name, etag] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        hash.update(key.size.to_le_bytes());
        Some(ObjectId {
            hash: hash.finalize().into(),
            size: key.size,
        })
    }

    pub(super) fn chunk(&self, index: u64) -> ChunkName {
        let mut hash = Sha256::new_with_prefix(self.hash);
        hash.update(index.to_le_bytes());
        ChunkName(hash.finalize().into())
    }

    /// The length of a chunk.
    pub(super) fn chunk_len(&self, index: u64) -> u64 {
        let start = (index * CHUNK_BYTES).min(self.size);
        CHUNK_BYTES.min(self.size - start)
    }
}

/// The chunks that a range of blocks touches.
pub(super) fn chunks_of(blocks: &Range<u64>) -> Range<u64> {
    blocks.start / CHUNK_BLOCKS..blocks.end.div_ceil(CHUNK_BLOCKS)
}

/// The name of a chunk in a store.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ChunkName([u8; 32]);

impl fmt::Display for ChunkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ChunkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl ChunkName {
    /// Its path below the folder or the prefix: no folder gets too many entries.
    pub(super) fn path(&self) -> String {
        let name = self.to_string();
        format!("{}/{name}", &name[..2])
    }

    /// The parts of the stored form.
    pub(super) fn encode(&self, pieces: Vec<Bytes>) -> Vec<Bytes> {
        let len: usize = pieces.iter().map(Bytes::len).sum();
        let mut header = [0; HEADER_LEN];
        header[..8].copy_from_slice(&MAGIC);
        header[8..40].copy_from_slice(&self.0);
        header[40..48].copy_from_slice(&(len as u64).to_le_bytes());
        let check = check_of(&header[..48], &pieces);
        header[48..].copy_from_slice(&check.to_le_bytes());
        let mut parts = vec![Bytes::copy_from_slice(&header)];
        parts.extend(pieces);
        parts
    }

    /// The content of a stored chunk; `None` if it is damaged or another one.
    pub(super) fn decode(&self, stored: &Bytes, len: u64) -> Option<Bytes> {
        let header = stored.get(..HEADER_LEN)?;
        let content = stored.slice(HEADER_LEN..);
        let is_right = header[..8] == MAGIC
            && header[8..40] == self.0
            && header[40..48] == len.to_le_bytes()
            && content.len() as u64 == len
            && header[48..] == check_of(&header[..48], &[&content]).to_le_bytes();
        is_right.then_some(content)
    }
}

fn check_of<T: AsRef<[u8]>>(header: &[u8], pieces: &[T]) -> u128 {
    let mut check = Xxh3::new();
    check.update(header);
    for piece in pieces {
        check.update(piece.as_ref());
    }
    check.digest128()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> ObjectKey {
        ObjectKey {
            name: "raw/1/chair.bin".to_owned(),
            size: CHUNK_BYTES + 5,
            etag: Some("\"v1\"".to_owned()),
        }
    }

    #[test]
    fn a_chunk_that_is_damaged_truncated_or_of_another_object_is_not_read() {
        let id = ObjectId::of("origin owner", &key()).unwrap();
        assert_eq!((id.chunk_len(0), id.chunk_len(1)), (CHUNK_BYTES, 5));
        let name = id.chunk(1);
        let pieces = vec![Bytes::from_static(b"he"), Bytes::from_static(b"llo")];
        let stored = Bytes::from(name.encode(pieces).concat());
        assert_eq!(name.decode(&stored, 5).unwrap(), "hello");
        assert_eq!(id.chunk(0).decode(&stored, 5), None, "another chunk");
        assert_eq!(name.decode(&stored, 6), None, "another length");
        for end in 0..stored.len() {
            assert_eq!(name.decode(&stored.slice(..end), 5), None, "cut at {end}");
        }
        for at in 0..stored.len() {
            let mut flipped = stored.to_vec();
            flipped[at] ^= 1;
            assert_eq!(name.decode(&flipped.into(), 5), None, "flipped at {at}");
        }
    }

    #[test]
    fn accounts_versions_and_objects_have_different_chunks() {
        let names = |account: &str, key: &ObjectKey| ObjectId::of(account, key).unwrap().chunk(0);
        let first = names("a", &key());
        assert_eq!(first, names("a", &key()));
        let other = |change: fn(&mut ObjectKey)| {
            let mut key = key();
            change(&mut key);
            names("a", &key)
        };
        for name in [
            names("b", &key()),
            other(|key| key.name = "raw/2/chair.bin".to_owned()),
            other(|key| key.size += 1),
            other(|key| key.etag = Some("\"v2\"".to_owned())),
            ObjectId::of("a", &key()).unwrap().chunk(1),
        ] {
            assert_ne!(first, name);
        }
        let unproven = ObjectKey {
            etag: None,
            ..key()
        };
        assert_eq!(ObjectId::of("a", &unproven), None);
    }
}
