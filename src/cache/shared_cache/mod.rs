//! The shared cache: a second level below the cache of a mount, which many mounts use at once. It fetches nothing.
//!
//! Reads never depend on it: each request to the store has a time limit, a store that fails is left alone for a while,
//! and a chunk that is not what it should be is a miss. Mounts that miss the same chunk agree by claims that one of
//! them fetches it; a claim is waited for only while chunks of its mount arrive.

mod bucket;
mod chunk;
mod claim_file;
mod claim_wait;
mod folder;
mod health;
mod prune;
mod state;
mod store;
mod turn;

#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::future::join_all;
use tokio::sync::Semaphore;

use super::key::ObjectKey;
use crate::bucket::{AddressError, BucketAddress, Credentials};
use bucket::BucketStore;
use chunk::{CHUNK_BLOCKS, ObjectId, chunks_of};
use claim_wait::ClaimWaitPolicy;
use folder::FolderStore;
use health::Health;
pub use state::SharedObject;
use state::{REQUEST_LIMIT, SharedState, WRITE_LIMIT};
use store::{Claimed, Holder, SharedStore};
use turn::Claims;
pub use turn::Turn;

/// Chunks that are read from the store at once.
const READS: usize = 8;
/// Chunks of one reader that are read at once.
const READS_OF_ONE: usize = 4;
/// Claims that are tried at once.
const CLAIMS: usize = 8;
/// Chunks that are written at once; each is in memory.
const WRITES: usize = 8;
/// Pauses between looks for a chunk that another mount fetches: half of the time since the first look, within these
/// limits. Many readers of many mounts look at once.
const FIRST_LOOK: Duration = Duration::from_millis(10);
const MAX_POLL_PAUSE: Duration = Duration::from_millis(300);
/// A claim is tried again after this time: the other mount may have given up.
const CLAIM_PAUSE: Duration = Duration::from_secs(1);

/// Where a shared cache is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SharedCachePlace {
    Folder(PathBuf),
    Bucket(BucketAddress),
}

impl FromStr for SharedCachePlace {
    type Err = AddressError;

    /// A URL that begins with `s3://`, or the path of a folder.
    fn from_str(text: &str) -> Result<SharedCachePlace, AddressError> {
        match text.contains("://") {
            true => Ok(SharedCachePlace::Bucket(text.parse()?)),
            false => Ok(SharedCachePlace::Folder(text.into())),
        }
    }
}

impl fmt::Display for SharedCachePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SharedCachePlace::Folder(path) => write!(f, "{}", path.display()),
            SharedCachePlace::Bucket(address) => write!(f, "{address}"),
        }
    }
}

/// Settings of a shared cache.
#[derive(Debug)]
pub struct SharedCacheConfig {
    pub place: SharedCachePlace,
    /// The account whose chunks are read and written: origin and owner, the same for all mounts of the account.
    pub account: String,
    /// Maximum size of a folder. The size of a bucket is not limited.
    pub limit_bytes: u64,
    /// For a bucket.
    pub credentials: Option<Credentials>,
}

/// Why a shared cache cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum SharedCacheError {
    #[error("there are no credentials for the shared cache")]
    NoCredentials,
    #[error("the client for the shared cache cannot be set up")]
    Client(#[source] object_store::Error),
}

/// What happened since the mount started.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SharedCacheStats {
    pub place: String,
    /// Bytes that were read from it.
    pub hit_bytes: u64,
    /// Bytes that were written to it.
    pub stored_bytes: u64,
    /// Damaged chunks, which were fetched again and replaced.
    #[serde(default)]
    pub bad_chunks: u64,
    /// Why it is not read or not written, and the seconds until it is tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_alone: Option<StoreOutage>,
}

/// Why a shared cache is not used.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StoreOutage {
    pub why: String,
    /// True if chunks can still be read.
    pub is_read: bool,
    pub seconds_left: u64,
}

/// The shared cache of a mount. Clones are handles to the same one.
#[derive(Debug, Clone)]
pub struct SharedCache {
    inner: Arc<SharedState>,
}

impl SharedCache {
    /// Sets it up without using the store, which may be unreachable.
    pub fn new(config: SharedCacheConfig) -> Result<SharedCache, SharedCacheError> {
        let store: Arc<dyn SharedStore> = match &config.place {
            SharedCachePlace::Folder(path) => Arc::new(FolderStore::new(path, config.limit_bytes)),
            SharedCachePlace::Bucket(address) => {
                let credentials = config.credentials.as_ref();
                let credentials = credentials.ok_or(SharedCacheError::NoCredentials)?;
                let store = BucketStore::new(address, credentials, REQUEST_LIMIT, WRITE_LIMIT);
                Arc::new(store.map_err(SharedCacheError::Client)?)
            }
        };
        Ok(SharedCache::over(
            store,
            config.place.to_string(),
            config.account,
        ))
    }

    fn over(store: Arc<dyn SharedStore>, place: String, account: String) -> SharedCache {
        SharedCache {
            inner: Arc::new(SharedState {
                store,
                place,
                account,
                // Zero is an unknown mount.
                holder: Holder(rand::random_range(1..u64::MAX)),
                reading: Health::default(),
                writing: Health::default(),
                reads: Semaphore::new(READS),
                claims: Semaphore::new(CLAIMS),
                writes: Arc::new(Semaphore::new(WRITES)),
                claim_wait: ClaimWaitPolicy::default(),
                hit_bytes: AtomicU64::new(0),
                stored_bytes: AtomicU64::new(0),
                bad_chunks: AtomicU64::new(0),
            }),
        }
    }

    /// The chunks of an object; `None` if the object has no ETag.
    pub fn object(&self, key: &ObjectKey) -> Option<SharedObject> {
        Some(SharedObject {
            inner: Arc::clone(&self.inner),
            id: ObjectId::of(&self.inner.account, key)?,
        })
    }

    pub fn stats(&self) -> SharedCacheStats {
        let inner = &self.inner;
        let (reading, writing) = (inner.reading.outage_now(), inner.writing.outage_now());
        let is_read = reading.is_none();
        let left_alone = reading.or(writing).map(|(why, left)| StoreOutage {
            why,
            is_read,
            seconds_left: left.as_secs(),
        });
        SharedCacheStats {
            place: inner.place.clone(),
            hit_bytes: inner.hit_bytes.load(Ordering::Relaxed),
            stored_bytes: inner.stored_bytes.load(Ordering::Relaxed),
            bad_chunks: inner.bad_chunks.load(Ordering::Relaxed),
            left_alone,
        }
    }
}

/// Where the next blocks of an object come from.
#[derive(Debug)]
pub enum NextBlocks {
    /// From the shared cache: the bytes of the next chunks.
    Here(Vec<Bytes>),
    /// From the service.
    Fetch(Turn),
}

impl SharedObject {
    /// The whole chunks around these blocks, clipped to the object. Only whole chunks are fetched.
    pub fn whole_chunks(&self, blocks: &Range<u64>, block_count: u64) -> Range<u64> {
        if blocks.is_empty() {
            return blocks.clone();
        }
        let chunks = chunks_of(blocks);
        chunks.start * CHUNK_BLOCKS..(chunks.end * CHUNK_BLOCKS).min(block_count)
    }

    /// Finds out where `blocks` come from, or the first of them. They begin with a chunk. Waits while another mount is
    /// fetching them, as long as its chunks arrive.
    pub async fn next(&self, blocks: Range<u64>) -> NextBlocks {
        let chunks = chunks_of(&blocks);
        let asked = Instant::now();
        loop {
            let found = self.stored(chunks.clone()).await;
            if !found.is_empty() {
                return NextBlocks::Here(found);
            }
            let holder = match self.claim(chunks.clone()).await {
                Claims::Ours(turn) => return NextBlocks::Fetch(turn),
                Claims::Arrived => continue,
                Claims::By(holder) => holder,
                Claims::Unavailable => return NextBlocks::Fetch(self.unclaimed(chunks)),
            };
            if !self.inner.claim_wait.may_wait(holder, asked) {
                return NextBlocks::Fetch(self.unclaimed(chunks.start..chunks.start + 1));
            }
            if let Some(chunk) = self.look_for(chunks.start, asked).await {
                self.inner.claim_wait.note_arrival(holder);
                return NextBlocks::Here(vec![chunk]);
            }
        }
    }

    /// Looks for a chunk that another mount is fetching, until the claim is to be tried again.
    async fn look_for(&self, chunk: u64, asked: Instant) -> Option<Bytes> {
        let begin = Instant::now();
        while begin.elapsed() < CLAIM_PAUSE {
            let pause = (asked.elapsed() / 2).clamp(FIRST_LOOK, MAX_POLL_PAUSE);
            tokio::time::sleep(pause.mul_f64(rand::random_range(0.5..1.5))).await;
            if let found @ Some(_) = self.get(chunk).await {
                return found;
            }
        }
        None
    }

    /// The first of these chunks, as far as they are stored without a gap.
    async fn stored(&self, chunks: Range<u64>) -> Vec<Bytes> {
        let gets = futures_util::stream::iter(chunks.map(|chunk| self.get(chunk)));
        let found = gets.buffered(READS_OF_ONE);
        let found = found.take_while(|found| std::future::ready(found.is_some()));
        found.filter_map(std::future::ready).collect().await
    }

    async fn get(&self, chunk: u64) -> Option<Bytes> {
        let inner = &self.inner;
        let name = self.id.chunk(chunk);
        let _permit = inner.reads.acquire().await;
        let stored = inner.read(inner.store.get(name)).await??;
        let content = name.decode(&stored, self.id.chunk_len(chunk));
        match &content {
            Some(content) => {
                let len = content.len() as u64;
                inner.hit_bytes.fetch_add(len, Ordering::Relaxed);
            }
            None => {
                inner.bad_chunks.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(%name, "a chunk of the shared cache is damaged; it is fetched again");
            }
        }
        content
    }

    /// Claims the first of these chunks, and those behind it that nobody else has claimed.
    async fn claim(&self, chunks: Range<u64>) -> Claims {
        let first = self.claim_one(chunks.start).await;
        if let Claims::Ours(mut turn) = first {
            let rest = join_all((chunks.start + 1..chunks.end).map(|it| self.claim_one(it))).await;
            // Dropping a turn that does not continue the first one releases its claim.
            for next in rest {
                match next {
                    Claims::Ours(next) => turn.append(next),
                    _ => break,
                }
            }
            return Claims::Ours(turn);
        }
        first
    }

    async fn claim_one(&self, chunk: u64) -> Claims {
        let inner = &self.inner;
        let name = self.id.chunk(chunk);
        // The time limit begins after it: many readers claim at once.
        let _permit = inner.claims.acquire().await;
        match inner.write(inner.store.claim(name, inner.holder)).await {
            None => Claims::Unavailable,
            Some(Claimed::By(holder)) => Claims::By(holder),
            Some(Claimed::Ours) => {
                let turn = Turn::new(self.clone(), chunk..chunk + 1, vec![chunk]);
                // Another mount may have stored it since it was missed. A damaged one is there too, and is replaced.
                match inner.read(inner.store.get(name)).await.flatten() {
                    Some(stored) if name.decode(&stored, self.id.chunk_len(chunk)).is_some() => {
                        Claims::Arrived
                    }
                    _ => Claims::Ours(turn),
                }
            }
        }
    }

    /// A turn without claims.
    fn unclaimed(&self, chunks: Range<u64>) -> Turn {
        Turn::new(self.clone(), chunks, Vec::new())
    }
}
