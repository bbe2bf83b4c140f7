//! Files that are part of the program, as browsers keep them: the entity tag is a hash of the bytes, so that a browser asks
//! again and is sent a file only after an update.

use axum::http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use xxhash_rust::xxh3::xxh3_64;

/// A file of the program.
#[derive(Debug, Clone, Copy)]
pub struct StaticFile {
    pub bytes: &'static [u8],
    pub media_type: &'static str,
}

impl From<(&'static [u8], &'static str)> for StaticFile {
    fn from((bytes, media_type): (&'static [u8], &'static str)) -> StaticFile {
        StaticFile { bytes, media_type }
    }
}

impl StaticFile {
    /// The file, or that it is as the browser has it.
    pub fn answer(self, request: &HeaderMap) -> Response {
        let etag = format!("\"{:016x}\"", xxh3_64(self.bytes));
        let known = request.get(IF_NONE_MATCH);
        let is_known = known.is_some_and(|known| lists(known.to_str().unwrap_or_default(), &etag));
        let mut headers = plain_headers(self.media_type);
        let etag = HeaderValue::try_from(etag).expect("hexadecimal digits are a header value");
        headers.insert(ETAG, etag);
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        // A sandboxed frame has no origin of its own. Everybody may have these files.
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        match is_known {
            true => (StatusCode::NOT_MODIFIED, headers).into_response(),
            false => (headers, self.bytes).into_response(),
        }
    }
}

/// Whether a list of entity tags has this one.
pub fn lists(known: &str, etag: &str) -> bool {
    known
        .split(',')
        .map(|one| one.trim().trim_start_matches("W/"))
        .any(|one| one == etag || one == "*")
}

/// The headers of everything that a browser shows.
pub fn plain_headers(media_type: &'static str) -> HeaderMap {
    HeaderMap::from_iter([
        (CONTENT_TYPE, HeaderValue::from_static(media_type)),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ])
}
