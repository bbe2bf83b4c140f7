//! Signed URLs: a URL below `/storage/` allows one method until it expires.
//!
//! The signature is HMAC-SHA-256 over method, path and expiry. A URL is valid for exactly one method and one path,
//! byte for byte, until its expiry. Nothing else of the request is checked.

use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::Sha256;
use url::Url;

use super::ids::{from_hex, hex};
use super::records::FileId;
use crate::wire::SignedUrl;

/// Characters that are not encoded in a path segment (RFC 3986, unreserved).
pub(super) const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// First character of a path segment that is a folder signature.
const FOLDER_MARK: char = '~';

/// The method that a URL allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reading with GET.
    Read,
    /// Writing with PUT.
    Write,
}

impl Access {
    fn method(self) -> &'static str {
        match self {
            Access::Read => "GET",
            Access::Write => "PUT",
        }
    }
}

/// Why a URL is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    #[error("Request has expired")]
    Expired,
    #[error("The signature does not match this method and path")]
    Wrong,
}

/// Signs and checks the URLs of one service.
#[derive(Clone)]
pub struct Signer {
    mac: Hmac<Sha256>,
    base: Url,
    /// The base of URLs for reading, if it differs from `base`.
    read_base: Option<Url>,
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signer")
            .field("base", &self.base.as_str())
            .finish_non_exhaustive()
    }
}

impl Signer {
    /// Signs URLs below `base` with `key`.
    pub fn new(key: &[u8], base: Url) -> Signer {
        let mac = Hmac::new_from_slice(key).expect("HMAC takes a key of any length");
        Signer {
            mac,
            base,
            read_base: None,
        }
    }

    /// Uses another origin for reading, such as a mirror.
    #[must_use]
    pub fn reading_at(self, read_base: Option<Url>) -> Signer {
        Signer { read_base, ..self }
    }

    /// The path of a file. The id identifies it; the name is for people and tools.
    pub fn path(file: FileId, name: &str) -> String {
        let mut path = format!("/storage/{file}");
        for segment in name.split('/') {
            path.push('/');
            path.extend(utf8_percent_encode(segment, UNRESERVED));
        }
        path
    }

    /// A URL for `access` to a file that works for `lifetime`.
    pub fn sign(
        &self,
        access: Access,
        file: FileId,
        name: &str,
        lifetime: Duration,
        now: Timestamp,
    ) -> SignedUrl {
        let path = Signer::path(file, name);
        let expires = expiry_after(lifetime, now);
        let signature = self.message(access, &path, expires).finalize().into_bytes();
        let base = match access {
            Access::Read => self.read_base(),
            Access::Write => &self.base,
        };
        let base = base.as_str().trim_end_matches('/');
        SignedUrl::new(format!(
            "{base}{path}?expires={expires}&signature={}",
            hex(&signature)
        ))
    }

    /// A folder URL with which a file can be read under any name, and the file's name. A viewer concatenates the two,
    /// so the signature cannot be in the query.
    pub fn sign_folder(
        &self,
        file: FileId,
        name: &str,
        lifetime: Duration,
        now: Timestamp,
    ) -> (SignedUrl, String) {
        let expires = expiry_after(lifetime, now);
        let message = self.message(Access::Read, &folder(file), expires);
        let signature = hex(&message.finalize().into_bytes());
        let base = self.read_base().as_str().trim_end_matches('/');
        let url = format!("{base}{}{FOLDER_MARK}{expires}-{signature}/", folder(file));
        let name = name.rsplit('/').next().unwrap_or(name);
        (SignedUrl::new(url), name.to_owned())
    }

    /// Checks a request to read `path` (as written) with a signed folder; false if the folder is not signed.
    ///
    /// # Errors
    /// If the signature is for another file, of another service or expired.
    pub fn check_folder(
        &self,
        file: FileId,
        path: &str,
        now: Timestamp,
    ) -> Result<bool, SignatureError> {
        let own = self.own_path(path).strip_prefix(&folder(file));
        let Some((mark, _)) = own.and_then(|rest| rest.strip_prefix(FOLDER_MARK)?.split_once('/'))
        else {
            return Ok(false);
        };
        let (expires, signature) = mark.split_once('-').ok_or(SignatureError::Wrong)?;
        let expires = expiry(expires).ok_or(SignatureError::Wrong)?;
        let signature = from_hex(signature).ok_or(SignatureError::Wrong)?;
        let message = self.message(Access::Read, &folder(file), expires);
        verify(message, &signature, expires, now)?;
        Ok(true)
    }

    /// Checks a request for `access` to `path` (as written) with `query`.
    ///
    /// # Errors
    /// If the signature does not match or has expired.
    pub fn check(
        &self,
        access: Access,
        path: &str,
        query: &str,
        now: Timestamp,
    ) -> Result<(), SignatureError> {
        let value = |name: &str| {
            query
                .split('&')
                .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
        };
        let expires = value("expires")
            .and_then(expiry)
            .ok_or(SignatureError::Wrong)?;
        let signature = value("signature")
            .and_then(from_hex)
            .ok_or(SignatureError::Wrong)?;
        let message = self.message(access, self.own_path(path), expires);
        verify(message, &signature, expires, now)
    }

    /// The origin for reading, for content security policies.
    pub fn origin(&self) -> String {
        self.read_base().origin().ascii_serialization()
    }

    /// The origins where files are sent to and where they are read.
    pub fn origins(&self) -> Vec<String> {
        let own = self.base.origin().ascii_serialization();
        let mut origins = vec![own, self.origin()];
        origins.dedup();
        origins
    }

    fn read_base(&self) -> &Url {
        self.read_base.as_ref().unwrap_or(&self.base)
    }

    /// The path without the prefix of a reverse proxy.
    fn own_path<'a>(&self, path: &'a str) -> &'a str {
        let prefix = self.base.path().trim_end_matches('/');
        path.strip_prefix(prefix).unwrap_or(path)
    }

    fn message(&self, access: Access, path: &str, expires: i64) -> Hmac<Sha256> {
        let mut mac = self.mac.clone();
        mac.update(format!("{}\n{path}\n{expires}", access.method()).as_bytes());
        mac
    }
}

fn expiry_after(lifetime: Duration, now: Timestamp) -> i64 {
    let lifetime = i64::try_from(lifetime.as_secs()).unwrap_or(i64::MAX);
    now.as_second().saturating_add(lifetime)
}

/// The expiry in a URL, written as this service writes it: `+5` and `05` are changes.
fn expiry(text: &str) -> Option<i64> {
    let expires: i64 = text.parse().ok()?;
    (expires.to_string() == text).then_some(expires)
}

/// The folder of a file.
fn folder(file: FileId) -> String {
    format!("/storage/{file}/")
}

fn verify(
    message: Hmac<Sha256>,
    signature: &[u8],
    expires: i64,
    now: Timestamp,
) -> Result<(), SignatureError> {
    // The library's error adds nothing.
    let verified = message.verify_slice(signature);
    verified.map_err(|_| SignatureError::Wrong)?;
    if now.as_second() >= expires {
        return Err(SignatureError::Expired);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signer() -> Signer {
        Signer::new(b"key", Url::parse("http://storage.test:1/").unwrap())
    }

    fn parts(url: &SignedUrl) -> (String, String) {
        let url = Url::parse(url.expose()).unwrap();
        (url.path().to_owned(), url.query().unwrap().to_owned())
    }

    #[test]
    fn a_url_is_good_for_its_method_its_path_and_its_time() {
        let now = Timestamp::from_second(1_000).unwrap();
        let late = Timestamp::from_second(1_060).unwrap();
        let minute = Duration::from_secs(60);
        let url = signer().sign(Access::Read, FileId(7), "a dir/ä#?.glb", minute, now);
        let (path, query) = parts(&url);
        assert_eq!(path, "/storage/7/a%20dir/%C3%A4%23%3F.glb");
        let check = |access, path: &str, query: &str, now| signer().check(access, path, query, now);
        assert_eq!(check(Access::Read, &path, &query, now), Ok(()));
        assert_eq!(
            check(Access::Read, &path, &query, late),
            Err(SignatureError::Expired)
        );
        let wrong = Err(SignatureError::Wrong);
        assert_eq!(check(Access::Write, &path, &query, now), wrong);
        assert_eq!(check(Access::Read, "/storage/8/x", &query, now), wrong);
        let changed = query.replace("expires=1060", "expires=9999");
        assert_eq!(check(Access::Read, &path, &changed, now), wrong);
        let (expires, signature) = query.split_once("&signature=").unwrap();
        let written_otherwise = [
            format!("{expires}&signature={}", signature.to_uppercase()),
            query.replace("expires=", "expires=+"),
            query.replace("expires=", "expires=0"),
        ];
        for query in written_otherwise {
            assert_eq!(check(Access::Read, &path, &query, now), wrong, "{query}");
        }
        for query in ["", "expires=1", "signature=00", "expires=x&signature=00"] {
            assert_eq!(check(Access::Read, &path, query, now), wrong, "{query}");
        }
    }

    #[test]
    fn files_may_be_read_at_another_origin_than_they_are_written_at() {
        let now = Timestamp::from_second(1_000).unwrap();
        let files = Url::parse("https://files.test/").unwrap();
        let signer = signer().reading_at(Some(files));
        let sign = |access| signer.sign(access, FileId(7), "a", Duration::from_secs(60), now);
        let read = sign(Access::Read);
        assert!(read.expose().starts_with("https://files.test/storage/7/a?"));
        assert!(
            sign(Access::Write)
                .expose()
                .starts_with("http://storage.test:1/")
        );
        let (path, query) = parts(&read);
        assert_eq!(signer.check(Access::Read, &path, &query, now), Ok(()));
    }

    #[test]
    fn another_key_signs_differently() {
        let now = Timestamp::from_second(1_000).unwrap();
        let url = signer().sign(Access::Write, FileId(7), "a", Duration::from_secs(60), now);
        let (path, query) = parts(&url);
        let other = Signer::new(b"yek", Url::parse("http://storage.test:1/").unwrap());
        assert_eq!(
            other.check(Access::Write, &path, &query, now),
            Err(SignatureError::Wrong)
        );
    }
}
