//! The signed URLs below `/storage/`: PUT takes the bytes of an upload, GET gives those of a file.
//!
//! The signature is the only authorization. A request that also has a token is refused, to reveal clients that leak
//! their token. Memory is bounded in both directions.

use std::ops::Range;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT_RANGES, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD,
    AUTHORIZATION, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, ETAG, IF_NONE_MATCH, IF_RANGE, LAST_MODIFIED, LOCATION, RANGE,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use futures_util::TryStreamExt as _;

use super::error::ApiError;
use super::request::Ids;
use super::static_file::lists;
use crate::service::app::App;
use crate::service::causes::chain;
use crate::service::ids::from_hex;
use crate::service::names::media_type;
use crate::service::records::{FileId, FileRow, FreshBlob, Publish, UploadRoom};
use crate::service::signing::Access;

const CONTENT_MD5: HeaderName = HeaderName::from_static("content-md5");

/// A file of a user that is opened by itself runs nothing, loads nothing and belongs to no origin.
const SANDBOX: &str = "sandbox; default-src 'none'; style-src 'unsafe-inline'";

/// Answers any method below `/storage/`.
pub async fn any(
    State(app): State<Arc<App>>,
    ids: Ids,
    request: Request,
) -> Result<Response, ApiError> {
    let access = match *request.method() {
        Method::GET => Access::Read,
        Method::PUT => Access::Write,
        Method::OPTIONS if is_preflight(request.headers()) => return Ok(preflight()),
        _ => {
            return Err(ApiError::Forbidden(
                "A signed URL works for one method only.".to_owned(),
            ));
        }
    };
    if request.headers().contains_key(AUTHORIZATION) {
        return Err(ApiError::BadRequest(
            "Only one way of authorization is allowed: the URL is signed, leave the Authorization \
             header out."
                .to_owned(),
        ));
    }
    let id = ids.text("file").parse().map(FileId);
    let uri = request.uri();
    let query = uri.query().unwrap_or_default();
    let now = app.clock.now();
    let by_folder = match (access, &id) {
        (Access::Read, Ok(id)) if query.is_empty() => {
            app.signer.check_folder(*id, uri.path(), now)?
        }
        _ => false,
    };
    if !by_folder {
        app.signer.check(access, uri.path(), query, now)?;
    }
    let id: FileId = id.map_err(|_| ApiError::no("file"))?;
    match access {
        Access::Read => read(&app, id, request.headers()).await,
        Access::Write => write(&app, id, request).await,
    }
}

/// Whether a browser asks if a page of another origin may send a request.
fn is_preflight(headers: &HeaderMap) -> bool {
    headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// It may: the signature of the URL is the whole authorization, and no cookie exists.
fn preflight() -> Response {
    let headers = [
        (ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (ACCESS_CONTROL_ALLOW_METHODS, "GET, PUT"),
        (
            ACCESS_CONTROL_ALLOW_HEADERS,
            "content-md5, content-type, range",
        ),
        (ACCESS_CONTROL_MAX_AGE, "3600"),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

async fn write(app: &App, id: FileId, request: Request) -> Result<Response, ApiError> {
    let (parts, body) = request.into_parts();
    let header = |name| {
        let value: Option<&HeaderValue> = parts.headers.get(name);
        value.and_then(|value| value.to_str().ok().map(str::to_owned))
    };
    let len = header(CONTENT_LENGTH).and_then(|text| text.parse().ok());
    let expected_md5 = header(CONTENT_MD5);
    let room = match app.records.uploads().room(id).await? {
        UploadRoom::UpTo(room) => room,
        UploadRoom::Refused(why) => return Err(refusal(&why)),
    };
    if len.is_some_and(|len: u64| len > room) {
        return Err(refusal(&Publish::NoRoom));
    }
    let body = body.into_data_stream();
    let blob = app.records.blobs().fresh().await?;
    let stored = tokio::select! {
        stored = app.files.receive(&blob, body, room) => stored?,
        () = keep_pending(app, &blob) => unreachable!("it never ends"),
    };
    if expected_md5.is_some_and(|expected| !is_md5(&expected, &stored.md5)) {
        app.give_up_blobs(&[stored.blob]).await;
        return Err(ApiError::BadRequest(
            "The received bytes do not match the Content-MD5.".to_owned(),
        ));
    }
    let published = app.records.uploads().publish(id, &stored).await;
    match published {
        Ok(Publish::Done { replaced }) => {
            app.files
                .remove(&replaced.into_iter().collect::<Vec<_>>())
                .await;
            let etag = HeaderValue::try_from(format!("\"{}\"", stored.md5));
            let etag = etag.expect("hexadecimal digits are a header value");
            let anywhere = HeaderValue::from_static("*");
            let headers = [(ETAG, etag), (ACCESS_CONTROL_ALLOW_ORIGIN, anywhere)];
            Ok((StatusCode::OK, headers).into_response())
        }
        Ok(refused) => {
            app.give_up_blobs(&[stored.blob]).await;
            Err(refusal(&refused))
        }
        // The commit may have taken effect; otherwise the janitor removes the blob.
        Err(error) => Err(error.into()),
    }
}

/// Keeps a blob from being given up while its bytes arrive. A silent client ends the upload sooner.
async fn keep_pending(app: &App, blob: &FreshBlob) {
    loop {
        tokio::time::sleep(app.config.upload_renewal).await;
        if let Err(error) = app.records.blobs().renew(blob).await {
            // It is tried again long before the blob expires.
            tracing::warn!(error = %chain(&error), "an upload could not be recorded as alive");
        }
    }
}

/// The error for a refused upload.
fn refusal(why: &Publish) -> ApiError {
    match why {
        Publish::Closed => {
            ApiError::Conflict("The upload is complete; its files cannot be changed.".to_owned())
        }
        Publish::NoRoom => {
            ApiError::TooLarge("The file is larger than the remaining storage.".to_owned())
        }
        // `Done` is not an error and does not occur here.
        Publish::Gone | Publish::Done { .. } => ApiError::no("file"),
    }
}

/// Whether a Content-MD5 header (base64) equals an MD5 in hexadecimal digits.
fn is_md5(header: &str, hex: &str) -> bool {
    let sent = base64::engine::general_purpose::STANDARD.decode(header.trim());
    sent.ok() == from_hex(hex)
}

async fn read(app: &App, id: FileId, headers: &HeaderMap) -> Result<Response, ApiError> {
    let file = app.records.files().get(id).await?;
    send(app, &file.ok_or_else(|| ApiError::no("file"))?, headers).await
}

/// Answers a GET of a file: all of it, a range of it, or that it is unchanged. If clients read from the storage
/// itself, the answer leads there.
pub(super) async fn send(
    app: &App,
    file: &FileRow,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    if let Some(url) = app.direct_url(file) {
        let value = |text: &str| HeaderValue::try_from(text).expect("a URL is a header value");
        let headers = [
            (LOCATION, value(url.expose())),
            (ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*")),
            // The URL works for a limited time.
            (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        ];
        return Ok((StatusCode::TEMPORARY_REDIRECT, headers).into_response());
    }
    let blob = file.blob.clone().ok_or_else(|| ApiError::no("file"))?;
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let etag = format!("\"{}\"", file.md5);
    if header(IF_NONE_MATCH).is_some_and(|known| lists(known, &etag)) {
        return Ok((StatusCode::NOT_MODIFIED, describe(file, &etag)).into_response());
    }
    let unchanged =
        header(IF_RANGE).is_none_or(|known| known == etag || known == last_modified(file));
    let asked = header(RANGE)
        .filter(|_| unchanged)
        .map(|text| range(text, file.size));
    let (status, range) = match asked {
        Some(RequestedRange::None) => return Err(ApiError::NoSuchRange { size: file.size }),
        Some(RequestedRange::Some(range)) => (StatusCode::PARTIAL_CONTENT, range),
        Some(RequestedRange::All) | None => (StatusCode::OK, 0..file.size),
    };
    let mut head = describe(file, &etag);
    head.insert(CONTENT_LENGTH, HeaderValue::from(range.end - range.start));
    if status == StatusCode::PARTIAL_CONTENT {
        let value = format!("bytes {}-{}/{}", range.start, range.end - 1, file.size);
        let value = HeaderValue::try_from(value).expect("numbers are a header value");
        head.insert(CONTENT_RANGE, value);
    }
    let bytes = app.files.read(&blob, range).await?;
    let body = Body::from_stream(bytes.inspect_err(|error| {
        tracing::error!(error = %chain(&error), "a file cannot be read to its end");
    }));
    Ok((status, head, body).into_response())
}

fn describe(file: &FileRow, etag: &str) -> HeaderMap {
    let value = |text: &str| HeaderValue::try_from(text).expect("plain ASCII is a header value");
    HeaderMap::from_iter([
        (ETAG, value(etag)),
        (LAST_MODIFIED, value(&last_modified(file))),
        (ACCEPT_RANGES, HeaderValue::from_static("bytes")),
        (
            CONTENT_TYPE,
            HeaderValue::from_static(media_type(&file.name)),
        ),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*")),
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static(SANDBOX)),
    ])
}

fn last_modified(file: &FileRow) -> String {
    file.modified_at
        .strftime("%a, %d %b %Y %H:%M:%S GMT")
        .to_string()
}

/// The range that a Range header requests.
#[derive(Debug, PartialEq, Eq)]
enum RequestedRange {
    /// The whole file: the header is ignored, because this service does not support its form.
    All,
    Some(Range<u64>),
    /// A range that the file does not have.
    None,
}

/// Reads a Range header for a file of `size` bytes. Only a single range is served as one.
fn range(text: &str, size: u64) -> RequestedRange {
    let Some(spec) = text.trim().strip_prefix("bytes=") else {
        return RequestedRange::All;
    };
    let Some((first, last)) = spec.trim().split_once('-') else {
        return RequestedRange::All;
    };
    let number = |text: &str| {
        text.bytes()
            .all(|c| c.is_ascii_digit())
            .then(|| text.parse::<u64>())
    };
    let (Some(first_number), Some(last_number)) = (number(first), number(last)) else {
        return RequestedRange::All;
    };
    let range = match (first.is_empty(), last.is_empty()) {
        (true, true) => return RequestedRange::All,
        (true, false) => size.saturating_sub(last_number.unwrap_or(u64::MAX))..size,
        (false, true) => first_number.unwrap_or(u64::MAX)..size,
        (false, false) => {
            let first = first_number.unwrap_or(u64::MAX);
            let last = last_number.unwrap_or(u64::MAX);
            if first > last {
                return RequestedRange::All;
            }
            first..last.saturating_add(1).min(size)
        }
    };
    if range.start >= range.end {
        return RequestedRange::None;
    }
    RequestedRange::Some(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_the_standard_has_them() {
        let cases = [
            ("bytes=0-0", 10, RequestedRange::Some(0..1)),
            ("bytes=2-", 10, RequestedRange::Some(2..10)),
            ("bytes=-3", 10, RequestedRange::Some(7..10)),
            ("bytes=-30", 10, RequestedRange::Some(0..10)),
            (
                "bytes=5-99999999999999999999999",
                10,
                RequestedRange::Some(5..10),
            ),
            ("bytes=0-0", 0, RequestedRange::None),
            ("bytes=-1", 0, RequestedRange::None),
            ("bytes=-0", 10, RequestedRange::None),
            ("bytes=10-", 10, RequestedRange::None),
            ("bytes=99999999999999999999999-", 10, RequestedRange::None),
            ("bytes=5-4", 10, RequestedRange::All),
            ("bytes=0-1,3-4", 10, RequestedRange::All),
            ("bytes=a-b", 10, RequestedRange::All),
            ("bytes=-", 10, RequestedRange::All),
            ("lines=1-2", 10, RequestedRange::All),
            ("bytes=+1-2", 10, RequestedRange::All),
        ];
        for (text, size, expected) in cases {
            assert_eq!(range(text, size), expected, "{text} of {size}");
        }
    }
}
