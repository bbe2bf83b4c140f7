//! Reads a range of the object behind a signed URL.
//!
//! The invariant: the stream returns exactly the bytes of the range, in order, of one version of the object,
//! or it ends with an error. Servers that ignore ranges, send fewer bytes, disconnect or stall are tolerated;
//! a wrong range or a body that is too long is an error.

use bytes::Bytes;
use futures_util::stream::{self, StreamExt};

use super::body::{BodyFault, ByteStream};
use super::error::ClientError;
use super::meta::ObjectMeta;
use super::probe::probe;
use super::range_source::{Chunks, Source, Wanted};
use super::storage::{self, SignedObject};
use super::transport::Connection;

/// A range of an object while it is read.
pub struct RangeReply {
    pub meta: ObjectMeta,
    /// Whether the server sent only the range; otherwise the rest is skipped here.
    pub partial: bool,
    /// Length of the stream if known: the requested length, clipped to the end of the object.
    pub len: Option<u64>,
    /// Exactly these bytes; ends with an error if some are missing.
    pub stream: ByteStream,
}

impl std::fmt::Debug for RangeReply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RangeReply")
            .field("meta", &self.meta)
            .field("partial", &self.partial)
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

/// Reads `len` bytes from `offset`, or to the end.
pub(super) async fn get_range(
    object: SignedObject,
    offset: u64,
    len: Option<u64>,
    if_range: Option<&str>,
) -> Result<RangeReply, ClientError> {
    let source = Source { object };
    if len == Some(0) {
        let meta = probe(&source.object).await?;
        source.check_version(&meta, if_range)?;
        return Ok(RangeReply {
            meta,
            partial: true,
            len: Some(0),
            stream: stream::empty().boxed(),
        });
    }
    let end = len.map(|len| offset.saturating_add(len));
    let wanted = Wanted {
        offset,
        end,
        if_range,
    };
    let part = source.fetch_repeatedly(wanted, Connection::Kept).await?;
    let end = match (end, part.meta.size) {
        (Some(end), Some(size)) => Some(end.min(size).max(offset)),
        (None, Some(size)) => Some(size.max(offset)),
        (end, None) => end,
    };
    let known_end = part.meta.size.is_some();
    let (meta, partial) = (part.meta.clone(), part.partial);
    let reading = Reading {
        etag: meta.strong_etag().map(str::to_owned),
        source,
        body: Some(part.body),
        skip: part.skip,
        part_end: part.end,
        position: offset,
        end,
        known_end,
        partial,
        failed: 0,
    };
    Ok(RangeReply {
        meta,
        partial,
        len: end.filter(|_| known_end).map(|end| end - offset),
        stream: reading.into_stream(),
    })
}

struct Reading {
    source: Source,
    etag: Option<String>,
    body: Option<Chunks>,
    skip: u64,
    part_end: Option<u64>,
    position: u64,
    end: Option<u64>,
    /// Whether `end` is clipped to the size of the object, and not only the requested end.
    known_end: bool,
    /// Whether the current reply contains only the range.
    partial: bool,
    failed: u32,
}

impl Reading {
    fn into_stream(self) -> ByteStream {
        let stream = stream::unfold(Some(self), |reading| async {
            let mut reading = reading?;
            match reading.next().await? {
                Ok(bytes) => Some((Ok(bytes), Some(reading))),
                Err(error) => Some((Err(error), None)),
            }
        });
        stream.boxed()
    }

    async fn next(&mut self) -> Option<Result<Bytes, ClientError>> {
        loop {
            if self.end.is_some_and(|end| self.position >= end) {
                return self.check_nothing_follows().await;
            }
            if self.body.is_none()
                && let Err(error) = self.resume().await
            {
                return Some(Err(error));
            }
            let chunk = self
                .body
                .as_mut()
                .expect("there is a body after resuming")
                .next()
                .await;
            let fault = match chunk {
                Some(Ok(bytes)) => match self.take(bytes) {
                    Ok(bytes) if bytes.is_empty() => continue,
                    result => return Some(result),
                },
                Some(Err(fault)) => fault,
                None if self.part_end.is_some_and(|end| self.position < end) => {
                    BodyFault::Broken("the body is shorter than announced".to_owned())
                }
                // Without a known length the object ends where the body ends.
                None if !self.known_end && !self.partial => return None,
                None => BodyFault::Broken("the reply ended before the end of the range".to_owned()),
            };
            if let Err(error) = self.after(fault).await {
                return Some(Err(error));
            }
        }
    }

    /// Returns the bytes of a chunk that belong to the range.
    fn take(&mut self, mut bytes: Bytes) -> Result<Bytes, ClientError> {
        let skipped = self.skip.min(bytes.len() as u64);
        self.skip -= skipped;
        let mut bytes = bytes.split_off(skipped as usize);
        let room = self
            .part_end
            .map_or(u64::MAX, |end| end.saturating_sub(self.position));
        if bytes.len() as u64 > room {
            return Err(self
                .source
                .object
                .protocol("the body is longer than announced".to_owned()));
        }
        if let Some(end) = self.end {
            bytes.truncate(usize::try_from(end - self.position).unwrap_or(usize::MAX));
        }
        self.position += bytes.len() as u64;
        if !bytes.is_empty() {
            self.failed = 0;
        }
        Ok(bytes)
    }

    /// After the last byte of a partial reply the body must end. The rest of a whole object is ignored.
    async fn check_nothing_follows(&mut self) -> Option<Result<Bytes, ClientError>> {
        let is_part_end = self.partial && self.part_end == Some(self.position);
        let mut body = self.body.take().filter(|_| is_part_end)?;
        match body.next().await {
            Some(Ok(more)) if !more.is_empty() => Some(Err(self
                .source
                .object
                .protocol("the body is longer than announced".to_owned()))),
            // All bytes have arrived; the end of the connection does not matter.
            _ => None,
        }
    }

    /// Decides whether reading can be resumed after a failure, and waits before that.
    async fn after(&mut self, fault: BodyFault) -> Result<(), ClientError> {
        self.body = None;
        let retries = self.source.object.storage.retries;
        let stall = self.source.object.storage.deadlines.stall;
        let missing = self.end.map_or(0, |end| end - self.position);
        let error = storage::cut_short(fault, &self.source.object.what, missing, stall);
        self.failed += 1;
        if self.etag.is_none() || !error.is_transient() || self.failed >= retries.attempts {
            return Err(error);
        }
        tracing::debug!(attempt = self.failed, offset = self.position, %error, "resuming a range");
        // Resume at once after the first failure, which is often a single one.
        if self.failed > 1 {
            tokio::time::sleep(retries.jittered(self.failed)).await;
        }
        Ok(())
    }

    async fn resume(&mut self) -> Result<(), ClientError> {
        let etag = self.etag.clone();
        let wanted = Wanted {
            offset: self.position,
            end: self.end,
            if_range: etag.as_deref(),
        };
        let part = self
            .source
            .fetch_repeatedly(wanted, Connection::Fresh)
            .await?;
        if part.meta.etag != etag {
            return Err(ClientError::Changed {
                what: self.source.object.what.clone(),
            });
        }
        if let Some(size) = part.meta.size {
            self.end = Some(self.end.map_or(size, |end| end.min(size)));
            self.known_end = true;
        }
        self.skip = part.skip;
        self.part_end = part.end;
        self.partial = part.partial;
        self.body = Some(part.body);
        Ok(())
    }
}
