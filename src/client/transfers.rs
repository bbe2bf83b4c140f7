//! Transfers of files through signed URLs; never with the token.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::Stream;

use super::error::ClientError;
use super::meta::ObjectMeta;
use super::put::PutReply;
use super::range::RangeReply;
use super::storage::{SignedObject, Storage};
use super::{probe, put, range};
use crate::wire::SignedUrl;

/// Transfers of files through signed URLs. The rate limit does not count them.
#[derive(Clone, Copy)]
pub struct Transfers<'a> {
    pub(super) storage: &'a Arc<Storage>,
}

impl Transfers<'_> {
    /// Size, ETag and date of an object. The size is always `Some`.
    pub async fn probe(self, url: &SignedUrl) -> Result<ObjectMeta, ClientError> {
        probe::probe(&SignedObject::new(self.storage, url)?).await
    }

    /// Reads `len` bytes from `offset`, or to the end. With `if_range` (an ETag including quotes), an object
    /// that has changed fails with [`ClientError::Changed`]. A range that starts at or behind the end is empty.
    ///
    /// If the connection breaks and the object has a strong ETag, the stream continues where it stopped. It
    /// never mixes two versions.
    pub async fn get_range(
        self,
        url: &SignedUrl,
        offset: u64,
        len: Option<u64>,
        if_range: Option<&str>,
    ) -> Result<RangeReply, ClientError> {
        range::get_range(SignedObject::new(self.storage, url)?, offset, len, if_range).await
    }

    /// Sends the `len` bytes of the stream from `open` to a signed URL. Each attempt calls `open` again;
    /// `progress` receives the bytes sent in the current attempt.
    pub async fn put_file<S>(
        self,
        url: &SignedUrl,
        len: u64,
        open: impl Fn() -> S + Send + Sync,
        progress: impl Fn(u64) + Send + Sync + 'static,
    ) -> Result<PutReply, ClientError>
    where
        S: Stream<Item = io::Result<Bytes>> + Send + 'static,
    {
        let object = SignedObject::new(self.storage, url)?;
        put::put_file(&object, url.expires_at(), len, open, progress).await
    }
}
