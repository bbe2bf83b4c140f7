//! What a store of the shared cache can do.

use std::fmt;
use std::io;

use bytes::Bytes;
use futures_util::future::BoxFuture;

use super::chunk::ChunkName;

/// Random id of a running mount; names the owner of a claim. 0 is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Holder(pub(super) u64);

impl Holder {
    /// Reads what `Display` writes; other texts are an unknown mount.
    pub(super) fn read(text: &[u8]) -> Holder {
        let text = std::str::from_utf8(text).unwrap_or_default();
        Holder(u64::from_str_radix(text, 16).unwrap_or_default())
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The answer to a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claimed {
    Ours,
    By(Holder),
}

/// Why a store could not be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum StoreError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Bucket(#[from] object_store::Error),
    #[error(
        "all users of this machine may write to {0}; `chmod o-w` it, because what is in it is trusted"
    )]
    Open(String),
    #[error("it did not answer within {0} s")]
    Late(u64),
}

pub(super) type StoreFuture<T> = BoxFuture<'static, Result<T, StoreError>>;

/// Where chunks are. A claim is a hint that a mount fetches a chunk; losing one costs a second fetch, nothing else.
pub(super) trait SharedStore: fmt::Debug + Send + Sync {
    /// The stored form of a chunk.
    fn get(&self, name: ChunkName) -> StoreFuture<Option<Bytes>>;
    /// Stores all of a chunk or nothing.
    fn put(&self, name: ChunkName, parts: Vec<Bytes>) -> StoreFuture<()>;
    /// Claims a chunk, unless another mount has a claim that is not old.
    fn claim(&self, name: ChunkName, holder: Holder) -> StoreFuture<Claimed>;
    fn release(&self, name: ChunkName) -> StoreFuture<()>;
}
