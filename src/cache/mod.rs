//! Cache of blocks of remote files on local disk, with index and eviction. Fetches nothing.
//!
//! An object is one sparse file and a map of its present blocks with their checksums. The invariants: a byte
//! is served only if it was written for exactly this object and version; the disk usage never exceeds the
//! limit; a deleted or damaged file only makes blocks missing. Nothing is synced: checksums detect what a
//! power cut damages.

mod block_cache;
mod block_map;
mod cache_state;
mod error;
mod index;
mod index_file;
mod key;
mod map_file;
mod object;
mod object_file;
mod shared_cache;
mod space;

pub use block_cache::{BlockCache, VerifyReport};
pub use cache_state::CacheStats;
pub use error::CacheError;
pub use key::{BLOCK_LEN_BYTES, ObjectKey, lies_below};
pub use object::CachedObject;
pub use shared_cache::{
    NextBlocks, SharedCache, SharedCacheConfig, SharedCacheError, SharedCachePlace,
    SharedCacheStats, SharedObject, StoreOutage, Turn,
};
pub use space::{CacheLimits, DiskShortage, KeepFree};
