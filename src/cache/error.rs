//! The error of the cache. It never fails a reader: content that cannot be cached is fetched.

use std::io;
use std::path::{Path, PathBuf};

use crate::disk_room::is_disk_full;
use crate::durable::DurableError;

#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// The folder cannot be used, or another process uses it.
    #[error("the cache cannot be opened")]
    Open(#[from] DurableError),
    #[error("could not {doing} the cache file {}", path.display())]
    Io {
        /// A verb phrase.
        doing: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The disk or the cache is full, and nothing can be evicted.
    #[error(
        "the cache is full of open and pinned files ({used} of {max} bytes, or too little of the disk is free)"
    )]
    Full {
        /// Bytes in use.
        used: u64,
        max: u64,
    },
    /// The object has no such block, or the block has another length.
    #[error("block {index} of {name} cannot be {len} bytes long")]
    WrongBlock {
        name: String,
        index: u64,
        /// Length of the given bytes.
        len: usize,
    },
    /// The object or its name exceeds the limits of the format.
    #[error("{name} with {size} bytes is too large to be cached")]
    TooLarge { name: String, size: u64 },
}

impl CacheError {
    /// Whether the disk or the user's quota is full.
    pub(super) fn is_disk_full(&self) -> bool {
        matches!(self, CacheError::Io { source, .. } if is_disk_full(source))
    }

    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> CacheError {
        let path = path.to_path_buf();
        move |source| CacheError::Io {
            doing,
            path,
            source,
        }
    }
}
