//! What all handles of a shared cache share: the store, its health, limits and counts.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::chunk::ObjectId;
use super::claim_wait::ClaimWaitPolicy;
use super::health::Health;
use super::store::{Holder, SharedStore, StoreError};

/// Longest time for one request to the store.
pub(super) const REQUEST_LIMIT: Duration = Duration::from_secs(3);

/// Longest time to write one chunk. No reader waits for it.
pub(super) const WRITE_LIMIT: Duration = Duration::from_secs(15);

#[derive(Debug)]
pub(super) struct SharedState {
    pub(super) store: Arc<dyn SharedStore>,
    pub(super) place: String,
    pub(super) account: String,
    pub(super) holder: Holder,
    pub(super) reading: Health,
    pub(super) writing: Health,
    pub(super) reads: Semaphore,
    pub(super) claims: Semaphore,
    pub(super) writes: Arc<Semaphore>,
    pub(super) claim_wait: ClaimWaitPolicy,
    pub(super) hit_bytes: AtomicU64,
    pub(super) stored_bytes: AtomicU64,
    pub(super) bad_chunks: AtomicU64,
}

impl SharedState {
    /// Runs a request that reads; `None` if it failed or the store is left alone.
    pub(super) async fn read<T>(
        &self,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Option<T> {
        self.limited(&self.reading, REQUEST_LIMIT, "read", work)
            .await
    }

    pub(super) async fn write<T>(
        &self,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Option<T> {
        self.limited(&self.writing, REQUEST_LIMIT, "written", work)
            .await
    }

    /// Writes a chunk in the background.
    pub(super) async fn write_chunk(
        &self,
        work: impl Future<Output = Result<(), StoreError>>,
    ) -> Option<()> {
        self.limited(&self.writing, WRITE_LIMIT, "written", work)
            .await
    }

    async fn limited<T>(
        &self,
        health: &Health,
        limit: Duration,
        doing: &str,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Option<T> {
        if !health.may_try() {
            return None;
        }
        match tokio::time::timeout(limit, work).await {
            Ok(Ok(value)) => {
                health.note_success(&self.place, doing);
                Some(value)
            }
            Ok(Err(error)) => {
                health.note_failure(&self.place, doing, &error);
                None
            }
            Err(_) => {
                // A store that hangs does so for readers and writers.
                self.reading.note_late(&self.place, "read", limit);
                self.writing.note_late(&self.place, "written", limit);
                None
            }
        }
    }
}

/// The chunks of one object in the shared cache.
#[derive(Debug, Clone)]
pub struct SharedObject {
    pub(super) inner: Arc<SharedState>,
    pub(super) id: ObjectId,
}
