//! Finds the size of the object behind a signed URL; no record contains it.
//!
//! Sends one GET for the first byte, because signed URLs refuse HEAD. The whole object is only read if the
//! server never reports a length.

use futures_util::stream::StreamExt;
use reqwest::header::{HeaderMap, HeaderValue, RANGE};
use reqwest::{Response, StatusCode};

use super::body;
use super::error::ClientError;
use super::meta::{ContentRange, ObjectMeta};
use super::storage::{self, SignedObject};
use super::transport::Connection;

/// Maximum size of an object whose bytes are counted because the server reports no length.
const MAX_COUNTED_BYTES: u64 = 256 * 1024 * 1024;

/// Size, ETag and date of an object. The size is always `Some`.
pub(super) async fn probe(object: &SignedObject) -> Result<ObjectMeta, ClientError> {
    let retries = object.storage.retries;
    let attempt = |failed| probe_once(object, Connection::after_failures(failed));
    retries
        .repeat(&object.what, Some(retries.interactive_patience), attempt)
        .await
}

async fn probe_once(
    object: &SignedObject,
    connection: Connection,
) -> Result<ObjectMeta, ClientError> {
    let mut first_byte = HeaderMap::new();
    first_byte.insert(RANGE, HeaderValue::from_static("bytes=0-0"));
    let response = object.get(first_byte, connection).await?;
    let stall = object.storage.deadlines.stall;
    let meta = ObjectMeta::of(response.status(), response.headers());
    let range = ContentRange::of(response.headers()).and_then(|range| range.bytes);
    if let Some((first, last)) = range.filter(|range| *range != (0, 0)) {
        return Err(object.protocol(format!("bytes {first} to {last} instead of the first byte")));
    }
    match response.status() {
        StatusCode::OK if meta.size.is_none() => count(object, response, meta).await,
        StatusCode::NO_CONTENT => Ok(ObjectMeta {
            size: Some(0),
            ..meta
        }),
        StatusCode::OK => {
            storage::drain(response, stall).await;
            Ok(meta)
        }
        StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE => {
            storage::drain(response, stall).await;
            match meta.size {
                Some(_) => Ok(meta),
                None => count_whole(object).await,
            }
        }
        _ => Err(object.refusal(response).await),
    }
}

/// Requests the whole object, which may give its length.
async fn count_whole(object: &SignedObject) -> Result<ObjectMeta, ClientError> {
    let response = object.get(HeaderMap::new(), Connection::Kept).await?;
    let meta = ObjectMeta::of(response.status(), response.headers());
    match response.status() {
        StatusCode::OK if meta.size.is_some() => Ok(meta),
        StatusCode::OK => count(object, response, meta).await,
        _ => Err(object.refusal(response).await),
    }
}

async fn count(
    object: &SignedObject,
    response: Response,
    meta: ObjectMeta,
) -> Result<ObjectMeta, ClientError> {
    let stall = object.storage.deadlines.stall;
    let mut chunks = Box::pin(body::chunks(response, stall));
    let mut size = 0;
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|fault| storage::cut_short(fault, &object.what, 0, stall))?;
        size += chunk.len() as u64;
        if size > MAX_COUNTED_BYTES {
            return Err(ClientError::TooLarge {
                what: object.what.clone(),
                limit_bytes: MAX_COUNTED_BYTES,
            });
        }
    }
    Ok(ObjectMeta {
        size: Some(size),
        ..meta
    })
}
