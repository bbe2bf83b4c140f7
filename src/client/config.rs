//! Settings of a client: where, as whom, how fast and how patiently.

use std::time::Duration;

use url::Url;

use super::error::ClientError;
use crate::wire::Token;

/// Settings of a [`Client`](super::Client).
#[derive(Debug, Clone)]
pub struct ClientConfig {
    /// The address of the service; paths are appended to it.
    pub base_url: Url,
    /// The token, if there is one; without it every call but the sign-in fails before it is sent.
    pub token: Option<Token>,
    /// Whether `http` to other machines is allowed.
    pub allow_insecure: bool,
    /// Requests a minute that the service counts, upload calls and transfers not included.
    pub requests_per_minute: u32,
    /// Requests that may go out at once after a quiet time.
    pub burst: u32,
    /// How long things may take.
    pub deadlines: Deadlines,
    /// How often and at what distance safe calls are repeated.
    pub retries: RetryPolicy,
    /// The largest JSON body that is read.
    pub max_json_bytes: usize,
}

impl ClientConfig {
    /// The usual settings for a service at this address.
    ///
    /// The service allows 2,000 requests a minute: a steady 1,400 and a burst of 500 stay below it in
    /// every minute, with something left for the account's other programs.
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
        })
    }

    /// The same settings with a token.
    pub fn with_token(mut self, token: Token) -> Self {
        self.token = Some(token);
        self
    }
}

/// How long things may take before they are given up.
#[derive(Debug, Clone, Copy)]
pub struct Deadlines {
    /// Name look-up, connection and TLS handshake together.
    pub connect: Duration,
    /// Time without a single byte of progress.
    pub stall: Duration,
    /// The whole of one JSON call, so that a slow drip ends too.
    pub json_call: Duration,
    /// From the last byte of a sent file to the answer: the network may still hold much of it.
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

/// How often and at what distance a safe call is repeated: exponential, with full jitter.
#[derive(Debug, Clone, Copy)]
pub struct RetryPolicy {
    /// Attempts in all.
    pub attempts: u32,
    /// Upper bound of the first pause; each further bound is twice as long.
    pub first_pause: Duration,
    /// Upper bound of any pause that the service did not ask for.
    pub longest_pause: Duration,
    /// How long an interactive call may go on being repeated, pauses that the service asks for included.
    pub interactive_patience: Duration,
    /// The same for a background call and for transfers.
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
