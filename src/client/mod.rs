//! HTTP client of the service: typed calls, a rate limit with priorities, retries of idempotent calls, and
//! transfers through signed URLs. Keeps nothing on disk.
//!
//! Three promises. The bearer token is only sent to the exact origin of the base URL. A call that is not
//! idempotent is sent once; if its reply is lost, it fails with [`ClientError::LostReply`]. Every call ends:
//! connecting, progress and the whole call have timeouts.

mod account;
mod assets;
mod bandwidth;
mod body;
mod budget;
mod call;
mod config;
mod embeds;
mod error;
mod exchange;
mod groups;
mod listing;
mod meta;
mod models;
mod optimizations;
mod origin;
mod presets;
mod probe;
mod put;
mod range;
mod range_source;
mod rapids;
mod reach;
mod resolver;
mod retry;
#[cfg(test)]
pub(crate) mod scripted;
mod storage;
mod tokens;
mod transfers;
mod transport;
mod webhooks;
mod window;

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::wire::TokenId;
use exchange::Exchange;
use models::ModelCalls;

pub use account::AccountIdentity;
pub use assets::AssetCalls;
pub use body::{ByteStream, Download};
pub use budget::{BudgetStatus, Priority};
pub use config::{ClientConfig, Deadlines, RetryPolicy};
pub use error::{ClientError, without_error_numbers, without_full_stop};
pub use groups::{
    AccountCalls, EmbedCalls, OptimizationCalls, PresetCalls, TokenCalls, WebhookCalls,
};
pub use listing::{EmbedQuery, ListQuery, MAX_PER_PAGE, PageStream};
pub use meta::ObjectMeta;
pub use origin::is_loopback_host;
pub use put::PutReply;
pub use range::RangeReply;
pub use rapids::RapidCalls;
pub use retry::reporting_failures;
pub use transfers::Transfers;

/// A client for one service with one token; clones share everything.
#[derive(Clone)]
pub struct Client {
    exchange: Arc<Exchange>,
}

impl Client {
    /// Creates a client; sends nothing.
    pub fn new(config: ClientConfig) -> Result<Self, ClientError> {
        origin::check_base(&config.base_url, config.allow_insecure)?;
        let transport = transport::Transport::new(&config)?;
        Ok(Self {
            exchange: Arc::new(Exchange::new(config, transport)),
        })
    }

    /// A client that sends all requests to `server`.
    #[cfg(test)]
    pub(crate) fn scripted(
        config: ClientConfig,
        server: Arc<dyn scripted::ScriptedServer>,
    ) -> Self {
        let rule = origin::AddressRule::new(config.base_url.clone(), config.allow_insecure);
        let transport = transport::Transport::scripted(server, rule);
        Self {
            exchange: Arc::new(Exchange::new(config, transport)),
        }
    }

    pub fn assets(&self) -> AssetCalls<'_> {
        ModelCalls {
            exchange: &self.exchange,
            kind: PhantomData,
        }
    }

    /// Rapid models, which are the results of optimizations.
    pub fn rapids(&self) -> RapidCalls<'_> {
        ModelCalls {
            exchange: &self.exchange,
            kind: PhantomData,
        }
    }

    /// Files behind signed URLs.
    pub fn transfers(&self) -> Transfers<'_> {
        Transfers {
            storage: &self.exchange.storage,
        }
    }

    /// Returns when a call got no reply twice in a row, while it is still being repeated. Returns at once if this is
    /// already the case. Any reply of the service, also an error, ends this state.
    pub async fn out_of_reach(&self) {
        self.exchange.reach.until_lost_is(true).await;
    }

    /// Returns when the service replies after it was [out of reach](Client::out_of_reach).
    pub async fn in_reach_again(&self) {
        self.exchange.reach.until_lost_is(true).await;
        self.exchange.reach.until_lost_is(false).await;
    }

    /// Whether the service has said that it performs only one of all requests with the same idempotency key. False before
    /// its first reply, and for services that say nothing about keys.
    pub fn keeps_idempotency_keys(&self) -> bool {
        self.exchange.keeps_keys.load(Ordering::Relaxed)
    }

    pub fn base_url(&self) -> &url::Url {
        &self.exchange.config.base_url
    }

    /// Scheme, host and port of the service.
    pub fn origin(&self) -> String {
        self.exchange.origin()
    }

    /// The id of the token. It is not secret.
    pub fn token_id(&self) -> Option<TokenId> {
        self.exchange.token_id()
    }

    /// State of the rate limiter.
    pub fn budget(&self) -> BudgetStatus {
        self.exchange.budget.status()
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("origin", &self.origin())
            .finish_non_exhaustive()
    }
}

/// Declares a method of [`Client`] for each group.
macro_rules! accessors {
    ($($method:ident: $group:ident,)*) => {
        impl Client {
            $(
                pub fn $method(&self) -> $group<'_> {
                    $group { exchange: &self.exchange }
                }
            )*
        }
    };
}

accessors! {
    account: AccountCalls,
    embeds: EmbedCalls,
    optimizations: OptimizationCalls,
    presets: PresetCalls,
    tokens: TokenCalls,
    webhooks: WebhookCalls,
}
