//! Blocks of remote files on local disk, their index and their eviction. Fetches nothing.

mod error;

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

pub use error::CacheError;

/// The length of a block; the last one of an object is shorter.
pub const BLOCK_LEN_BYTES: u64 = 64 * 1024;

/// How much disk the cache may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheLimits {
    /// Bytes of blocks on disk, at most.
    pub max_bytes: u64,
    /// The share of the disk that stays free, in percent.
    pub keep_free_percent: u8,
}

/// What a cached object is a copy of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ObjectKey {
    /// A stable text such as `raw/1042/chair.bin`.
    pub name: String,
    /// Its length in bytes.
    pub size: u64,
    /// The version the server named.
    pub etag: Option<String>,
}

/// The block cache of a mount. Cloning gives another handle to it.
#[derive(Debug, Clone)]
pub struct BlockCache {}

/// One object in the cache, open. Cloning gives another handle to it.
#[derive(Debug, Clone)]
pub struct CachedObject {}

/// What is in the cache and how it did since it was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CacheStats {
    /// Bytes on disk, as counted against the limit.
    pub bytes: u64,
    /// The limit.
    pub max_bytes: u64,
    /// Objects with at least a name in the cache.
    pub objects: u64,
    /// Reads that were served.
    pub hits: u64,
    /// Reads that lacked a block.
    pub misses: u64,
    /// Objects, or parts of open ones, that had to go.
    pub evictions: u64,
    /// Blocks that were found damaged and dropped.
    pub bad_blocks: u64,
}

/// What [`BlockCache::verify`] found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct VerifyReport {
    /// Objects looked at.
    pub objects: u64,
    /// Blocks looked at.
    pub blocks: u64,
    /// Blocks that were damaged, and are gone now.
    pub bad_blocks: u64,
}

#[allow(missing_docs, unused_variables, clippy::todo)]
impl BlockCache {
    pub fn open(dir: impl AsRef<Path>, limits: CacheLimits) -> Result<BlockCache, CacheError> {
        todo!()
    }
    pub fn object(&self, key: &ObjectKey) -> Result<CachedObject, CacheError> {
        todo!()
    }
    /// Drops every object whose name is `prefix` or lies below it (`raw/10` is not above `raw/104`).
    pub fn forget(&self, prefix: &str) -> Result<(), CacheError> {
        todo!()
    }
    pub fn pin(&self, prefix: &str) -> Result<(), CacheError> {
        todo!()
    }
    pub fn unpin(&self, prefix: &str) -> Result<(), CacheError> {
        todo!()
    }
    pub fn pins(&self) -> Vec<String> {
        todo!()
    }
    pub fn stats(&self) -> CacheStats {
        todo!()
    }
    pub fn clear(&self) -> Result<u64, CacheError> {
        todo!()
    }
    pub fn verify(&self) -> Result<VerifyReport, CacheError> {
        todo!()
    }
    /// Writes the index, so that the next start is quick. Also done when the last handle goes.
    pub fn save_index(&self) -> Result<(), CacheError> {
        todo!()
    }
}

#[allow(missing_docs, unused_variables, clippy::todo)]
impl CachedObject {
    pub fn key(&self) -> &ObjectKey {
        todo!()
    }
    pub fn size(&self) -> u64 {
        todo!()
    }
    pub fn missing(&self, range: Range<u64>) -> Vec<Range<u64>> {
        todo!()
    }
    /// `None` when a block is missing or was found bad. Clipped to the object's size.
    pub fn read(&self, offset: u64, len: u64) -> Result<Option<Bytes>, CacheError> {
        todo!()
    }
    /// Stores the block `index`; an error means only that it is not cached.
    pub fn write_block(&self, index: u64, bytes: &[u8]) -> Result<(), CacheError> {
        todo!()
    }
    pub fn is_complete(&self) -> bool {
        todo!()
    }
    /// Checks every block that was not checked since the start; blocking work, about 0.2 s a GiB.
    pub fn verify(&self) -> Result<bool, CacheError> {
        todo!()
    }
    /// The file with the whole content, once complete and verified; cheap. Keep this handle for as
    /// long as the file is used.
    pub fn file(&self) -> Option<Arc<File>> {
        todo!()
    }
}
