//! Requests that the storage library does not have: probes, conditional copies, unfinished uploads.
//!
//! Each is a presigned URL that this process uses itself. All are idempotent, so they are repeated within bounds.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::HeaderMap;
use reqwest::{Method, StatusCode};

use super::Bucket;
use super::error::BucketError;
use super::presign::Allowed;
use crate::backoff::Backoff;

const TRIES: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LIFETIME: Duration = Duration::from_secs(300);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest wait for the next byte of a reply. The storage needs minutes to copy some gigabytes.
const REPLY_TIMEOUT: Duration = Duration::from_secs(120);

#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

impl Reply {
    /// The error code, such as `NoSuchBucket`. A copy may fail after its status was sent.
    pub(super) fn code(&self) -> Option<String> {
        let error = self.body.contains("<Error>");
        texts(&self.body, "Code").next().filter(|_| error)
    }

    /// The reply of a request that must succeed.
    pub(super) fn succeeded(self, doing: &'static str) -> Result<Reply, BucketError> {
        match self.status.is_success() && self.code().is_none() {
            true => Ok(self),
            false => Err(BucketError::Refused {
                doing,
                status: self.status.as_u16(),
                code: self.code().unwrap_or_default(),
            }),
        }
    }

    fn is_temporary(&self) -> bool {
        let code = self.code().unwrap_or_default();
        // A full storage (507) is not tried again at once.
        (self.status.is_server_error() && self.status != StatusCode::INSUFFICIENT_STORAGE)
            || self.status == StatusCode::TOO_MANY_REQUESTS
            || matches!(code.as_str(), "InternalError" | "SlowDown")
    }
}

/// The client for these requests.
pub(super) fn client() -> Result<reqwest::Client, reqwest::Error> {
    // Fails only if another part of the process has installed the same provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(REPLY_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .build()
}

impl Bucket {
    /// Sends a request. Repeats it while the storage is overloaded or does not answer.
    pub(super) async fn call(
        &self,
        allowed: Allowed<'_>,
        body: &'static str,
    ) -> Result<Reply, BucketError> {
        let mut pauses = Backoff::doubling(FIRST_PAUSE, REPLY_TIMEOUT);
        for tries in 1.. {
            match self.call_once(allowed, body).await {
                Ok(reply) if reply.is_temporary() && tries < TRIES => {}
                Ok(reply) => return Ok(reply),
                Err(_) if tries < TRIES => {}
                Err(error) => return Err(self.unreachable(error)),
            }
            tokio::time::sleep(pauses.next_pause()).await;
        }
        unreachable!("the last try returns")
    }

    pub(super) fn unreachable(&self, error: reqwest::Error) -> BucketError {
        BucketError::Unreachable {
            endpoint: self.own.origin().to_owned(),
            // The URL in it is signed.
            source: error.without_url(),
        }
    }

    /// Sends a request once.
    pub(super) async fn call_once(
        &self,
        allowed: Allowed<'_>,
        body: &'static str,
    ) -> Result<Reply, reqwest::Error> {
        let url = self.own.sign(allowed, LIFETIME, Timestamp::now());
        let method = Method::from_bytes(allowed.method.as_bytes()).expect("a method of HTTP");
        let mut request = self.http.request(method, url).body(body);
        for (name, value) in allowed.headers {
            request = request.header(*name, *value);
        }
        let response = request.send().await?;
        Ok(Reply {
            status: response.status(),
            headers: response.headers().clone(),
            body: response.text().await?,
        })
    }
}

/// The texts of the elements `tag` in a document of the storage, in their order.
pub(super) fn texts<'a>(xml: &'a str, tag: &str) -> impl Iterator<Item = String> + use<'a> {
    let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
    let mut rest = xml;
    std::iter::from_fn(move || {
        let (_, behind) = rest.split_once(&open)?;
        let (text, behind) = behind.split_once(&close)?;
        rest = behind;
        Some(unescaped(text))
    })
}

fn unescaped(text: &str) -> String {
    text.replace("&quot;", "\"")
        .replace("&#34;", "\"")
        .replace("&apos;", "'")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_a_document_are_read_in_their_order() {
        let xml = "<L><Upload><Key>a&amp;b</Key><UploadId>2~x</UploadId></Upload>\
                   <Upload><Key>c</Key><UploadId>y</UploadId></Upload></L>";
        assert_eq!(texts(xml, "Key").collect::<Vec<_>>(), ["a&b", "c"]);
        assert_eq!(texts(xml, "UploadId").collect::<Vec<_>>(), ["2~x", "y"]);
        assert_eq!(texts("<Key>cut", "Key").count(), 0);
    }
}
