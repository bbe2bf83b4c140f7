//! One request for a range: sends it and checks that the reply matches it.
//!
//! A reply is accepted if it has the requested version and covers the range from its start; `range` checks
//! that all bytes arrive.

use std::pin::Pin;

use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use reqwest::header::{HeaderMap, HeaderValue, IF_RANGE, RANGE};
use reqwest::{Response, StatusCode};

use super::body::{self, BodyFault};
use super::error::ClientError;
use super::meta::{ContentRange, ObjectMeta};
use super::storage::{self, SignedObject};
use super::transport::Connection;

pub(super) type Chunks = Pin<Box<dyn stream::Stream<Item = Result<Bytes, BodyFault>> + Send>>;

/// The object to read from.
pub(super) struct Source {
    pub(super) object: SignedObject,
}

/// One accepted reply.
pub(super) struct Part {
    pub(super) meta: ObjectMeta,
    pub(super) partial: bool,
    pub(super) body: Chunks,
    /// Bytes before the range that the reply also contains.
    pub(super) skip: u64,
    /// End of the reply, if known.
    pub(super) end: Option<u64>,
}

/// The requested range.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) offset: u64,
    /// Exclusive; `None` for the end of the object.
    pub(super) end: Option<u64>,
    /// ETag of the requested version.
    pub(super) if_range: Option<&'a str>,
}

impl Source {
    /// Repeats the request until it succeeds or the retry policy ends; retries use fresh connections.
    pub(super) async fn fetch_repeatedly(
        &self,
        wanted: Wanted<'_>,
        first: Connection,
    ) -> Result<Part, ClientError> {
        let retries = self.object.storage.retries;
        let attempt = |failed| {
            let connection = if failed == 0 {
                first
            } else {
                Connection::Fresh
            };
            self.fetch(wanted, connection)
        };
        let patience = Some(retries.interactive_patience);
        retries.repeat(&self.object.what, patience, attempt).await
    }

    async fn fetch(&self, wanted: Wanted<'_>, connection: Connection) -> Result<Part, ClientError> {
        let response = self.ask(wanted, connection).await?;
        let answered = ContentRange::of(response.headers());
        let without_total = answered.is_none_or(|range| range.total.is_none());
        if response.status() == StatusCode::RANGE_NOT_SATISFIABLE && without_total {
            // The 416 does not contain the length of the object; a request for the whole object does.
            let whole = Wanted {
                offset: 0,
                end: None,
                ..wanted
            };
            let response = self.ask(whole, connection).await?;
            return self.judge(response, wanted).await;
        }
        self.judge(response, wanted).await
    }

    async fn ask(
        &self,
        wanted: Wanted<'_>,
        connection: Connection,
    ) -> Result<Response, ClientError> {
        let mut headers = HeaderMap::new();
        let range = match (wanted.offset, wanted.end) {
            (0, None) => None,
            (offset, None) => Some(format!("bytes={offset}-")),
            (offset, Some(end)) => Some(format!("bytes={offset}-{}", end - 1)),
        };
        if let Some(range) = range {
            headers.insert(
                RANGE,
                HeaderValue::try_from(range).expect("a range is header text"),
            );
            // A weak ETag never matches in If-Range and would disable ranges.
            let etag = wanted
                .if_range
                .filter(|etag| etag.starts_with('"'))
                .map(HeaderValue::from_str);
            if let Some(Ok(etag)) = etag {
                headers.insert(IF_RANGE, etag);
            }
        }
        self.object.get(headers, connection).await
    }

    async fn judge(&self, response: Response, wanted: Wanted<'_>) -> Result<Part, ClientError> {
        let Wanted {
            offset,
            end,
            if_range,
        } = wanted;
        let stall = self.object.storage.deadlines.stall;
        let status = response.status();
        let meta = ObjectMeta::of(status, response.headers());
        let down = &self.object.storage.down;
        let body_of = |response| down.limit(body::chunks(response, stall));
        match status {
            StatusCode::OK => {
                self.check_version(&meta, if_range)?;
                let end = meta.size;
                let body = body_of(response);
                Ok(Part {
                    meta,
                    partial: false,
                    body,
                    skip: offset,
                    end,
                })
            }
            StatusCode::PARTIAL_CONTENT => {
                self.check_version(&meta, if_range)?;
                let part_end = self.check_range(&response, offset, end)?;
                let body = body_of(response);
                Ok(Part {
                    meta,
                    partial: true,
                    body,
                    skip: 0,
                    end: Some(part_end),
                })
            }
            StatusCode::RANGE_NOT_SATISFIABLE if meta.size.is_some_and(|size| size <= offset) => {
                self.check_version(&meta, if_range)?;
                storage::drain(response, stall).await;
                Ok(Part {
                    meta,
                    partial: true,
                    body: stream::empty().boxed(),
                    skip: 0,
                    end: Some(offset),
                })
            }
            StatusCode::RANGE_NOT_SATISFIABLE => Err(self.object.protocol(format!(
                "the range at {offset} of {:?} bytes was refused",
                meta.size
            ))),
            StatusCode::NO_CONTENT => Ok(Part {
                meta: ObjectMeta {
                    size: Some(0),
                    ..meta
                },
                partial: false,
                body: stream::empty().boxed(),
                skip: 0,
                end: Some(offset),
            }),
            _ => Err(self.object.refusal(response).await),
        }
    }

    /// Returns the end of a partial reply; fails if it is for another range.
    fn check_range(
        &self,
        response: &Response,
        offset: u64,
        end: Option<u64>,
    ) -> Result<u64, ClientError> {
        let range = ContentRange::of(response.headers());
        let Some((first, last)) = range.and_then(|range| range.bytes) else {
            return Err(self
                .object
                .protocol("a partial reply without a valid Content-Range".to_owned()));
        };
        if first != offset || end.is_some_and(|end| last >= end) {
            return Err(self.object.protocol(format!(
                "bytes {first} to {last} instead of the requested bytes from {offset}"
            )));
        }
        let announced = super::meta::content_length(response.headers());
        if announced.is_some_and(|announced| announced != last - first + 1) {
            return Err(self.object.protocol(format!(
                "the Content-Length does not match the range {first} to {last}"
            )));
        }
        Ok(last + 1)
    }

    pub(super) fn check_version(
        &self,
        meta: &ObjectMeta,
        if_range: Option<&str>,
    ) -> Result<(), ClientError> {
        let bare = |etag: &str| etag.strip_prefix("W/").unwrap_or(etag).to_owned();
        match (if_range, meta.etag.as_deref()) {
            (Some(expected), Some(found)) if bare(expected) != bare(found) => {
                Err(ClientError::Changed {
                    what: self.object.what.clone(),
                })
            }
            _ => Ok(()),
        }
    }
}
