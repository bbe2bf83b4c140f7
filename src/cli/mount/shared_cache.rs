//! `--shared-cache`: checks it before the mount, and sets it up in the process that serves.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::args::MountArgs;
use crate::bucket::Credentials;
use crate::cache::{SharedCache, SharedCacheConfig, SharedCachePlace};
use crate::cli::account::Account;
use crate::cli::exit::WrongUse;
use crate::cli::settings::{ByteSize, Profile};

/// The default of `--shared-cache-size`.
const DEFAULT_SIZE: ByteSize = ByteSize(100_000_000_000);

/// What a process needs to set up the shared cache. The credentials are read again from the environment.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SharedCachePlan {
    /// An absolute path, or a URL.
    place: String,
    limit_bytes: u64,
}

/// The shared cache of the flags or the profile, checked as far as possible without using it.
pub(super) fn chosen(
    args: &MountArgs,
    profile: &Profile,
    account: &Account,
) -> Result<Option<SharedCachePlan>> {
    let Some(named) = args.shared_cache.as_ref().or(profile.shared_cache.as_ref()) else {
        return Ok(None);
    };
    if matches!(account, Account::Local { .. }) {
        // A key at the top of the configuration is for the other accounts.
        return match &args.shared_cache {
            None => Ok(None),
            Some(_) => {
                let text = "--shared-cache is for the account of a service: files of the local service are on this \
                            machine; leave it out";
                Err(WrongUse(text.to_owned()).into())
            }
        };
    }
    let place: SharedCachePlace = named
        .parse()
        .with_context(|| format!("--shared-cache {named} cannot be used"))?;
    let place = match place {
        SharedCachePlace::Folder(path) => {
            let path: PathBuf = std::path::absolute(path)?;
            let path = path.into_os_string().into_string();
            path.map_err(|path| {
                WrongUse(format!("--shared-cache {} is not UTF-8", path.display()))
            })?
        }
        SharedCachePlace::Bucket(_) => {
            credentials()?;
            named.clone()
        }
    };
    let size = args.shared_cache_size.or(profile.shared_cache_size);
    Ok(Some(SharedCachePlan {
        place,
        limit_bytes: size.unwrap_or(DEFAULT_SIZE).0,
    }))
}

fn credentials() -> Result<Credentials> {
    Credentials::find(|name| std::env::var(name).ok()).context("--shared-cache cannot be used")
}

impl SharedCachePlan {
    /// Sets it up for an account. Sends no request.
    pub(super) fn open(&self, account: &str) -> Result<SharedCache> {
        let place: SharedCachePlace = self.place.parse()?;
        let credentials = match place {
            SharedCachePlace::Folder(_) => None,
            SharedCachePlace::Bucket(_) => Some(credentials()?),
        };
        let config = SharedCacheConfig {
            place,
            account: account.to_owned(),
            limit_bytes: self.limit_bytes,
            credentials,
        };
        SharedCache::new(config).context("--shared-cache cannot be used")
    }
}
