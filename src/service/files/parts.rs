//! Bodies that are sent to the store part by part.

use std::pin::Pin;

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt as _};
use object_store::MultipartUpload;

use super::digest::Digest;
use super::error::{FilesError, SILENCE, blocking};

/// A body that is cut into parts.
pub(super) struct Parts<'a, S> {
    pub(super) body: Pin<&'a mut S>,
    pub(super) part_bytes: usize,
    /// Maximum number of bytes of the body.
    pub(super) limit: u64,
    pub(super) size: u64,
}

impl<S, E> Parts<'_, S>
where
    S: Stream<Item = Result<Bytes, E>>,
    E: std::fmt::Display,
{
    /// The next part, and whether it is the last one, which may be short or empty.
    pub(super) async fn next(&mut self) -> Result<(Bytes, bool), FilesError> {
        let limit = self.limit;
        let mut part = BytesMut::new();
        while part.len() < self.part_bytes {
            let next = tokio::time::timeout(SILENCE, self.body.next());
            // The timeout error carries no details.
            let Some(chunk) = next.await.map_err(|_| FilesError::Silent)? else {
                return Ok((part.freeze(), true));
            };
            let chunk = chunk.map_err(|error| FilesError::BrokeOff(error.to_string()))?;
            self.size += chunk.len() as u64;
            if self.size > limit {
                return Err(FilesError::TooLarge { limit });
            }
            part.extend_from_slice(&chunk);
        }
        Ok((part.freeze(), false))
    }
}

/// Sends the parts of a body one after the other, and computes their checksums meanwhile.
pub(super) async fn send_parts<S, E>(
    upload: &mut dyn MultipartUpload,
    first: Bytes,
    mut parts: Parts<'_, S>,
) -> Result<Digest, FilesError>
where
    S: Stream<Item = Result<Bytes, E>>,
    E: std::fmt::Display,
{
    let mut digest = Digest::default();
    let (mut part, mut ended) = (first, false);
    loop {
        if !part.is_empty() {
            let bytes = part.clone();
            let writing = upload.put_part(part.into());
            let hashing = blocking(move || {
                digest.update(&bytes);
                Ok(digest)
            });
            let (written, hashed) = tokio::join!(writing, hashing);
            written?;
            digest = hashed?;
        }
        if ended {
            return Ok(digest);
        }
        (part, ended) = parts.next().await?;
    }
}
