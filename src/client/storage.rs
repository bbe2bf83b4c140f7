//! Requests to signed URLs: address rules, redirects, and the meaning of error replies.
//!
//! The invariant: no request here has an `Authorization` header, and no message contains a query.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::StreamExt;
use reqwest::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue, LOCATION};
use reqwest::{Method, Request, Response, StatusCode};
use url::Url;

use super::bandwidth::Bandwidth;
use super::body::{self, BodyFault, Download, RefusalForm};
use super::config::{Deadlines, RetryPolicy};
use super::error::{ClientError, message_of};
use super::retry::retry_after;
use super::transport::{self, Connection, Fault, Transport};
use crate::wire::{ErrorBody, SignedUrl};

/// Maximum number of redirects.
pub(super) const MAX_HOPS: usize = 5;
/// State that all transfers through signed URLs share.
pub(super) struct Storage {
    pub(super) transport: Arc<Transport>,
    pub(super) deadlines: Deadlines,
    pub(super) retries: RetryPolicy,
    pub(super) up: Bandwidth,
    pub(super) down: Bandwidth,
}

/// The object behind a signed URL.
pub(super) struct SignedObject {
    pub(super) storage: Arc<Storage>,
    pub(super) url: Url,
    /// The name of the transferred object, for messages.
    pub(super) what: String,
}

impl SignedObject {
    /// Parses and checks a signed URL.
    pub(super) fn new(storage: &Arc<Storage>, url: &SignedUrl) -> Result<Self, ClientError> {
        let parsed = Url::parse(url.expose()).map_err(|error| ClientError::Protocol {
            what: url.to_string(),
            reason: format!("invalid URL: {error}"),
        })?;
        storage.transport.rule.check_url(&parsed)?;
        Ok(Self {
            storage: storage.clone(),
            url: parsed,
            what: url.to_string(),
        })
    }

    /// Sends a GET and follows redirects; returns the last reply, whatever its status.
    pub(super) async fn get(
        &self,
        mut headers: HeaderMap,
        connection: Connection,
    ) -> Result<Response, ClientError> {
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let mut url = self.url.clone();
        for _ in 0..=MAX_HOPS {
            self.storage.transport.rule.check_url(&url)?;
            let mut request = Request::new(Method::GET, url);
            *request.headers_mut() = headers.clone();
            let pool = self.storage.transport.storage(connection);
            let sent = transport::send(pool, request, self.storage.deadlines.stall).await;
            let response = sent.map_err(|fault| self.fault(fault))?;
            match location(&response).filter(|_| response.status().is_redirection()) {
                Some(target) => url = target,
                None => return self.unaltered(response),
            }
        }
        Err(self.too_many_redirects())
    }

    /// Returns the reply, or an error if a proxy has altered its content, so that its bytes and its length are not those
    /// of the file.
    pub(super) fn unaltered(&self, response: Response) -> Result<Response, ClientError> {
        if !response.status().is_success() {
            return Ok(response);
        }
        if let Some(coding) = body::coding_of(response.headers()) {
            return Err(self.protocol(format!(
                "it is compressed ({coding}) although the request forbids it, so its bytes are not those of the file; \
                 turn off the compression of the storage or of the proxy before it"
            )));
        }
        let path = self.url.path().to_ascii_lowercase();
        let may_be_page = path.ends_with(".html") || path.ends_with(".htm");
        if body::is_web_page(response.headers()) && !may_be_page {
            return Err(self.protocol(body::A_WEB_PAGE.to_owned()));
        }
        Ok(response)
    }

    /// The error for a request without a reply.
    pub(super) fn fault(&self, fault: Fault) -> ClientError {
        let deadlines = &self.storage.deadlines;
        match fault {
            Fault::NotSent(reason) | Fault::NoAnswer(reason) => ClientError::no_connection(reason),
            Fault::ConnectTimeout => ClientError::Timeout {
                what: "connect to storage".to_owned(),
                after: deadlines.connect,
            },
            Fault::Stalled => ClientError::Timeout {
                what: self.what.clone(),
                after: deadlines.stall,
            },
            Fault::Refused(reason) => ClientError::Insecure { reason },
            Fault::Untrusted(reason) => ClientError::Untrusted { reason },
        }
    }

    /// The error for a reply without success.
    pub(super) async fn refusal(&self, response: Response) -> ClientError {
        let status = response.status();
        if status.is_redirection() && location(&response).is_some() {
            return self.protocol(format!(
                "the redirect {status} may change the request; only 307 and 308 are followed"
            ));
        }
        let headers = response.headers().clone();
        let stall = self.storage.deadlines.stall;
        let says_gone = matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE);
        let (body, form) = body::read_refusal(response, stall).await;
        // An object store answers in XML that has a code.
        let is_page = form == RefusalForm::Markup && body.code.is_none();
        if says_gone && (is_page || body::is_web_page(&headers)) {
            return self.protocol(format!("{status} with {}", body::A_WEB_PAGE));
        }
        refusal_of(status, &headers, &body, &self.what)
    }

    pub(super) fn too_many_redirects(&self) -> ClientError {
        self.protocol(format!("more than {MAX_HOPS} redirects"))
    }

    pub(super) fn protocol(&self, reason: String) -> ClientError {
        ClientError::Protocol {
            what: self.what.clone(),
            reason,
        }
    }
}

/// The target of a redirect.
pub(super) fn location(response: &Response) -> Option<Url> {
    let target = response.headers().get(LOCATION)?.to_str().ok()?;
    response.url().join(target).ok()
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
pub(super) fn whole_body(
    response: Response,
    stall: Duration,
    what: &'static str,
    bandwidth: &Bandwidth,
) -> Download {
    let len = response.content_length();
    let chunks = bandwidth.limit(body::chunks(response, stall));
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
