//! Chunks that this mount fetches from the service for all.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use tokio::runtime::Handle;

use super::chunk::CHUNK_BLOCKS;
use super::state::{REQUEST_LIMIT, SharedObject, SharedState};
use super::store::Holder;
use crate::cache::key::BLOCK_LEN_BYTES;

/// The outcome of a claim.
#[derive(Debug)]
pub(super) enum Claims {
    Ours(Turn),
    By(Holder),
    /// The chunk is stored by now.
    Arrived,
    /// The store cannot be written.
    Unavailable,
}

/// Chunks to fetch. Collects their bytes in the order of the object and stores each chunk that is complete. Drop guard: releases
/// the claims that are left.
#[derive(Debug)]
pub struct Turn {
    object: SharedObject,
    chunks: Range<u64>,
    /// Chunks with a claim of this mount.
    claimed: Vec<u64>,
    /// The first bytes of `chunks.start`, in pieces.
    pieces: Vec<Bytes>,
    len: u64,
}

impl Turn {
    pub(super) fn new(object: SharedObject, chunks: Range<u64>, claimed: Vec<u64>) -> Turn {
        Turn {
            object,
            chunks,
            claimed,
            pieces: Vec::new(),
            len: 0,
        }
    }

    /// Adds the turn of the next chunk.
    pub(super) fn append(&mut self, mut next: Turn) {
        debug_assert_eq!(self.chunks.end, next.chunks.start);
        self.chunks.end = next.chunks.end;
        self.claimed.append(&mut next.claimed);
    }

    /// The end of its blocks; the object may end before.
    pub fn end_block(&self) -> u64 {
        self.chunks.end * CHUNK_BLOCKS
    }

    /// Takes bytes at an offset of the object. Bytes that do not continue the ones before are of no use.
    pub async fn take(&mut self, mut offset: u64, mut bytes: Bytes) {
        while !bytes.is_empty() && !self.chunks.is_empty() {
            let chunk = self.chunks.start;
            let expected = chunk * CHUNK_BLOCKS * BLOCK_LEN_BYTES + self.len;
            if offset != expected {
                return;
            }
            let missing = self.object.id.chunk_len(chunk) - self.len;
            let piece = bytes.split_to(bytes.len().min(missing as usize));
            offset += piece.len() as u64;
            self.len += piece.len() as u64;
            self.pieces.push(piece);
            if self.len == self.object.id.chunk_len(chunk) {
                let pieces = std::mem::take(&mut self.pieces);
                self.len = 0;
                self.chunks.start += 1;
                self.store(chunk, pieces).await;
            }
        }
    }

    /// Writes a chunk in the background. Waits only while too many are being written.
    async fn store(&mut self, chunk: u64, pieces: Vec<Bytes>) {
        let inner = Arc::clone(&self.object.inner);
        let writes = Arc::clone(&inner.writes).acquire_owned();
        // Without a permit the chunk is not stored, and its claim is released with the turn.
        let Ok(Ok(permit)) = tokio::time::timeout(REQUEST_LIMIT, writes).await else {
            return;
        };
        let had_claim = self.claimed.contains(&chunk);
        self.claimed.retain(|it| *it != chunk);
        let object = self.object.clone();
        tokio::spawn(async move {
            let _permit = permit;
            let name = object.id.chunk(chunk);
            let len = object.id.chunk_len(chunk);
            let parts = name.encode(pieces);
            if inner
                .write_chunk(inner.store.put(name, parts))
                .await
                .is_some()
            {
                inner.stored_bytes.fetch_add(len, Ordering::Relaxed);
            }
            if had_claim {
                release(&inner, &object, chunk).await;
            }
        });
    }
}

async fn release(inner: &SharedState, object: &SharedObject, chunk: u64) {
    inner
        .write(inner.store.release(object.id.chunk(chunk)))
        .await;
}

impl Drop for Turn {
    fn drop(&mut self) {
        let claimed = std::mem::take(&mut self.claimed);
        // No runtime: the process is exiting. The claims stay and expire for other mounts.
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        if claimed.is_empty() {
            return;
        }
        let object = self.object.clone();
        runtime.spawn(async move {
            for chunk in claimed {
                release(&object.inner, &object, chunk).await;
            }
        });
    }
}
