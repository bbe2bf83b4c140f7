//! The error of the cache. None of them may fail a reader: what cannot be cached can be fetched.

use std::io;
use std::path::{Path, PathBuf};

use crate::durable::DurableError;

/// What can go wrong with the cache on local disk.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// The folder cannot be used, or another process uses it.
    #[error("the cache cannot be opened")]
    Open(#[from] DurableError),
    /// A file operation failed.
    #[error("could not {doing} the cache file {}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The disk, or the cache's part of it, is full of what cannot be dropped.
    #[error(
        "the cache is full of open and pinned files ({used} of {max} bytes, or too little of the disk is free)"
    )]
    Full {
        /// Bytes in use.
        used: u64,
        /// The limit.
        max: u64,
    },
    /// The object has no such block, or the block has another length.
    #[error("block {index} of {name} cannot be {len} bytes long")]
    WrongBlock {
        /// The object.
        name: String,
        /// The block's number.
        index: u64,
        /// The length that was handed in.
        len: usize,
    },
    /// Larger than a cached object can be, or a name too long to keep.
    #[error("{name} with {size} bytes is too large to be cached")]
    TooLarge {
        /// The object.
        name: String,
        /// Its size.
        size: u64,
    },
}

impl CacheError {
    /// Whether the disk, or the user's share of it, is full.
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

/// Whether the system says that the disk, or the user's share of it, is full.
pub(super) fn is_disk_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}
