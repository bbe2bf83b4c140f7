//! The task of a flight: asks for its range, cuts what comes into blocks, and repairs what breaks.
//!
//! The client resumes broken bodies where the version can be proved; here a refused URL is renewed,
//! a version that changed ends the object, and what else fails is tried again for as long as bytes
//! come at least every 30 seconds. A block is stored only when it is whole and of one answer or of
//! one proven version.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use tokio::time::Instant;
use tracing::debug;

use super::ReadError;
use super::flight::{Course, Landed};
use super::object::RemoteObject;
use super::urls::KeptUrl;
use crate::cache::BLOCK_LEN_BYTES;
use crate::client::{ClientError, ObjectMeta, RangeReply};

/// A fetch to which nothing comes for so long has failed.
pub(super) const DEADLINE: Duration = Duration::from_secs(30);
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(4);

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
    object: &'a RemoteObject,
    course: &'a Course,
    /// The block that is being filled.
    block: u64,
    filling: BytesMut,
    last_progress: Instant,
    /// Failures since the last byte.
    failures: u32,
    /// A new URL was tried since the last byte.
    renewed: bool,
}

impl<'a> Fetch<'a> {
    fn new(object: &'a RemoteObject, course: &'a Course) -> Fetch<'a> {
        Fetch {
            object,
            course,
            block: course.blocks.start,
            filling: BytesMut::new(),
            last_progress: Instant::now(),
            failures: 0,
            renewed: false,
        }
    }

    async fn run(mut self) -> Result<(), ReadError> {
        let mut url = self.in_time(self.object.urls().get()).await??;
        while self.block < self.course.blocks.end {
            match self.fetch_on(&url).await {
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
        let offset = self.block * BLOCK_LEN_BYTES + self.filling.len() as u64;
        let end = (self.course.blocks.end * BLOCK_LEN_BYTES).min(key.size);
        let client = self.object.client();
        let request = client.get_range(&url.url, offset, Some(end - offset), key.etag.as_deref());
        let RangeReply {
            meta, mut stream, ..
        } = self.in_time(request).await??;
        self.check_version(&meta)?;
        if !self.filling.is_empty() && !self.is_proven(&meta) {
            // Two answers without a version must not meet within a block.
            self.filling.clear();
            return Ok(());
        }
        while let Some(chunk) = self.in_time(stream.next()).await? {
            self.take(chunk?)?;
        }
        if self.block < self.course.blocks.end {
            let missing_bytes = end - self.block * BLOCK_LEN_BYTES - self.filling.len() as u64;
            return Err(ReadError::Transfer(ClientError::CutShort {
                what: key.name.clone(),
                missing_bytes,
                reason: "the body ended before the range did".to_owned(),
            }));
        }
        Ok(())
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

    fn take(&mut self, mut chunk: Bytes) -> Result<(), ReadError> {
        if chunk.is_empty() {
            return Ok(());
        }
        self.last_progress = Instant::now();
        self.failures = 0;
        self.renewed = false;
        while !chunk.is_empty() {
            if self.block >= self.course.blocks.end {
                return Err(ReadError::Transfer(ClientError::Protocol {
                    what: self.object.key().name.clone(),
                    reason: "more bytes came than were asked for".to_owned(),
                }));
            }
            let len = self.object.block_len(self.block);
            if self.filling.is_empty() && chunk.len() >= len {
                // A whole block in one piece needs no copy.
                let whole = chunk.split_to(len);
                self.land(whole);
                continue;
            }
            self.filling.reserve(len - self.filling.len());
            let part = chunk.split_to(chunk.len().min(len - self.filling.len()));
            self.filling.extend_from_slice(&part);
            if self.filling.len() == len {
                let whole = self.filling.split().freeze();
                self.land(whole);
            }
        }
        Ok(())
    }

    fn land(&mut self, bytes: Bytes) {
        let stored = self.object.store(self.block, &bytes);
        let len = bytes.len() as u64;
        let landed = if !stored || self.course.wanted.contains(&self.block) {
            Landed::Held(bytes)
        } else {
            self.course.share.give_back(len);
            Landed::Cached
        };
        self.course.land(self.block, landed);
        self.block += 1;
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
