//! One HTTP POST with a deadline, over plain TCP or TLS, redirects not followed.

use std::error::Error;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::CONTENT_TYPE;
use reqwest::redirect::Policy;
use url::Url;

use super::receivers::{Receivers, RefusedReceiver};

/// The header that carries the signature of the body.
const SIGNATURE_HEADER: &str = "x-engine-signature";

/// The header with the id of the event, the same in each attempt.
const EVENT_HEADER: &str = "x-engine-event-id";

/// How long a call may take.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// What is posted.
#[derive(Debug)]
pub struct Message {
    /// The id of the event.
    pub event: String,
    /// The signature of the body, if the webhook has a secret.
    pub signature: Option<String>,
    /// JSON.
    pub body: Bytes,
}

/// Why a call got no answer.
#[derive(Debug, thiserror::Error)]
pub enum PostError {
    #[error(transparent)]
    Refused(#[from] RefusedReceiver),
    #[error("no answer in time")]
    Late,
    /// The reason without the URL, which may contain a secret.
    #[error("no answer: {0}")]
    Failed(String),
}

impl From<reqwest::Error> for PostError {
    fn from(error: reqwest::Error) -> PostError {
        if error.is_timeout() {
            return PostError::Late;
        }
        let error = error.without_url();
        // The outer errors are internals of the client.
        let mut cause: &dyn Error = &error;
        while let Some(inner) = cause.source() {
            cause = inner;
        }
        PostError::Failed(cause.to_string())
    }
}

/// Sends the calls. Keeps the certificates of the system.
#[derive(Debug)]
pub struct Poster {
    receivers: Receivers,
    checked: OnceLock<reqwest::Client>,
    unchecked: OnceLock<reqwest::Client>,
}

impl Poster {
    /// A sender to the receivers that are allowed.
    pub fn new(receivers: Receivers) -> Poster {
        Poster {
            receivers,
            checked: OnceLock::new(),
            unchecked: OnceLock::new(),
        }
    }

    /// Posts JSON and returns the status of the reply. `verify`: whether the certificate of the receiver is checked.
    pub async fn post(&self, url: &str, verify: bool, message: Message) -> Result<u16, PostError> {
        let parsed = Url::parse(url).ok();
        if let Some(url) = &parsed {
            self.receivers.check(url)?;
        }
        // Plain HTTP works also where the system has no certificates.
        let is_plain = parsed.is_some_and(|url| url.scheme() == "http");
        let client = self.client(verify && !is_plain)?;
        let mut request = client
            .post(url)
            .header(CONTENT_TYPE, "application/json")
            .header(EVENT_HEADER, message.event)
            .body(message.body);
        if let Some(signature) = message.signature {
            request = request.header(SIGNATURE_HEADER, signature);
        }
        Ok(request.send().await?.status().as_u16())
    }

    fn client(&self, verify: bool) -> Result<&reqwest::Client, reqwest::Error> {
        let kept = match verify {
            true => &self.checked,
            false => &self.unchecked,
        };
        if let Some(client) = kept.get() {
            return Ok(client);
        }
        // Fails if another client was first, which installed the same.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .user_agent(concat!("assetfs/", env!("CARGO_PKG_VERSION")))
            .tls_danger_accept_invalid_certs(!verify)
            .timeout(DEADLINE)
            .redirect(Policy::none())
            .dns_resolver(Arc::new(self.receivers))
            .no_proxy()
            .http1_only()
            .pool_max_idle_per_host(0)
            .build()?;
        Ok(kept.get_or_init(|| client))
    }
}
