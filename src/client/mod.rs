//! Talks to the service: typed endpoints, a rate budget with priorities, retries where repeating is safe,
//! and transfers through signed URLs. Knows no inodes and keeps nothing on disk.
//!
//! Three promises. The bearer token goes to the exact origin of the base URL and nowhere else. A call that
//! has an effect is sent once; when its reply is lost, the caller is told so ([`ClientError::LostReply`]).
//! No call waits without end: connecting, progress and the whole of a call have deadlines.

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

use std::sync::{Arc, RwLock};

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

/// A connection to one service with one token; clones share everything.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    config: ClientConfig,
    token: RwLock<Option<Token>>,
    budget: budget::RateBudget,
    transport: transport::Transport,
}

impl Client {
    /// Prepares connections; sends nothing yet.
    pub fn new(config: ClientConfig) -> Result<Self, ClientError> {
        origin::check_base(&config.base_url, config.allow_insecure)?;
        let shared = Shared {
            token: RwLock::new(config.token.clone()),
            budget: budget::RateBudget::new(config.requests_per_minute, config.burst),
            transport: transport::Transport::new(&config)?,
            config,
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// The address of the service.
    pub fn base_url(&self) -> &url::Url {
        &self.shared.config.base_url
    }

    /// Scheme, host and port of the service; state is kept by this and the account.
    pub fn origin(&self) -> String {
        self.shared.config.base_url.origin().ascii_serialization()
    }

    /// Uses another token from now on, for instance after the old one was revoked.
    pub fn set_token(&self, token: Option<Token>) {
        *self
            .shared
            .token
            .write()
            .expect("no holder of this lock can panic") = token;
    }

    /// The id of the token in use; not secret.
    pub fn token_id(&self) -> Option<TokenId> {
        self.token().and_then(|token| token.id())
    }

    /// How much of the rate budget is left.
    pub fn budget(&self) -> BudgetStatus {
        self.shared.budget.status()
    }

    fn token(&self) -> Option<Token> {
        self.shared
            .token
            .read()
            .expect("no holder of this lock can panic")
            .clone()
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("origin", &self.origin())
            .finish_non_exhaustive()
    }
}
