//! Blocks of remote files on local disk, their index and their eviction. Fetches nothing.
//!
//! An object is one sparse file and a map of the blocks it holds, each with a checksum. Invariants:
//! a byte is served only if it was written for exactly this object and version; what the cache
//! takes never exceeds its limit; and every file of it may vanish or rot at any time, which makes
//! a block missing and nothing else. Nothing is synced: what a power cut tears, the checksums tell.

mod block_cache;
mod block_map;
mod error;
mod index;
mod index_file;
mod key;
mod map_file;
mod object;
mod shared;
mod space;

pub use block_cache::{BlockCache, CacheStats, VerifyReport};
pub use error::CacheError;
pub use key::{BLOCK_LEN_BYTES, ObjectKey};
pub use object::CachedObject;
pub use space::{CacheLimits, DiskShortage};
