//! Metadata of an object in storage, from the headers of a reply.

use reqwest::StatusCode;
use reqwest::header::{CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, HeaderName, LAST_MODIFIED};

use crate::wire::Timestamp;

/// Metadata of an object in storage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObjectMeta {
    /// Length, if the reply contains it.
    pub size: Option<u64>,
    /// ETag including quotes.
    pub etag: Option<String>,
    pub last_modified: Option<Timestamp>,
}

impl ObjectMeta {
    /// The MD5 in the ETag in lower case, if the ETag is strong and has 32 hex digits.
    pub fn md5_hex(&self) -> Option<String> {
        let hex = self.etag.as_deref()?.strip_prefix('"')?.strip_suffix('"')?;
        let is_md5 = hex.len() == 32 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_md5.then(|| hex.to_ascii_lowercase())
    }

    /// The ETag if it is strong: only then do equal ETags prove equal content.
    pub(super) fn strong_etag(&self) -> Option<&str> {
        self.etag.as_deref().filter(|etag| etag.starts_with('"'))
    }

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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ContentRange {
    /// First and last byte; `None` in a 416.
    pub(super) bytes: Option<(u64, u64)>,
    /// Length of the whole object, if known.
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

pub(super) fn content_length(headers: &HeaderMap) -> Option<u64> {
    text(headers, CONTENT_LENGTH)?.trim().parse().ok()
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// Parses an HTTP date.
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
    fn valid_content_ranges_are_parsed_and_others_refused() {
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
