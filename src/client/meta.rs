//! What the headers of an answer tell about the object behind a signed URL.

use reqwest::StatusCode;
use reqwest::header::{CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, HeaderName, LAST_MODIFIED};

use crate::wire::Timestamp;

/// An object in storage, as its answers describe it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObjectMeta {
    /// Its length, where the answer tells.
    pub size: Option<u64>,
    /// Its ETag as it came, quotes included.
    pub etag: Option<String>,
    /// When it last changed.
    pub last_modified: Option<Timestamp>,
}

impl ObjectMeta {
    /// The ETag's MD5 in lower case, where it is one: 32 hex digits, strong.
    pub fn md5_hex(&self) -> Option<String> {
        let hex = self.etag.as_deref()?.strip_prefix('"')?.strip_suffix('"')?;
        let is_md5 = hex.len() == 32 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_md5.then(|| hex.to_ascii_lowercase())
    }

    /// What can prove that a later answer is about the same content: a strong ETag, or nothing.
    pub(super) fn strong_etag(&self) -> Option<&str> {
        self.etag.as_deref().filter(|etag| etag.starts_with('"'))
    }

    /// Reads what the headers of an answer tell.
    pub(super) fn of(status: StatusCode, headers: &HeaderMap) -> Self {
        let range = ContentRange::of(headers);
        let size = match status {
            StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE => {
                range.and_then(|r| r.total)
            }
            _ => content_length(headers),
        };
        Self {
            size,
            etag: text(headers, ETAG).map(str::to_owned),
            last_modified: text(headers, LAST_MODIFIED).and_then(http_date),
        }
    }
}

/// The `Content-Range` of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ContentRange {
    /// First and last byte, none in a 416.
    pub(super) bytes: Option<(u64, u64)>,
    /// Length of the whole, where told.
    pub(super) total: Option<u64>,
}

impl ContentRange {
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        Self::parse(text(headers, CONTENT_RANGE)?)
    }

    fn parse(value: &str) -> Option<Self> {
        let rest = value
            .trim()
            .strip_prefix("bytes")?
            .trim_start_matches([' ', '=']);
        let (range, total) = rest.split_once('/')?;
        let total = match total.trim() {
            "*" => None,
            number => Some(number.parse().ok()?),
        };
        let bytes = match range.trim() {
            "*" => None,
            range => {
                let (first, last) = range.split_once('-')?;
                let bytes: (u64, u64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
                if bytes.1 < bytes.0 || total.is_some_and(|total| bytes.1 >= total) {
                    return None;
                }
                Some(bytes)
            }
        };
        Some(Self { bytes, total })
    }
}

/// The `Content-Length` of an answer.
pub(super) fn content_length(headers: &HeaderMap) -> Option<u64> {
    text(headers, CONTENT_LENGTH)?.trim().parse().ok()
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// Reads an HTTP date.
pub(super) fn http_date(text: &str) -> Option<Timestamp> {
    let zoned = jiff::fmt::rfc2822::DateTimeParser::new()
        .parse_zoned(text.trim())
        .ok()?;
    Some(Timestamp::from(zoned.timestamp()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_range_is_read_and_nonsense_is_not() {
        let read = |text| ContentRange::parse(text).map(|r| (r.bytes, r.total));
        assert_eq!(read("bytes 0-0/10"), Some((Some((0, 0)), Some(10))));
        assert_eq!(read("bytes 5-9/*"), Some((Some((5, 9)), None)));
        assert_eq!(read("bytes */0"), Some((None, Some(0))));
        for text in [
            "",
            "bytes",
            "bytes 9-5/10",
            "bytes 0-10/10",
            "items 0-1/2",
            "bytes a-b/c",
            "bytes 0-1",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn only_a_strong_etag_of_32_hex_digits_is_an_md5() {
        let md5 = |etag: &str| {
            ObjectMeta {
                etag: Some(etag.into()),
                ..ObjectMeta::default()
            }
            .md5_hex()
        };
        assert_eq!(
            md5("\"9E107D9D372BB6826BD81D3542A419D6\"").as_deref(),
            Some("9e107d9d372bb6826bd81d3542a419d6")
        );
        for etag in [
            "\"9e107d9d372bb6826bd81d3542a419d6-3\"",
            "W/\"9e107d9d372bb6826bd81d3542a419d6\"",
            "x",
            "\"\"",
        ] {
            assert_eq!(md5(etag), None, "{etag}");
        }
    }

    #[test]
    fn http_dates_are_read() {
        let date = http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        assert_eq!(date.plain(), "1994-11-06 08:49:37");
        assert_eq!(http_date("soon"), None);
    }
}
