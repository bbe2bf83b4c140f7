//! The task of a flight: requests its range, splits the data into blocks, and handles failures.
//!
//! The client resumes broken responses if the version proves that the content is the same. Here a refused URL
//! is renewed, a changed version ends the object, and other failures are retried as long as data arrives at
//! least every 30 seconds. A block is stored only if it is complete and from one response or one proven
//! version.
//!
//! Blocks that a reader waits for are delivered one by one from memory. Read-ahead is gathered as it arrives
//! and written to the cache in long runs, on other threads than the network's: one copy less and far fewer
//! writes.
//!
//! With a shared cache, the chunks that it has come from there. Those that it lacks are requested in this mount's turn and
//! stored for the other mounts as they arrive.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::time::Instant;
use tracing::debug;

use super::error::ReadError;
use super::flight::FetchState;
use super::gathered::Gathered;
use super::object::RemoteObject;
use super::urls::KeptUrl;
use crate::backoff::Backoff;
use crate::cache::{BLOCK_LEN_BYTES, NextBlocks, Turn};
use crate::client::{ClientError, ObjectMeta, RangeReply};

/// A fetch fails if no data arrives for this time.
pub(super) const DEADLINE: Duration = Duration::from_secs(30);
/// Pauses between two attempts.
const PAUSES: Backoff = Backoff::doubling(Duration::from_millis(200), Duration::from_secs(4));
/// Length of cache writes for read-ahead on a fast connection.
const RUN_BYTES: usize = 512 << 10;
/// The same while a reader waits: long enough to keep the page cache's pages large.
const AWAITED_RUN_BYTES: usize = 256 << 10;

/// Runs a flight to its end. Waiters are always woken, even if the task is aborted.
pub(super) async fn run_fetch(object: Arc<RemoteObject>, guard: FetchGuard) {
    let fetch_state = &guard.fetch_state;
    let outcome = Fetch::new(&object, fetch_state).run().await;
    if let Err(error) = &outcome {
        debug!(name = object.key().name, error = %error, "a fetch failed");
        if let ReadError::Stale { .. } = error {
            object.mark_stale();
        }
    }
    fetch_state.finish(outcome);
}

/// Drop guard: fails all waiters if the fetch task is aborted, or never runs because the runtime is gone.
pub(super) struct FetchGuard {
    fetch_state: Arc<FetchState>,
    name: String,
}

impl FetchGuard {
    pub(super) fn new(fetch_state: Arc<FetchState>, name: &str) -> FetchGuard {
        FetchGuard {
            fetch_state,
            name: name.to_owned(),
        }
    }
}

impl Drop for FetchGuard {
    fn drop(&mut self) {
        // The first outcome counts.
        self.fetch_state.finish(Err(ReadError::Stopped {
            name: std::mem::take(&mut self.name),
        }));
    }
}

struct Fetch<'a> {
    object: &'a Arc<RemoteObject>,
    fetch_state: &'a FetchState,
    /// The first block that is not delivered.
    block: u64,
    /// The end of the blocks that are being requested from the service.
    until: u64,
    /// The chunks to store in the shared cache.
    turn: Option<Turn>,
    /// Requested when the service is needed for the first time.
    url: Option<KeptUrl>,
    /// Received data of it and of later blocks.
    gathered: Gathered,
    /// Blocks that were delivered from memory and are not in the cache yet, with the number of the first.
    unstored: Vec<(u64, Vec<Bytes>)>,
    last_progress: Instant,
    /// Failures since the last byte.
    failures: u32,
    /// A renewed URL was tried since the last byte.
    renewed: bool,
}

impl<'a> Fetch<'a> {
    fn new(object: &'a Arc<RemoteObject>, fetch_state: &'a FetchState) -> Fetch<'a> {
        Fetch {
            object,
            fetch_state,
            block: fetch_state.blocks.start,
            until: fetch_state.blocks.end,
            turn: None,
            url: None,
            gathered: Gathered::default(),
            unstored: Vec::new(),
            last_progress: Instant::now(),
            failures: 0,
            renewed: false,
        }
    }

    async fn run(mut self) -> Result<(), ReadError> {
        while self.block < self.fetch_state.blocks.end {
            self.take_from_shared_cache().await;
            self.fetch_from_service().await?;
        }
        Ok(())
    }

    /// Delivers the next blocks that the shared cache has, and decides which blocks to request from the service.
    async fn take_from_shared_cache(&mut self) {
        let Some(shared) = self.object.shared() else {
            return;
        };
        let end = self.fetch_state.blocks.end;
        while self.block < end {
            match shared.next(self.block..end).await {
                NextBlocks::Here(chunks) => {
                    chunks
                        .into_iter()
                        .for_each(|chunk| self.gathered.push(chunk));
                    self.deliver(0).await;
                }
                NextBlocks::Fetch(turn) => {
                    self.until = turn.end_block().min(end);
                    self.turn = Some(turn);
                    break;
                }
            }
        }
        // The time for the shared cache does not count.
        self.last_progress = Instant::now();
    }

    /// Requests the blocks up to `until`.
    async fn fetch_from_service(&mut self) -> Result<(), ReadError> {
        if self.block >= self.until {
            return Ok(());
        }
        let mut url = match self.url.take() {
            Some(url) => url,
            None => self.with_deadline(self.object.urls().get()).await??,
        };
        while self.block < self.until {
            let outcome = self.fetch_on(&url).await;
            self.deliver(0).await;
            match outcome {
                Ok(()) => {}
                Err(ReadError::Transfer(error)) => url = self.repair(url, error).await?,
                Err(error) => return Err(error),
            }
        }
        self.url = Some(url);
        Ok(())
    }

    /// One request for everything that is missing, until the response ends or breaks.
    async fn fetch_on(&mut self, url: &KeptUrl) -> Result<(), ReadError> {
        let key = self.object.key();
        let end = self.end();
        let offset = self.position();
        let client = self.object.client();
        let request =
            client
                .transfers()
                .get_range(&url.url, offset, Some(end - offset), key.etag.as_deref());
        let RangeReply {
            meta, mut stream, ..
        } = self.with_deadline(request).await??;
        self.check_version(&meta)?;
        let is_proven = self.is_proven(&meta);
        if !self.gathered.is_empty() && !is_proven {
            // Two responses without a version must not be mixed in one block.
            self.gathered.clear();
            return Ok(());
        }
        loop {
            let next = match stream.next().now_or_never() {
                Some(chunk) => Some(chunk),
                None => {
                    if self.fetch_state.is_awaited() {
                        // No more data yet: stores what has arrived for the waiting reader.
                        self.deliver(0).await;
                    }
                    let next = self.fetch_state.until_awaited(stream.next());
                    self.with_deadline(next).await?
                }
            };
            match next {
                Some(Some(chunk)) => {
                    let (at, chunk) = (self.position(), chunk?);
                    self.take(chunk.clone())?;
                    if let Some(turn) = self.turn.as_mut().filter(|_| is_proven) {
                        turn.take(at, chunk).await;
                    }
                }
                Some(None) => break,
                None => continue,
            }
            self.deliver(RUN_BYTES).await;
        }
        if self.position() < end {
            return Err(ReadError::Transfer(ClientError::CutShort {
                what: key.name.clone(),
                missing_bytes: end - self.position(),
                reason: "the reply ended before the requested range".to_owned(),
            }));
        }
        Ok(())
    }

    /// The offset of the next byte.
    fn position(&self) -> u64 {
        self.block * BLOCK_LEN_BYTES + self.gathered.len() as u64
    }

    /// The end of the range.
    fn end(&self) -> u64 {
        (self.until * BLOCK_LEN_BYTES).min(self.object.key().size)
    }

    fn check_version(&self, meta: &ObjectMeta) -> Result<(), ReadError> {
        let key = self.object.key();
        let other_size = meta.size.is_some_and(|size| size != key.size);
        let other_etag = match (&key.etag, &meta.etag) {
            (Some(known), Some(found)) => without_weak_marker(known) != without_weak_marker(found),
            _ => false,
        };
        if other_size || other_etag {
            return Err(self.stale());
        }
        Ok(())
    }

    fn is_proven(&self, meta: &ObjectMeta) -> bool {
        self.object.key().etag.is_some() && meta.etag.is_some()
    }

    fn take(&mut self, chunk: Bytes) -> Result<(), ReadError> {
        if chunk.is_empty() {
            return Ok(());
        }
        self.object.note_fetched(chunk.len() as u64);
        self.last_progress = Instant::now();
        self.failures = 0;
        self.renewed = false;
        if self.position() + chunk.len() as u64 > self.end() {
            return Err(ReadError::Transfer(ClientError::Protocol {
                what: self.object.key().name.clone(),
                reason: "the service sent more bytes than requested".to_owned(),
            }));
        }
        self.gathered.push(chunk);
        Ok(())
    }

    /// Delivers complete blocks: at once if a reader waits for them, else when they are at least `at_least`
    /// bytes.
    async fn deliver(&mut self, at_least: usize) {
        let (first, mut wanted) = (self.block, Vec::new());
        while self.fetch_state.wanted.contains(&self.block) && self.has_block() {
            let bytes = self.gathered.split_to(self.object.block_len(self.block));
            let whole = bytes.whole();
            self.fetch_state
                .deliver_in_memory(self.block, whole.clone());
            wanted.push(whole);
            self.block += 1;
        }
        if !wanted.is_empty() {
            self.unstored.push((first, wanted));
        }
        // The end of a response comes first, because it frees the connection for the next request.
        if at_least == 0 || self.position() < self.end() {
            for (first, blocks) in std::mem::take(&mut self.unstored) {
                self.store(first, blocks).await;
            }
        }
        let at_least = match self.fetch_state.is_awaited() {
            true => at_least.min(AWAITED_RUN_BYTES),
            false => at_least,
        };
        if self.has_block() && self.gathered.len() >= at_least {
            self.deliver_run(at_least as u64 / BLOCK_LEN_BYTES).await;
        }
    }

    fn has_block(&self) -> bool {
        self.block < self.fetch_state.blocks.end
            && self.gathered.len() >= self.object.block_len(self.block)
    }

    /// Writes complete blocks to the cache, or to memory if the cache does not accept them. A run ends at a
    /// multiple of `align` blocks if it reaches one: the kernel keeps written data in large pages only if they
    /// are aligned.
    async fn deliver_run(&mut self, align: u64) {
        let first = self.block;
        let (mut len, mut aligned) = (0, None);
        while self.block < self.fetch_state.blocks.end
            && self.gathered.len() >= len + self.object.block_len(self.block)
        {
            len += self.object.block_len(self.block);
            self.block += 1;
            if align > 1 && self.block.is_multiple_of(align) {
                aligned = Some((self.block, len));
            }
        }
        if let Some(aligned) = aligned {
            (self.block, len) = aligned;
        }
        let mut run = self.gathered.split_to(len);
        if self.store(first, run.pieces().to_vec()).await {
            self.fetch_state.share.give_back(len as u64);
            self.fetch_state.deliver_cached(self.block);
            return;
        }
        for block in first..self.block {
            let bytes = run.split_to(self.object.block_len(block)).whole();
            self.fetch_state.deliver_in_memory(block, bytes);
        }
    }

    /// Writes to the cache on a blocking thread.
    async fn store(&self, first: u64, pieces: Vec<Bytes>) -> bool {
        let object = Arc::clone(self.object);
        let writing = tokio::task::spawn_blocking(move || object.store(first, &pieces));
        // It fails only by a bug, or if the runtime ends.
        writing.await.unwrap_or(false)
    }

    /// Handles a failure by its kind and returns the URL to continue with.
    async fn repair(&mut self, url: KeptUrl, error: ClientError) -> Result<KeptUrl, ReadError> {
        self.failures += 1;
        match error {
            ClientError::Changed { .. } => Err(self.stale()),
            ClientError::Expired { .. } | ClientError::Forbidden { .. } if !self.renewed => {
                self.renewed = true;
                debug!(name = self.object.key().name, "renewing a signed URL");
                self.with_deadline(self.object.urls().renew(&url)).await?
            }
            // A single invalid response may come from a proxy; a second one is the storage's.
            ClientError::Protocol { .. } if self.failures == 1 => Ok(url),
            error if error.is_transient() => {
                self.pause(&error).await?;
                Ok(url)
            }
            error => Err(ReadError::Transfer(error)),
        }
    }

    /// Waits before the next attempt, unless the deadline would come first.
    async fn pause(&self, error: &ClientError) -> Result<(), ReadError> {
        if self.failures == 1 {
            return Ok(());
        }
        // The first failure is repaired at once.
        let bound = PAUSES.after(self.failures - 1);
        let pause = bound.mul_f64(rand::random_range(0.5..1.0));
        let pause = error.retry_after().map_or(pause, |asked| asked.max(pause));
        if Instant::now() + pause >= self.last_progress + DEADLINE {
            return Err(ReadError::Transfer(error.clone()));
        }
        tokio::time::sleep(pause).await;
        Ok(())
    }

    /// The future's value, if it is ready before the deadline since the last byte.
    async fn with_deadline<T>(&self, future: impl Future<Output = T>) -> Result<T, ReadError> {
        tokio::time::timeout_at(self.last_progress + DEADLINE, future)
            .await
            .map_err(|_elapsed| ReadError::TimedOut {
                name: self.object.key().name.clone(),
                after: DEADLINE,
            })
    }

    fn stale(&self) -> ReadError {
        ReadError::Stale {
            name: self.object.key().name.clone(),
        }
    }
}

/// An ETag without the weak marker, which a server may add for a partial response.
fn without_weak_marker(etag: &str) -> &str {
    etag.strip_prefix("W/").unwrap_or(etag)
}
