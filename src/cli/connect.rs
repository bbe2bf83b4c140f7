//! Connections of commands that call the service without a mount. `--local` means the local service, whether a mount
//! runs it or not.

use std::ops::Deref;
use std::path::PathBuf;

use anyhow::Result;

use crate::client::{Client, ClientError};

use super::account::{self, Account, AccountArgs};
use super::block_on::block_on;
use super::kept_tokens::TokenSource;
use super::service_client::client_for;
use super::{local, settings};

/// Common flags of these commands.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct ServiceArgs {
    #[command(flatten)]
    pub(super) account: AccountArgs,
    /// Allow plain http to other machines
    #[arg(long, env = "ASSETFS_ALLOW_INSECURE")]
    pub(super) allow_insecure: bool,
    /// Folder of the local service's records [default: $XDG_DATA_HOME/assetfs/service]
    #[arg(long, env = "ASSETFS_DATA_DIR", value_name = "DIR")]
    pub(super) data_dir: Option<PathBuf>,
}

/// A client, and the local service if it runs only for this command.
pub(super) enum Connected {
    Remote(Client),
    Local(Box<local::Reached>),
}

impl Deref for Connected {
    type Target = Client;

    fn deref(&self) -> &Client {
        match self {
            Connected::Remote(client) => client,
            Connected::Local(reached) => reached.client(),
        }
    }
}

impl ServiceArgs {
    /// A client for the account that the flags name.
    pub(super) fn client(&self) -> Result<Connected> {
        let profile = settings::load_profile(self.account.profile.as_deref())?;
        let allow_insecure = self.allow_insecure || profile.allow_insecure.unwrap_or(false);
        let data_dir = match &self.data_dir {
            Some(dir) => std::path::absolute(dir)?,
            None => settings::local_service_dir()?,
        };
        match account::choose(&self.account, &profile, data_dir)? {
            Account::Remote { base_url, token } => {
                client_for(base_url.as_str(), Some(token), allow_insecure).map(Connected::Remote)
            }
            Account::Local { data_dir } => {
                local::reach(&data_dir).map(|reached| Connected::Local(Box::new(reached)))
            }
        }
    }

    /// Where the token of an account comes from.
    pub(super) fn token_source(&self) -> Result<TokenSource> {
        let profile = settings::load_profile(self.account.profile.as_deref())?;
        account::token_source(&self.account, &profile)
    }

    /// Runs one request on the account's service.
    pub(super) fn ask<T>(
        &self,
        question: impl AsyncFnOnce(Client) -> Result<T, ClientError>,
    ) -> Result<T> {
        let client = self.client()?;
        block_on(async { Ok(question(Client::clone(&client)).await?) })
    }
}
