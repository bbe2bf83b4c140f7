//! Sending a file to a signed URL: the whole of it, streamed, and again from the start after a break.

use std::io;

use bytes::Bytes;
use futures_util::stream::Stream;

use super::Client;
use super::error::ClientError;
use super::meta::ObjectMeta;
use crate::wire::SignedUrl;

/// What storage says about a file that it took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutReply {
    /// The object as it is now: its length is what was sent.
    pub meta: ObjectMeta,
}

impl Client {
    /// Sends the `len` bytes that `open` gives to a signed URL. Each attempt opens the file anew;
    /// `progress` is told the bytes sent in this attempt.
    pub async fn put_file<S>(
        &self,
        url: &SignedUrl,
        len: u64,
        open: impl Fn() -> S + Send + Sync,
        progress: impl Fn(u64) + Send + Sync + 'static,
    ) -> Result<PutReply, ClientError>
    where
        S: Stream<Item = io::Result<Bytes>> + Send + 'static,
    {
        let _ = (url, len, open, progress);
        todo!()
    }
}
