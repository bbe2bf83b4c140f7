//! Where an account's state and cache are. State belongs to an account, not to a mount point: the
//! folders are named by the service's origin and the token's owner, so that drafts never go to
//! another account and a new token of the same owner finds them again.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use url::Url;

use crate::cli::mounted::{MountedDrive, POLL_PERIOD};
use crate::cli::{WrongUse, dying};
use crate::client::{Client, ClientError, Priority};
use crate::durable::{DirLock, DurableError, PrivateDir, is_foreign, write_atomic};
use crate::fuse;
use crate::outbox::holds_unsent;
use crate::wire::{Token, TokenId};

use super::MountPlan;

/// How long the service may take to say whose token this is; without an answer the last one holds.
const OWNER_DEADLINE: Duration = Duration::from_secs(5);

/// The id of a token that has none.
const UNNUMBERED: &str = "unnumbered";

/// How long a process whose drive was unmounted may take to close.
const CLOSING_DEADLINE: Duration = Duration::from_secs(30);

/// The folders of one account, locked for this mount.
pub(super) struct Places {
    /// How the account is called for people: origin and owner.
    pub(super) label: String,
    /// Names the account by origin and owner (or token) for all machines, if the owner or the token's id is known.
    pub(super) shared_account: Option<String>,
    /// Drafts, journals, known listings.
    pub(super) state: PrivateDir,
    /// Cached blocks.
    pub(super) cache: PrivateDir,
    /// A warning for the user, if something is unexpected.
    pub(super) warning: Option<String>,
    _lock: DirLock,
}

/// Which folder a token's state is in: origin and token id → folder name. Kept so that an account
/// is found again while the service does not answer, or refuses the token.
struct Register {
    path: PathBuf,
}

impl Register {
    fn read(&self) -> Result<BTreeMap<String, String>> {
        match std::fs::read(&self.path) {
            Ok(text) => serde_json::from_slice(&text)
                .with_context(|| format!("{} is damaged; move it away", self.path.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(BTreeMap::new()),
            Err(error) => {
                Err(error).with_context(|| format!("cannot read {}", self.path.display()))
            }
        }
    }

    fn add(&self, key: String, name: &str) -> Result<()> {
        let mut accounts = self.read()?;
        accounts.insert(key, name.to_owned());
        write_atomic(&self.path, &serde_json::to_vec_pretty(&accounts)?)
            .with_context(|| format!("cannot write {}", self.path.display()))
    }
}

/// Refuses a folder for state or cache that has files of others in it: it would become private to this user.
pub(super) fn check_they_are_ours(plan: &MountPlan) -> Result<()> {
    let is_sign = |name: &str| {
        let is_account = |part: &str| name.contains(part);
        name.starts_with("local-") || ["-owner-", "-token-"].into_iter().any(is_account)
    };
    let usual = ["accounts.json", "mount.log", "engine-worker"];
    for folder in [&plan.state_dir, &plan.cache_dir] {
        if is_foreign(folder, is_sign, &usual) {
            return Err(WrongUse(DurableError::Foreign(folder.clone()).to_string()).into());
        }
    }
    Ok(())
}

/// The answer of the service about the token.
enum Owner {
    Known(u64),
    /// The service has no owner for it.
    Unknown,
    /// The service cannot be asked, and why.
    Silent(String),
    Refused(String),
}

/// Finds, creates and locks the folders of the account that `client` works with.
pub(super) async fn open_remote(
    plan: &MountPlan,
    client: &Client,
    base_url: &Url,
    token: &Token,
) -> Result<Places> {
    PrivateDir::open(&plan.state_dir).context("cannot use the state folder")?;
    let register = Register {
        path: plan.state_dir.join("accounts.json"),
    };
    let token_id = token.id();
    let key = format!(
        "{} {}",
        base_url.origin().ascii_serialization(),
        token_id_text(token_id)
    );
    let mut accounts = register.read()?;
    let known = accounts.remove(&key);
    let origin = base_url.origin().ascii_serialization();
    let is_known_service = accounts
        .keys()
        .any(|key| key.starts_with(&format!("{origin} ")));
    let owner = owner_of(client, token_id).await;
    let mut warning = match &owner {
        Owner::Silent(why) => Some(format!(
            "the service at {} does not answer ({why}); what is cached can be read, and what is copied in is \
             sent when it answers",
            base_url.origin().ascii_serialization()
        )),
        _ => None,
    };
    let name = match (known, owner) {
        (None, Owner::Refused(why)) => bail!("{why}"),
        // An address that never answered may be a wrong one.
        (None, Owner::Silent(why)) if !is_known_service => bail!(
            "the service at {origin} does not answer ({why}), and was never mounted here before; check the address, \
             and mount again when it answers"
        ),
        (Some(name), Owner::Known(owner)) => {
            let of_owner = folder_name(base_url, token_id, &Owner::Known(owner));
            match better_folder(plan, &name, &of_owner) {
                BetterFolder::Same => name,
                BetterFolder::OfOwner => {
                    register.add(key, &of_owner)?;
                    of_owner
                }
                BetterFolder::Both => {
                    warning = Some(format!(
                        "drafts of this account are also in {}; when the drafts of this mount are sent, mount again to see them",
                        plan.state_dir.join(&of_owner).display()
                    ));
                    name
                }
            }
        }
        (Some(name), owner) => {
            if let Owner::Refused(why) = owner {
                warning = Some(format!("{why} Drafts and cached files can still be used."));
            }
            name
        }
        (None, owner) => {
            let name = folder_name(base_url, token_id, &owner);
            register.add(key, &name)?;
            name
        }
    };
    let mut places = open(plan, &name, base_url.origin().ascii_serialization()).await?;
    places.warning = warning;
    Ok(places)
}

/// The one of two folders that has the state of an account.
#[derive(Debug, PartialEq, Eq)]
enum BetterFolder {
    /// The one that the register names.
    Same,
    /// The one of the token's owner.
    OfOwner,
    /// Both have something to send.
    Both,
}

/// The register may name a folder that was made while nobody could say whose token this is. The folder of the owner, where
/// there is one, is used as soon as the other has nothing to send.
fn better_folder(plan: &MountPlan, registered: &str, of_owner: &str) -> BetterFolder {
    let has_unsent = |name: &str| holds_unsent(&plan.state_dir.join(name).join("outbox"));
    if registered == of_owner || !plan.state_dir.join(of_owner).is_dir() {
        return BetterFolder::Same;
    }
    match (has_unsent(registered), has_unsent(of_owner)) {
        (false, _) => BetterFolder::OfOwner,
        (true, true) => BetterFolder::Both,
        (true, false) => BetterFolder::Same,
    }
}

/// The folders for the local service whose records are in `data_dir`.
pub(super) async fn open_local(plan: &MountPlan, data_dir: &std::path::Path) -> Result<Places> {
    let name = format!(
        "local-{}",
        short_hash(data_dir.as_os_str().as_encoded_bytes())
    );
    open(plan, &name, "the local service".to_owned()).await
}

async fn open(plan: &MountPlan, name: &str, label: String) -> Result<Places> {
    PrivateDir::open(&plan.state_dir).context("cannot use the state folder")?;
    PrivateDir::open(&plan.cache_dir).context("cannot use the cache folder")?;
    let state =
        PrivateDir::open(plan.state_dir.join(name)).context("cannot use the state folder")?;
    let lock = lock(&state).await?;
    let cache =
        PrivateDir::open(plan.cache_dir.join(name)).context("cannot use the cache folder")?;
    Ok(Places {
        shared_account: (!name.ends_with(UNNUMBERED)).then(|| format!("{label} {name}")),
        label,
        state,
        cache,
        warning: None,
        _lock: lock,
    })
}

/// Takes the folder. A process whose drive was just unmounted, as `umount` does without waiting, may
/// hold it yet: its end is waited for.
async fn lock(state: &PrivateDir) -> Result<DirLock> {
    let start = Instant::now();
    loop {
        match DirLock::acquire(state.path()) {
            Ok(lock) => return Ok(lock),
            Err(DurableError::Locked { pid: Some(pid), .. })
                if start.elapsed() < CLOSING_DEADLINE
                    && (fuse::is_dying(pid) || is_closing(state, pid)) => {}
            Err(DurableError::Locked { pid: Some(pid), .. }) => {
                bail!("{}", why_locked(state, pid));
            }
            Err(error) => return Err(error).context("this account is in use"),
        }
        tokio::time::sleep(POLL_PERIOD).await;
    }
}

/// True for a process that serves no drive any more, or none yet.
fn is_closing(state: &PrivateDir, pid: u32) -> bool {
    match dying::stored_connection(state.path(), pid) {
        Some(connection) => {
            !connection.is_mounted() && fuse::other_mounts(connection.number()).is_empty()
        }
        // It has not mounted yet, or the kernel does not number mounts.
        None => {
            let drives = MountedDrive::all().unwrap_or_default();
            let mut pids = drives.iter().filter_map(|drive| drive.status().ok());
            !pids.any(|status| status.pid == pid)
        }
    }
}

/// What the process that has the account does, and what ends it.
fn why_locked(state: &PrivateDir, pid: u32) -> String {
    let process = fuse::named(pid);
    let Some(connection) = dying::stored_connection(state.path(), pid) else {
        return format!(
            "this account is used by {process} with this state folder; wait until it ends, or end it with `kill {pid}`"
        );
    };
    let root = fuse::shell_quoted(connection.mount_point());
    if connection.is_mounted() {
        return format!(
            "this account is mounted already at {root} with this state folder, by {process}; use that drive, or \
             `assetfs unmount {root}`"
        );
    }
    match fuse::other_mounts(connection.number()).first() {
        Some(other) => format!(
            "the drive of this account was unmounted at {root}, but its {process} goes on, because {}; `kill {pid}` \
             ends it everywhere",
            other.sentence()
        ),
        None => format!(
            "the drive of this account was unmounted at {root}, but its {process} has not ended within {} s: programs \
             still have files in it open; close them, or end it with `kill {pid}`",
            CLOSING_DEADLINE.as_secs()
        ),
    }
}

/// Asks the service whose token this is.
async fn owner_of(client: &Client, token_id: Option<TokenId>) -> Owner {
    let asked = async {
        match token_id {
            Some(id) => client
                .tokens()
                .get(id)
                .await
                .map(|token| token.tokenable_id),
            None => client
                .account()
                .points(Priority::Interactive)
                .await
                .map(|_| None),
        }
    };
    match tokio::time::timeout(OWNER_DEADLINE, asked).await {
        Ok(Ok(Some(owner))) => Owner::Known(owner.0),
        Ok(Err(error @ (ClientError::Unauthorized { .. } | ClientError::Forbidden { .. }))) => {
            Owner::Refused(format!(
                "the service refuses the token ({error}). Make a new one on the service's tokens page and put it into ASSETFS_TOKEN or the token file."
            ))
        }
        Ok(Ok(None)) => Owner::Unknown,
        Ok(Err(error)) => Owner::Silent(error.to_string()),
        Err(_) => Owner::Silent(format!("no answer within {} s", OWNER_DEADLINE.as_secs())),
    }
}

fn folder_name(base_url: &Url, token_id: Option<TokenId>, owner: &Owner) -> String {
    let origin = base_url.origin().ascii_serialization();
    let host: String = base_url
        .host_str()
        .unwrap_or_default()
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '.' {
                c
            } else {
                '_'
            }
        })
        .take(100)
        .collect();
    let who = match owner {
        Owner::Known(owner) => format!("owner-{owner}"),
        Owner::Unknown | Owner::Silent(_) | Owner::Refused(_) => {
            format!("token-{}", token_id_text(token_id))
        }
    };
    format!("{host}-{}-{who}", short_hash(origin.as_bytes()))
}

fn token_id_text(token_id: Option<TokenId>) -> String {
    token_id.map_or_else(|| UNNUMBERED.to_owned(), |id| id.to_string())
}

fn short_hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_tokens_of_one_owner_share_their_state_and_two_owners_do_not() {
        let url: Url = "https://assets.example.com/".parse().unwrap();
        let name =
            |token: u64, owner| folder_name(&url, Some(TokenId(token)), &Owner::Known(owner));
        assert_eq!(name(1, 7), name(2, 7));
        assert_ne!(name(1, 7), name(1, 8));
        let other: Url = "http://assets.example.com:8080/".parse().unwrap();
        assert_ne!(
            name(1, 7),
            folder_name(&other, Some(TokenId(1)), &Owner::Known(7))
        );
    }
}
