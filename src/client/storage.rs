//! Requests to signed URLs: address rules, redirects, and the meaning of error replies.
//!
//! The invariant: no request here has an `Authorization` header, and no message contains a query.

use std::time::Duration;

use futures_util::stream::StreamExt;
use reqwest::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue, LOCATION};
use reqwest::{Method, Request, Response, StatusCode};
use url::Url;

use super::Client;
use super::body::{self, BodyFault, Download};
use super::error::ClientError;
use super::exchange::message_of;
use super::retry::retry_after;
use super::transport::{self, Connection, Fault};
use crate::wire::{ErrorBody, SignedUrl};

/// Maximum number of redirects.
pub(super) const MAX_HOPS: usize = 5;
/// Maximum size of an error body that is read.
const MAX_REFUSAL_BYTES: usize = 64 * 1024;

impl Client {
    /// Parses and checks a signed URL.
    pub(super) fn storage_url(&self, url: &SignedUrl) -> Result<Url, ClientError> {
        let parsed = Url::parse(url.expose()).map_err(|error| ClientError::Protocol {
            what: url.to_string(),
            reason: format!("invalid URL: {error}"),
        })?;
        self.shared.transport.rule.check_url(&parsed)?;
        Ok(parsed)
    }

    /// Sends a GET and follows redirects; returns the last reply, whatever its status.
    pub(super) async fn storage_get(
        &self,
        mut url: Url,
        mut headers: HeaderMap,
        what: &str,
        connection: Connection,
    ) -> Result<Response, ClientError> {
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        for _ in 0..=MAX_HOPS {
            self.shared.transport.rule.check_url(&url)?;
            let mut request = Request::new(Method::GET, url);
            *request.headers_mut() = headers.clone();
            let pool = self.shared.transport.storage(connection);
            let sent = transport::send(pool, request, self.shared.config.deadlines.stall).await;
            let response = sent.map_err(|fault| self.storage_fault(fault, what))?;
            match location(&response).filter(|_| response.status().is_redirection()) {
                Some(target) => url = target,
                None => return Ok(response),
            }
        }
        Err(ClientError::Protocol {
            what: what.to_owned(),
            reason: format!("more than {MAX_HOPS} redirects"),
        })
    }

    pub(super) fn storage_fault(&self, fault: Fault, what: &str) -> ClientError {
        let deadlines = &self.shared.config.deadlines;
        match fault {
            Fault::NotSent(reason) | Fault::NoAnswer(reason) => ClientError::no_connection(reason),
            Fault::ConnectTimeout => ClientError::Timeout {
                what: "connect to storage".to_owned(),
                after: deadlines.connect,
            },
            Fault::Stalled => ClientError::Timeout {
                what: what.to_owned(),
                after: deadlines.stall,
            },
            Fault::Refused(reason) => ClientError::Insecure { reason },
        }
    }
}

/// The target of a redirect.
pub(super) fn location(response: &Response) -> Option<Url> {
    let target = response.headers().get(LOCATION)?.to_str().ok()?;
    response.url().join(target).ok()
}

/// The error for a reply of storage without success.
pub(super) async fn refusal(
    status: StatusCode,
    response: Response,
    what: &str,
    stall: Duration,
) -> ClientError {
    let headers = response.headers().clone();
    let body = body::read_all(response, stall, MAX_REFUSAL_BYTES)
        .await
        .unwrap_or_default();
    refusal_of(status, &headers, &ErrorBody::read(&body), what)
}

fn refusal_of(
    status: StatusCode,
    headers: &HeaderMap,
    body: &ErrorBody,
    what: &str,
) -> ClientError {
    let what = what.to_owned();
    let message = message_of(status, body);
    let code = status.as_u16();
    match (code, body.code.as_deref()) {
        // A new URL would be refused too: the clock is wrong.
        (_, Some("RequestTimeTooSkewed")) => ClientError::Forbidden { message },
        (400, Some("ExpiredToken" | "TokenExpired" | "AuthorizationQueryParametersError"))
        | (401 | 403, _) => ClientError::Expired { what },
        (400, Some("RequestTimeout")) | (408 | 425 | 500..=599, _) => ClientError::Unavailable {
            status: Some(code),
            reason: message,
            retry_after: retry_after(headers),
        },
        (404 | 410, _) => ClientError::NotFound { what, message },
        (412, _) => ClientError::Changed { what },
        (429, _) => ClientError::RateLimited {
            retry_after: retry_after(headers),
        },
        (300..=399, _) => ClientError::Protocol {
            what,
            reason: "a redirect without a valid target".to_owned(),
        },
        _ => ClientError::Rejected {
            status: code,
            message,
        },
    }
}

/// The body of a reply as a download that fails if it is truncated.
pub(super) fn whole_body(response: Response, stall: Duration, what: &'static str) -> Download {
    let len = response.content_length();
    let chunks = body::chunks(response, stall);
    let mut received = 0;
    let stream = chunks.map(move |chunk| match chunk {
        Ok(bytes) => {
            received += bytes.len() as u64;
            Ok(bytes)
        }
        Err(fault) => Err(cut_short(
            fault,
            what,
            len.unwrap_or(received).saturating_sub(received),
            stall,
        )),
    });
    Download {
        len,
        stream: stream.boxed(),
    }
}

/// The error for a body that failed while `missing_bytes` were still missing.
pub(super) fn cut_short(
    fault: BodyFault,
    what: &str,
    missing_bytes: u64,
    stall: Duration,
) -> ClientError {
    let what = what.to_owned();
    match fault {
        BodyFault::Broken(reason) => ClientError::CutShort {
            what,
            missing_bytes,
            reason,
        },
        BodyFault::Stalled => ClientError::Timeout { what, after: stall },
        BodyFault::TooLarge => ClientError::Protocol {
            what,
            reason: "the body is too long".to_owned(),
        },
    }
}

/// Reads the rest of a small body, so that its connection can be reused.
pub(super) async fn drain(response: Response, stall: Duration) {
    const SMALL_BYTES: u64 = 64 * 1024;
    if response
        .content_length()
        .is_some_and(|len| len <= SMALL_BYTES)
    {
        // An error only costs the connection.
        let _ = body::read_all(response, stall, SMALL_BYTES as usize).await;
    }
}
