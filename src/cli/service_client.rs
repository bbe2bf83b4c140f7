//! A client of a service.

use anyhow::{Context, Result};

use crate::client::{Client, ClientConfig};
use crate::wire::Token;

/// A client for an address, with or without a token.
pub(super) fn client_for(
    base_url: &str,
    token: Option<Token>,
    allow_insecure: bool,
) -> Result<Client> {
    let mut config = ClientConfig {
        allow_insecure,
        ..ClientConfig::new(base_url)?
    };
    if let Some(token) = token {
        config = config.with_token(token);
    }
    Client::new(config).context("cannot use this service")
}
