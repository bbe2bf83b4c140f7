//! Commands that speak to the service themselves, without a mount: who it is, and one runtime to ask
//! it in.

use anyhow::{Context, Result};

use crate::client::{Client, ClientConfig, ClientError};
use crate::wire::Token;

use super::WrongUse;
use super::account::{self, Account, AccountArgs};
use super::settings;

/// The account that the flags name, as a client. The local service lives inside its mount and is
/// reached by nobody else.
pub(super) fn client(args: &AccountArgs, allow_insecure: bool) -> Result<Client> {
    let profile = settings::load_profile(args.profile.as_deref())?;
    let allow_insecure = allow_insecure || profile.allow_insecure.unwrap_or(false);
    match account::choose(args, &profile, settings::local_service_dir()?)? {
        Account::Remote { base_url, token } => {
            client_for(base_url.as_str(), Some(token), allow_insecure)
        }
        Account::Local { .. } => Err(WrongUse(
            "this needs an account of a service: name it with --base-url; a service started by `assetfs serve` is one too"
                .to_owned(),
        )
        .into()),
    }
}

/// A client for an address, with a token where there is one.
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

/// Runs a few requests to their end.
pub(super) fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start")?
        .block_on(work)
}

/// Flags that every such command has.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct ServiceArgs {
    #[command(flatten)]
    pub(super) account: AccountArgs,
    /// Allow plain http to other machines
    #[arg(long, env = "ASSETFS_ALLOW_INSECURE")]
    pub(super) allow_insecure: bool,
}

impl ServiceArgs {
    /// The account as a client.
    pub(super) fn client(&self) -> Result<Client> {
        client(&self.account, self.allow_insecure)
    }

    /// What the account's service says to one question.
    pub(super) fn ask<T>(
        &self,
        question: impl AsyncFnOnce(Client) -> Result<T, ClientError>,
    ) -> Result<T> {
        let client = self.client()?;
        block_on(async { Ok(question(client).await?) })
    }
}
