//! Errors of calls and transfers, with the messages that users read.
//!
//! The invariant: no variant contains a token or the query of a signed URL; causes are kept as cleaned text.
//! Errors are `Clone`, so one failed fetch can be reported to several readers.

use std::sync::Arc;
use std::time::Duration;

use reqwest::StatusCode;

use crate::wire::ErrorBody;

/// A failed call or transfer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ClientError {
    #[error("the base URL cannot be used: {reason}")]
    BadBaseUrl { reason: String },
    #[error("no API token is set; run `assetfs login` or set ASSETFS_TOKEN")]
    NoToken,
    /// Status 401.
    #[error(
        "the service rejected the API token: {}; set another one with `assetfs login`",
        without_full_stop(message)
    )]
    Unauthorized { message: String },
    /// Status 403: the token is valid but lacks the permission.
    #[error("the service does not allow this: {}", without_full_stop(message))]
    Forbidden { message: String },
    /// Status 404 or 410.
    #[error("{}", not_found(what, message))]
    NotFound { what: String, message: String },
    /// The service rejects the content (400, 422 and other 4xx).
    #[error(
        "the service rejected the request ({status}): {}",
        without_full_stop(message)
    )]
    Rejected { status: u16, message: String },
    /// Status 429, or the client's own rate limit would delay the request for too long.
    #[error("too many requests to the service{}", wait_text(.retry_after))]
    RateLimited { retry_after: Option<Duration> },
    /// No connection, or the service failed (5xx). The request had no effect, or repeating it is safe.
    #[error("the service cannot be reached or failed: {reason}")]
    Unavailable {
        /// The HTTP status, if there was a reply.
        status: Option<u16>,
        reason: String,
        retry_after: Option<Duration>,
    },
    /// No reply in time. The request had no effect, or repeating it is safe.
    #[error("{what}: no reply within {} s", .after.as_secs())]
    Timeout { what: String, after: Duration },
    /// The request may have taken effect, but no usable reply came.
    #[error("{what}: the reply was lost and the request may have taken effect: {reason}")]
    LostReply {
        what: String,
        /// The HTTP status, if one came (5xx).
        status: Option<u16>,
        reason: String,
    },
    /// The reply violates the API or HTTP.
    #[error("{what}: invalid reply from the service: {reason}")]
    Protocol { what: String, reason: String },
    /// A body exceeds the size limit.
    #[error("{what}: the reply is larger than {limit_bytes} bytes")]
    TooLarge { what: String, limit_bytes: u64 },
    /// An address that is not allowed.
    #[error("refused for security: {reason}")]
    Insecure { reason: String },
    /// The certificate of the service or the storage is not valid. Uploads are retried, because the certificate may be
    /// replaced or the clock be set; a caller that waits for an answer gets this error at once.
    #[error("no secure connection: the certificate of the server was refused: {reason}")]
    Untrusted { reason: String },
    /// A signed URL no longer works; a new one is needed.
    #[error("the signed URL for {what} has expired or was rejected")]
    Expired {
        /// Path of the URL, without its query.
        what: String,
    },
    /// The object behind a signed URL is no longer the requested version.
    #[error("{what} has changed on the service")]
    Changed {
        /// Path of the URL, without its query.
        what: String,
    },
    /// A body ended early.
    #[error("{what}: the transfer stopped {missing_bytes} bytes early: {reason}")]
    CutShort {
        /// Path of the URL, without its query.
        what: String,
        missing_bytes: u64,
        reason: String,
    },
    /// The local file cannot be read while it is sent.
    #[error("cannot read the local file that is being sent: {0}")]
    LocalRead(#[source] Arc<std::io::Error>),
    /// The length of the local file differs from the announced one.
    #[error(
        "the local file changed while it was being sent: {expected_bytes} bytes expected, {found_bytes} found"
    )]
    LocalChanged {
        /// The announced length.
        expected_bytes: u64,
        /// The length found; a lower bound if the file is longer.
        found_bytes: u64,
    },
}

impl ClientError {
    /// Whether the same call may succeed later without any change, and repeating it is safe.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::RateLimited { .. }
            | Self::Unavailable { .. }
            | Self::Timeout { .. }
            | Self::CutShort { .. } => true,
            Self::BadBaseUrl { .. }
            | Self::NoToken
            | Self::Unauthorized { .. }
            | Self::Forbidden { .. }
            | Self::NotFound { .. }
            | Self::Rejected { .. }
            | Self::LostReply { .. }
            | Self::Protocol { .. }
            | Self::TooLarge { .. }
            | Self::Insecure { .. }
            | Self::Untrusted { .. }
            | Self::Expired { .. }
            | Self::Changed { .. }
            | Self::LocalRead(_)
            | Self::LocalChanged { .. } => false,
        }
    }

    /// What it says about the service: the message without the object of the request, which the requests of others that
    /// meet the same service do not have.
    pub fn about_service(&self) -> String {
        match self {
            Self::Timeout { after, .. } => {
                format!("the service did not answer within {} s", after.as_secs())
            }
            Self::LostReply { reason, .. } => format!("a reply was lost: {reason}"),
            Self::Protocol { reason, .. } => format!("invalid reply from the service: {reason}"),
            Self::TooLarge { limit_bytes, .. } => {
                format!("a reply is larger than {limit_bytes} bytes")
            }
            Self::Expired { .. } => "a signed URL has expired or was rejected".to_owned(),
            Self::CutShort { reason, .. } => format!("a transfer stopped early: {reason}"),
            _ => self.to_string(),
        }
    }

    /// A connection failure.
    pub(super) fn no_connection(reason: String) -> Self {
        Self::Unavailable {
            status: None,
            reason,
            retry_after: None,
        }
    }

    /// Whether no call can succeed without another token.
    pub fn is_about_token(&self) -> bool {
        matches!(self, Self::NoToken | Self::Unauthorized { .. })
    }

    /// True without a reply (none at all, none in time, none from a trusted server), and if the service says that it is
    /// unavailable.
    pub fn is_no_answer(&self) -> bool {
        matches!(
            self,
            Self::Unavailable {
                status: None | Some(503),
                ..
            } | Self::Timeout { .. }
                | Self::Untrusted { .. }
        )
    }

    /// Whether the service refused to make something because the account has no room for it. Status 413 means
    /// that here, because the bodies of such requests are small.
    pub fn is_account_full(&self) -> bool {
        matches!(self, Self::Rejected { status: 413, .. })
    }

    /// The pause that the service asks for.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after } | Self::Unavailable { retry_after, .. } => {
                *retry_after
            }
            _ => None,
        }
    }
}

/// The service's own sentence; without one, the path that does not exist.
fn not_found(what: &str, message: &str) -> String {
    match message {
        "" | "Not Found" => format!("{what} does not exist"),
        sentence => without_full_stop(sentence).to_owned(),
    }
}

fn wait_text(retry_after: &Option<Duration>) -> String {
    match retry_after {
        Some(wait) => format!("; retry after {} s", wait.as_secs_f64().ceil()),
        None => String::new(),
    }
}

/// The message of an error body, or the name of the status if there is none.
pub(super) fn message_of(status: StatusCode, body: &ErrorBody) -> String {
    let reason = status.canonical_reason().unwrap_or("no reason given");
    body.sentence().unwrap_or_else(|| reason.to_owned())
}

/// A sentence of the service as a part of one of ours.
pub fn without_full_stop(sentence: &str) -> &str {
    sentence.trim_end_matches('.')
}

/// A message without the numbers that [`std::io::Error`] adds: "No such file or directory (os error 2)".
pub fn without_error_numbers(message: &str) -> String {
    let mut parts = message.split(" (os error ");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push_str(part.split_once(')').map_or("", |(_, rest)| rest));
    }
    text
}
