//! The groups of calls that [`Client`](super::Client) hands out. Each group's methods are in the file of its name.

use std::sync::Arc;

use super::exchange::Exchange;

macro_rules! groups {
    ($($(#[$doc:meta])* $group:ident,)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $group<'a> {
            pub(super) exchange: &'a Arc<Exchange>,
        }
    )*};
}

groups! {
    /// Calls about the account itself: identity, sign-in, points, storage.
    AccountCalls,
    /// Calls about embeds.
    EmbedCalls,
    /// Calls about optimizations.
    OptimizationCalls,
    /// Calls about presets.
    PresetCalls,
    /// Calls about API tokens.
    TokenCalls,
    /// Calls about webhooks.
    WebhookCalls,
}
