//! HTTP client of the service: typed calls, a rate limit with priorities, retries of idempotent calls, and
//! transfers through signed URLs. Keeps nothing on disk.
//!
//! Three promises. The bearer token is only sent to the exact origin of the base URL. A call that is not
//! idempotent is sent once; if its reply is lost, it fails with [`ClientError::LostReply`]. Every call ends:
//! connecting, progress and the whole call have timeouts.

mod account;
mod assets;
mod body;
mod budget;
mod call;
mod config;
mod embeds;
mod error;
mod exchange;
mod listing;
mod meta;
mod origin;
mod presets;
mod probe;
mod put;
mod range;
mod range_source;
mod rapid;
mod resolver;
mod retry;
#[cfg(test)]
pub(crate) mod scripted;
mod storage;
mod transport;

use std::sync::Arc;

use crate::wire::{Token, TokenId};

pub use account::AccountIdentity;
pub use body::{ByteStream, Download};
pub use budget::{BudgetStatus, Priority};
pub use config::{ClientConfig, Deadlines, RetryPolicy};
pub use error::ClientError;
pub use listing::{EmbedQuery, ListQuery, PageStream};
pub use meta::ObjectMeta;
pub use put::PutReply;
pub use range::RangeReply;

/// A client for one service with one token; clones share everything.
#[derive(Clone)]
pub struct Client {
    shared: Arc<ClientState>,
}

struct ClientState {
    config: ClientConfig,
    budget: budget::RateBudget,
    transport: transport::Transport,
    /// True while the service answers no request, tried again over a new connection.
    out_of_reach: tokio::sync::watch::Sender<bool>,
}

impl Client {
    /// Creates a client; sends nothing.
    pub fn new(config: ClientConfig) -> Result<Self, ClientError> {
        origin::check_base(&config.base_url, config.allow_insecure)?;
        let shared = ClientState {
            budget: budget::RateBudget::new(config.requests_per_minute, config.burst),
            transport: transport::Transport::new(&config)?,
            config,
            out_of_reach: tokio::sync::watch::Sender::new(false),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Returns as soon as a call got no answer twice in a row, while it is still being repeated; at once while that
    /// is so. Any answer of the service, an error too, ends it.
    pub async fn out_of_reach(&self) {
        let mut state = self.shared.out_of_reach.subscribe();
        // The sender lives as long as this client.
        let _ = state.wait_for(|is_out_of_reach| *is_out_of_reach).await;
    }

    pub fn base_url(&self) -> &url::Url {
        &self.shared.config.base_url
    }

    /// Scheme, host and port of the service.
    pub fn origin(&self) -> String {
        self.shared.config.base_url.origin().ascii_serialization()
    }

    /// The id of the token. It is not secret.
    pub fn token_id(&self) -> Option<TokenId> {
        self.token().and_then(Token::id)
    }

    /// State of the rate limiter.
    pub fn budget(&self) -> BudgetStatus {
        self.shared.budget.status()
    }

    fn token(&self) -> Option<&Token> {
        self.shared.config.token.as_ref()
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("origin", &self.origin())
            .finish_non_exhaustive()
    }
}
