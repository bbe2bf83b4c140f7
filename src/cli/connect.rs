//! Connections of commands that call the service themselves, not through a mount. `--local` means the local service, whether
//! a mount runs it or not. Where neither flags nor the configuration name an account, it is that of the mounted drive.

use std::ops::Deref;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::client::{Client, ClientError};
use crate::durable::DirLock;

use super::account::{self, Account, AccountArgs};
use super::block_on::block_on;
use super::exit::WrongUse;
use super::kept_tokens::TokenSource;
use super::mount_source::{self, Chosen};
use super::mounted::MountedDrive;
use super::service_client::client_for;
use super::settings::Profile;
use super::{local, settings};
use crate::fuse::{self, shell_quoted};

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
    /// A client for the account that the flags name, else the configuration, else the mounted drive.
    pub(super) fn client(&self) -> Result<Connected> {
        let data_dir = self.data_dir()?;
        let (account, profile) = self.chosen(&data_dir)?;
        let allow_insecure = self.allow_insecure || profile.allow_insecure.unwrap_or(false);
        match account::choose(&account, &profile, data_dir)? {
            Account::Remote { base_url, token } => {
                client_for(base_url.as_str(), Some(token), allow_insecure).map(Connected::Remote)
            }
            Account::Local { data_dir } => {
                local::reach(&data_dir).map(|reached| Connected::Local(Box::new(reached)))
            }
        }
    }

    fn data_dir(&self) -> Result<PathBuf> {
        match &self.data_dir {
            Some(dir) => Ok(std::path::absolute(dir)?),
            None => settings::local_service_dir(),
        }
    }

    /// Where the token of an account comes from.
    pub(super) fn token_source(&self) -> Result<TokenSource> {
        let (account, profile) = self.chosen(&self.data_dir()?)?;
        account::token_source(&account, &profile)
    }

    /// The flags and the profile, completed by the mounted drive if they name no account. With several drives it is the one
    /// that the working folder is in, or that at `~/assets`, or any if all are of one account.
    ///
    /// # Errors
    /// If several drives are mounted, and nothing says which is meant.
    fn chosen(&self, data_dir: &Path) -> Result<(AccountArgs, Profile)> {
        let mut account = self.account.clone();
        let mut profile = settings::load_profile(account.profile.as_deref())?;
        let is_named = account.names_account() || profile.names_account();
        if is_named || fuse::own_mounts()?.is_empty() {
            return Ok((account, profile));
        }
        let Some((drives, source)) = MountedDrive::of_account()? else {
            return Ok((account, profile));
        };
        match mount_source::chosen_by(&source) {
            Chosen::Nothing => {}
            Chosen::Local => {
                check_same_service(&drives, data_dir)?;
                account.local = true;
            }
            Chosen::Service => account.base_url = Some(source),
            Chosen::Profile => profile = settings::load_profile(Some(&source))?,
        }
        Ok((account, profile))
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

/// # Errors
/// If the drives are of a local service with its records in another folder: then a command would not mean what is mounted.
fn check_same_service(drives: &[MountedDrive], data_dir: &Path) -> Result<()> {
    // The process of such a drive runs the service.
    let holder = DirLock::holder(data_dir);
    for drive in drives {
        if holder == Some(drive.status()?.pid) {
            return Ok(());
        }
    }
    let roots: Vec<String> = drives.iter().map(|it| shell_quoted(it.root())).collect();
    Err(WrongUse(format!(
        "the drive at {} is of a local service that has its records in another folder; name it with --data-dir",
        roots.join(", ")
    ))
    .into())
}
