//! The task of a flight: asks for its range, cuts what comes into blocks, and repairs what breaks.
//!
//! The client resumes broken bodies where the version can be proved; here a refused URL is renewed,
//! a version that changed ends the object, and what else fails is tried again for as long as bytes
//! come at least every 30 seconds. A block is stored only when it is whole and of one answer or of
//! one proven version.
//!
//! What a reader waits for lands block by block, out of memory. What is fetched ahead is gathered
//! in the pieces in which it comes and goes to the cache in long runs, away from the network's
//! threads: one copy less, and far fewer writes.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::time::Instant;
use tracing::debug;

use super::error::ReadError;
use super::flight::Course;
use super::gathered::Gathered;
use super::object::RemoteObject;
use super::urls::KeptUrl;
use crate::cache::BLOCK_LEN_BYTES;
use crate::client::{ClientError, ObjectMeta, RangeReply};

/// A fetch to which nothing comes for so long has failed.
pub(super) const DEADLINE: Duration = Duration::from_secs(30);
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(4);
/// What is fetched ahead goes to the cache in runs of this length, where it comes quickly.
const RUN_BYTES: usize = 512 << 10;
/// The same while a reader waits: long enough that the cache's pages stay large.
const AWAITED_RUN_BYTES: usize = 256 << 10;

/// Runs a flight to its end. However its task ends, nobody waits for ever.
pub(super) async fn fly(object: Arc<RemoteObject>, landing: Landing) {
    let course = &landing.course;
    let outcome = Fetch::new(&object, course).run().await;
    if let Err(error) = &outcome {
        debug!(name = object.key().name, error = %error, "a fetch failed");
        if let ReadError::Stale { .. } = error {
            object.mark_stale();
        }
    }
    course.finish(outcome);
}

/// Goes with the task of a flight: tells the waiting that it is over, even when the task is
/// stopped or never runs because the runtime is gone.
pub(super) struct Landing {
    course: Arc<Course>,
    name: String,
}

impl Landing {
    pub(super) fn new(course: Arc<Course>, name: &str) -> Landing {
        Landing {
            course,
            name: name.to_owned(),
        }
    }
}

impl Drop for Landing {
    fn drop(&mut self) {
        // The first outcome stands.
        self.course.finish(Err(ReadError::Stopped {
            name: std::mem::take(&mut self.name),
        }));
    }
}

struct Fetch<'a> {
    object: &'a Arc<RemoteObject>,
    course: &'a Course,
    /// The first block that has not landed.
    block: u64,
    /// What has come of it and of those behind it.
    gathered: Gathered,
    /// Blocks that landed out of memory and are not in the cache yet, with the number of the first.
    unstored: Vec<(u64, Vec<Bytes>)>,
    last_progress: Instant,
    /// Failures since the last byte.
    failures: u32,
    /// A new URL was tried since the last byte.
    renewed: bool,
}

impl<'a> Fetch<'a> {
    fn new(object: &'a Arc<RemoteObject>, course: &'a Course) -> Fetch<'a> {
        Fetch {
            object,
            course,
            block: course.blocks.start,
            gathered: Gathered::default(),
            unstored: Vec::new(),
            last_progress: Instant::now(),
            failures: 0,
            renewed: false,
        }
    }

    async fn run(mut self) -> Result<(), ReadError> {
        let mut url = self.in_time(self.object.urls().get()).await??;
        while self.block < self.course.blocks.end {
            let outcome = self.fetch_on(&url).await;
            self.land(0).await;
            match outcome {
                Ok(()) => {}
                Err(ReadError::Transfer(error)) => url = self.repair(url, error).await?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// One request for all that is missing, until its body ends or breaks.
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
        } = self.in_time(request).await??;
        self.check_version(&meta)?;
        if !self.gathered.is_empty() && !self.is_proven(&meta) {
            // Two answers without a version must not meet within a block.
            self.gathered.clear();
            return Ok(());
        }
        loop {
            let next = match stream.next().now_or_never() {
                Some(chunk) => Some(chunk),
                None => {
                    if self.course.is_awaited() {
                        // Nothing more has come yet: what has is put away for who waits for it.
                        self.land(0).await;
                    }
                    let next = self.course.unless_asked(stream.next());
                    self.in_time(next).await?
                }
            };
            match next {
                Some(Some(chunk)) => self.take(chunk?)?,
                Some(None) => break,
                None => continue,
            }
            self.land(RUN_BYTES).await;
        }
        if self.position() < end {
            return Err(ReadError::Transfer(ClientError::CutShort {
                what: key.name.clone(),
                missing_bytes: end - self.position(),
                reason: "the body ended before the range did".to_owned(),
            }));
        }
        Ok(())
    }

    /// Where the next byte goes.
    fn position(&self) -> u64 {
        self.block * BLOCK_LEN_BYTES + self.gathered.len() as u64
    }

    /// The end of the range.
    fn end(&self) -> u64 {
        (self.course.blocks.end * BLOCK_LEN_BYTES).min(self.object.key().size)
    }

    fn check_version(&self, meta: &ObjectMeta) -> Result<(), ReadError> {
        let key = self.object.key();
        let other_size = meta.size.is_some_and(|size| size != key.size);
        let other_etag = match (&key.etag, &meta.etag) {
            (Some(known), Some(found)) => bare(known) != bare(found),
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
                reason: "more bytes came than were asked for".to_owned(),
            }));
        }
        self.gathered.push(chunk);
        Ok(())
    }

    /// Lands the whole blocks that have come: at once those that somebody waits for, the others when
    /// they are at least so many bytes.
    async fn land(&mut self, at_least: usize) {
        let (first, mut wanted) = (self.block, Vec::new());
        while self.course.wanted.contains(&self.block) && self.has_block() {
            let bytes = self.gathered.split_to(self.object.block_len(self.block));
            let whole = bytes.whole();
            self.course.land_held(self.block, whole.clone());
            wanted.push(whole);
            self.block += 1;
        }
        if !wanted.is_empty() {
            self.unstored.push((first, wanted));
        }
        // The end of a body comes first: after it the connection can serve the next request.
        if at_least == 0 || self.position() < self.end() {
            for (first, blocks) in std::mem::take(&mut self.unstored) {
                self.store(first, blocks).await;
            }
        }
        let at_least = match self.course.is_awaited() {
            true => at_least.min(AWAITED_RUN_BYTES),
            false => at_least,
        };
        if self.has_block() && self.gathered.len() >= at_least {
            self.land_run(at_least as u64 / BLOCK_LEN_BYTES).await;
        }
    }

    fn has_block(&self) -> bool {
        self.block < self.course.blocks.end
            && self.gathered.len() >= self.object.block_len(self.block)
    }

    /// Puts whole blocks that have come into the cache; into memory where that takes them not. The
    /// run ends at a multiple of `align` blocks where it reaches one: the kernel keeps what is
    /// written in one go in pages that are large only where they are aligned.
    async fn land_run(&mut self, align: u64) {
        let first = self.block;
        let (mut len, mut aligned) = (0, None);
        while self.block < self.course.blocks.end
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
            self.course.share.give_back(len as u64);
            self.course.land_cached(self.block);
            return;
        }
        for block in first..self.block {
            let bytes = run.split_to(self.object.block_len(block)).whole();
            self.course.land_held(block, bytes);
        }
    }

    /// Writes to the cache on a thread that may wait for the disk.
    async fn store(&self, first: u64, pieces: Vec<Bytes>) -> bool {
        let object = Arc::clone(self.object);
        let writing = tokio::task::spawn_blocking(move || object.store(first, &pieces));
        // It panics only by a bug, or does not begin because the runtime ends.
        writing.await.unwrap_or(false)
    }

    /// Decides what may help, does it, and gives the URL to go on with.
    async fn repair(&mut self, url: KeptUrl, error: ClientError) -> Result<KeptUrl, ReadError> {
        self.failures += 1;
        match error {
            ClientError::Changed { .. } => Err(self.stale()),
            ClientError::Expired { .. } | ClientError::Forbidden { .. } if !self.renewed => {
                self.renewed = true;
                debug!(name = self.object.key().name, "renewing a signed URL");
                self.in_time(self.object.urls().renew(&url)).await?
            }
            // A single answer without sense may be a proxy's on the way; a second is the storage's own.
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
        let longest = FIRST_PAUSE * 2_u32.saturating_pow(self.failures - 2).min(64);
        let pause = longest
            .min(LONGEST_PAUSE)
            .mul_f64(rand::random_range(0.5..1.0));
        let pause = error.retry_after().map_or(pause, |asked| asked.max(pause));
        if Instant::now() + pause >= self.last_progress + DEADLINE {
            return Err(ReadError::Transfer(error.clone()));
        }
        tokio::time::sleep(pause).await;
        Ok(())
    }

    /// The future's value, if it comes before the deadline since the last byte.
    async fn in_time<T>(&self, future: impl Future<Output = T>) -> Result<T, ReadError> {
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

/// An ETag without the mark of a weak one: a server may weaken it for a part.
fn bare(etag: &str) -> &str {
    etag.strip_prefix("W/").unwrap_or(etag)
}
