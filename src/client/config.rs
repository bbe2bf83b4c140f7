//! Settings of a client: address, token, rate, timeouts and retries.

use std::num::NonZeroU64;
use std::time::Duration;

use url::Url;

use super::error::ClientError;
use crate::wire::Token;

/// Settings of a [`Client`](super::Client).
#[derive(Debug, Clone)]
pub struct ClientConfig {
    /// Address of the service; paths are appended to it.
    pub base_url: Url,
    /// Without a token every call except the sign-in fails before it is sent.
    pub token: Option<Token>,
    /// Allows plain `http` to other machines.
    pub allow_insecure: bool,
    /// Maximum rate of requests. Upload calls and transfers are not counted.
    pub requests_per_minute: u32,
    /// Requests that may be sent at once after an idle time.
    pub burst: u32,
    pub deadlines: Deadlines,
    pub retries: RetryPolicy,
    /// Maximum size of a JSON body.
    pub max_json_bytes: usize,
    /// Bytes per second that all uploads of files together may send; `None` is no limit.
    pub limit_up: Option<NonZeroU64>,
    /// The same for downloads of files.
    pub limit_down: Option<NonZeroU64>,
}

impl ClientConfig {
    /// The default settings for a service at this address.
    ///
    /// The service allows 2,000 requests per minute. A rate of 1,400 and a burst of 500 stay below that in
    /// every minute and leave some for other programs of the account.
    pub fn new(base_url: &str) -> Result<Self, ClientError> {
        let base_url = Url::parse(base_url.trim()).map_err(|error| ClientError::BadBaseUrl {
            reason: format!("{error}; write it like https://assets.example.com"),
        })?;
        Ok(Self {
            base_url,
            token: None,
            allow_insecure: false,
            requests_per_minute: 1400,
            burst: 500,
            deadlines: Deadlines::default(),
            retries: RetryPolicy::default(),
            max_json_bytes: 64 * 1024 * 1024,
            limit_up: None,
            limit_down: None,
        })
    }

    pub fn with_token(mut self, token: Token) -> Self {
        self.token = Some(token);
        self
    }
}

/// Timeouts.
#[derive(Debug, Clone, Copy)]
pub struct Deadlines {
    /// Name resolution, connection and TLS handshake together.
    pub connect: Duration,
    /// Time without any progress.
    pub stall: Duration,
    /// One whole JSON call, so that a slow trickle of bytes ends too.
    pub json_call: Duration,
    /// From the last byte of a sent file to the reply; network buffers may still contain much of the file.
    pub after_upload: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            stall: Duration::from_secs(30),
            json_call: Duration::from_secs(90),
            after_upload: Duration::from_secs(120),
        }
    }
}

/// How often and after what pause an idempotent call is repeated: exponential backoff with full jitter.
#[derive(Debug, Clone, Copy)]
pub struct RetryPolicy {
    /// Total number of attempts.
    pub attempts: u32,
    /// Upper bound of the first pause; the bound doubles with each failure.
    pub first_pause: Duration,
    /// Maximum pause, unless the service asks for a longer one.
    pub longest_pause: Duration,
    /// Maximum time for all attempts of an interactive call, including pauses that the service asks for.
    pub interactive_patience: Duration,
    /// The same for background calls and transfers.
    pub background_patience: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 5,
            first_pause: Duration::from_millis(250),
            longest_pause: Duration::from_secs(8),
            interactive_patience: Duration::from_secs(25),
            background_patience: Duration::from_secs(180),
        }
    }
}
