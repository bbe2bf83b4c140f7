//! What can go wrong between here and the service, in the words a user reads.
//!
//! No variant ever holds a token or the query of a signed URL: causes are kept as text that has been
//! cleaned. Errors can be cloned, so that one fetch may fail for several readers.

use std::sync::Arc;
use std::time::Duration;

/// A failed call or transfer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ClientError {
    /// The address of the service cannot be used.
    #[error("the base URL cannot be used: {reason}")]
    BadBaseUrl {
        /// What is wrong with it.
        reason: String,
    },
    /// There is no token.
    #[error("no API token is set; `assetfs login` or ASSETFS_TOKEN provides one")]
    NoToken,
    /// The token is refused (401).
    #[error("the service refuses the API token: {message}; `assetfs login` sets another one")]
    Unauthorized {
        /// The service's words.
        message: String,
    },
    /// The token is known and may not do this (403).
    #[error("the service does not allow this: {message}")]
    Forbidden {
        /// The service's words.
        message: String,
    },
    /// The object is not there (404).
    #[error("{what} does not exist: {message}")]
    NotFound {
        /// What was asked for.
        what: String,
        /// The service's words.
        message: String,
    },
    /// The service refuses the content (400, 422 and other 4xx).
    #[error("the service refuses it ({status}): {message}")]
    Rejected {
        /// The HTTP status.
        status: u16,
        /// The service's words.
        message: String,
    },
    /// Too many requests (429, or our own budget is used up for long).
    #[error("too many requests to the service{}", wait_text(.retry_after))]
    RateLimited {
        /// How long to wait, where known.
        retry_after: Option<Duration>,
    },
    /// No connection, or the service fails (5xx). The request had no effect, or repeating it is safe.
    #[error("the service cannot be reached or fails: {reason}")]
    Unavailable {
        /// The HTTP status, if there was an answer.
        status: Option<u16>,
        /// Why.
        reason: String,
        /// How long the service asked to wait, where it did.
        retry_after: Option<Duration>,
    },
    /// No answer in time. The request had no effect, or repeating it is safe.
    #[error("{what}: no answer within {} s", .after.as_secs())]
    Timeout {
        /// What was being done.
        what: String,
        /// How long it was waited.
        after: Duration,
    },
    /// The request may have had its effect, but no usable answer came.
    #[error("{what}: the answer was lost, the request may have had its effect: {reason}")]
    LostReply {
        /// What was being done.
        what: String,
        /// The HTTP status, if one came (5xx).
        status: Option<u16>,
        /// Why, or the service's words.
        reason: String,
    },
    /// The answer makes no sense.
    #[error("{what}: the answer makes no sense: {reason}")]
    Protocol {
        /// What was being done.
        what: String,
        /// What is wrong with the answer.
        reason: String,
    },
    /// A body is larger than anything sensible.
    #[error("{what}: the answer is larger than {limit_bytes} bytes")]
    TooLarge {
        /// What was being done.
        what: String,
        /// The limit.
        limit_bytes: u64,
    },
    /// An address that must not be used.
    #[error("refused for safety: {reason}")]
    Insecure {
        /// Why.
        reason: String,
    },
    /// A signed URL does not work any more; a new one is needed.
    #[error("the signed URL for {what} has expired or is refused")]
    Expired {
        /// Path of the URL, without its query.
        what: String,
    },
    /// The object behind a signed URL is not the one that was asked about.
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
        /// How many bytes did not come.
        missing_bytes: u64,
        /// Why.
        reason: String,
    },
    /// The local file that is being sent cannot be read.
    #[error("cannot read the local file that is being sent: {0}")]
    LocalRead(#[source] Arc<std::io::Error>),
    /// The local file has another length than was said.
    #[error(
        "the local file changed while it was being sent: {expected_bytes} bytes expected, {found_bytes} found"
    )]
    LocalChanged {
        /// The length that was said.
        expected_bytes: u64,
        /// The length that was found, at least.
        found_bytes: u64,
    },
}

impl ClientError {
    /// Whether trying the same later may work without anybody changing anything, and does no harm.
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
            | Self::Expired { .. }
            | Self::Changed { .. }
            | Self::LocalRead(_)
            | Self::LocalChanged { .. } => false,
        }
    }

    /// No connection, for this reason.
    pub(super) fn no_connection(reason: String) -> Self {
        Self::Unavailable {
            status: None,
            reason,
            retry_after: None,
        }
    }

    /// Whether the token has to change before anything works.
    pub fn is_about_token(&self) -> bool {
        matches!(self, Self::NoToken | Self::Unauthorized { .. })
    }

    /// How long the service asked to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after } | Self::Unavailable { retry_after, .. } => {
                *retry_after
            }
            _ => None,
        }
    }
}

fn wait_text(retry_after: &Option<Duration>) -> String {
    match retry_after {
        Some(wait) => format!("; it asks to wait {} s", wait.as_secs_f64().ceil()),
        None => String::new(),
    }
}
