//! Bodies of replies: JSON of bounded size, and streams with a stall timeout.

use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt};
use reqwest::Response;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderMap};
use serde::de::IgnoredAny;

use super::error::ClientError;
use super::transport::reason_of;
use crate::wire::ErrorBody;

/// Bytes as they arrive.
pub type ByteStream = Pin<Box<dyn Stream<Item = Result<Bytes, ClientError>> + Send>>;

/// A file that the service generates on request.
pub struct Download {
    /// Length, if the service reports it.
    pub len: Option<u64>,
    /// Content; ends with an error if it is truncated.
    pub stream: ByteStream,
}

impl std::fmt::Debug for Download {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Download")
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

/// Why reading a body failed.
#[derive(Debug)]
pub(super) enum BodyFault {
    Broken(String),
    Stalled,
    TooLarge,
}

/// The chunks of a body; [`BodyFault::Stalled`] if none arrives for `stall`.
pub(super) fn chunks(
    response: Response,
    stall: Duration,
) -> impl Stream<Item = Result<Bytes, BodyFault>> + Send + 'static {
    stream::unfold(
        Some(response.bytes_stream().boxed()),
        move |state| async move {
            let mut body = state?;
            match tokio::time::timeout(stall, body.next()).await {
                Ok(None) => None,
                Ok(Some(Ok(chunk))) => Some((Ok(chunk), Some(body))),
                Ok(Some(Err(error))) => Some((Err(BodyFault::Broken(reason_of(error))), None)),
                Err(_) => Some((Err(BodyFault::Stalled), None)),
            }
        },
    )
}

/// The `Content-Encoding` of a body that was sent compressed although the request forbids it. A proxy may do that, or
/// the object is stored compressed. The bytes and the length of such a body are not those of the file.
pub(super) fn coding_of(headers: &HeaderMap) -> Option<String> {
    let coding = headers.get(CONTENT_ENCODING)?.to_str().ok()?.trim();
    // Some storages repeat `aws-chunked` from the upload, although the body of the reply is not encoded.
    let is_plain = |part: &str| matches!(part.trim(), "" | "identity" | "aws-chunked");
    let is_coded = !coding.to_ascii_lowercase().split(',').all(is_plain);
    is_coded.then(|| coding.chars().take(40).collect())
}

/// Whether a reply is an HTML page of a proxy or a captive portal (the login page of a network) instead of a file. A
/// reply with an ETag comes from the storage.
pub(super) fn is_web_page(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let is_html =
        kind.is_some_and(|kind| kind.trim().to_ascii_lowercase().starts_with("text/html"));
    is_html && !headers.contains_key(ETAG)
}

/// Whether a body is a web page: no text and no JSON of the service begins with `<`.
pub(super) fn is_markup(body: &[u8]) -> bool {
    body.trim_ascii_start().starts_with(b"<")
}

/// Message for a web page in place of the answer.
pub(super) const A_WEB_PAGE: &str = "a web page instead of an answer of the service; check the base URL, and whether this \
     network wants you to sign in on its login page";

/// The form of an error reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RefusalForm {
    Json,
    /// Plain text, or nothing.
    Text,
    /// HTML, or the XML of an object store.
    Markup,
}

/// Reads the body of an error reply. Empty if it cannot be read or is larger than 64 KiB: the status is enough.
pub(super) async fn read_refusal(response: Response, stall: Duration) -> (ErrorBody, RefusalForm) {
    const MAX_REFUSAL_BYTES: usize = 64 * 1024;
    let body = read_all(response, stall, MAX_REFUSAL_BYTES).await;
    let body = body.unwrap_or_default();
    let form = match () {
        () if is_markup(&body) => RefusalForm::Markup,
        () if serde_json::from_slice::<IgnoredAny>(&body).is_ok() => RefusalForm::Json,
        () => RefusalForm::Text,
    };
    (ErrorBody::read(&body), form)
}

/// Reads a whole body of at most `limit_bytes`.
pub(super) async fn read_all(
    response: Response,
    stall: Duration,
    limit_bytes: usize,
) -> Result<Vec<u8>, BodyFault> {
    let expected = usize::try_from(response.content_length().unwrap_or(0)).unwrap_or(usize::MAX);
    if expected > limit_bytes {
        return Err(BodyFault::TooLarge);
    }
    let mut body = Vec::with_capacity(expected.min(1024 * 1024));
    let mut chunks = Box::pin(chunks(response, stall));
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk?;
        if body.len() + chunk.len() > limit_bytes {
            return Err(BodyFault::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
