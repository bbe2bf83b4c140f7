//! Where an account's state and cache are. State belongs to an account, not to a mount point: the
//! folders are named by the service's origin and the token's owner, so that drafts never go to
//! another account and a new token of the same owner finds them again. An account that is reached
//! under another address keeps its folder.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use url::Url;

use crate::cli::dying;
use crate::cli::exit::WrongUse;
use crate::cli::mounted::{ENDS_SOON, MountedDrive, POLL_PERIOD};
use crate::client::{Client, ClientError, Priority};
use crate::drive::DriveError;
use crate::durable::{DirLock, DurableError, PrivateDir, is_foreign};
use crate::fuse::{self, OtherMount};
use crate::outbox::{holds_unsent, unsent_in};
use crate::wire::{Token, TokenId};

use super::MountPlan;
use super::register::{AccessKeys, Register, UNNUMBERED, token_id_text};

/// How long the service may take to say whose token this is; without an answer the last one holds.
const OWNER_DEADLINE: Duration = Duration::from_secs(5);

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
    /// Folders of this state, other than [`Places::state`], with drafts that no mount sends.
    pub(super) unsent_elsewhere: Vec<PathBuf>,
    /// Warnings for the user.
    pub(super) warnings: Vec<String>,
    /// Why the service did not answer, if it did not.
    pub(super) away: Option<DriveError>,
    _lock: DirLock,
}

/// Refuses a state or cache folder with files of other programs, because `PrivateDir` would make it private to this user.
pub(super) fn check_they_are_ours(plan: &MountPlan) -> Result<()> {
    let is_sign = |name: &str| {
        let is_account = |part: &str| name.contains(part);
        name.starts_with("local-") || ["-owner-", "-token-"].into_iter().any(is_account)
    };
    let usual = [
        "accounts.json",
        "accounts.json.damaged",
        "mount.log",
        "engine-worker",
        "sync",
    ];
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
    Silent(DriveError),
    Refused(String),
    /// It has too many requests at the moment.
    Busy(String),
    /// It answers, but with a failure, or not as the service does.
    Failing(String),
}

/// Finds, creates and locks the folders of the account that `client` works with.
pub(super) async fn open_remote(
    plan: &MountPlan,
    client: &Client,
    base_url: &Url,
    token: &Token,
) -> Result<Places> {
    PrivateDir::open(&plan.state_dir).context("cannot use the state folder")?;
    let mut register = Register::open(&plan.state_dir)?;
    let keys = AccessKeys::new(base_url, token);
    let owner = owner_of(client, token.id()).await;
    match (&owner, register.folder(&keys)) {
        // Mounting again does not change that, so a supervisor must not repeat it.
        (Owner::Refused(why), None) => return Err(WrongUse(why.clone()).into()),
        // An address that never answered may be a wrong one.
        (Owner::Silent(why), None) if !register.knows_service(base_url) => bail!(
            "the service at {} does not answer ({why}), and was never mounted here before; check the address, and mount \
             again when it answers",
            base_url.origin().ascii_serialization()
        ),
        (Owner::Failing(why), None) if !register.knows_service(base_url) => bail!(
            "{} answers, but not as the service does ({why}), and was never mounted here before; check the address, and \
             mount again",
            base_url.origin().ascii_serialization()
        ),
        _ => {}
    }
    let name = folder_of(plan, &register, &keys, base_url, token.id(), &owner);
    register.add(&keys, &name)?;
    let mut places = open(plan, &name, base_url.origin().ascii_serialization()).await?;
    register.write_account_file(&name)?;
    places.warnings.extend(register.warning);
    let mut without_service = |what: &str, why: String| {
        places.warnings.push(format!(
            "the service at {} {what} ({why}); what is cached can be read, and what is copied in is sent when it answers",
            base_url.origin().ascii_serialization()
        ));
    };
    match owner {
        Owner::Silent(why) => {
            without_service("does not answer", why.to_string());
            places.away = Some(why);
        }
        Owner::Busy(why) => without_service("is busy", why),
        Owner::Failing(why) => without_service("fails", why),
        Owner::Refused(why) => places
            .warnings
            .push(format!("{why} Drafts and cached files can still be used.")),
        Owner::Known(_) | Owner::Unknown => {}
    }
    Ok(places)
}

/// The folder of an account. There may be several: one that was made while the owner of the token was unknown, and one from
/// another address of the service. A folder with unsent drafts is preferred; the mount warns about the others.
fn folder_of(
    plan: &MountPlan,
    register: &Register,
    keys: &AccessKeys,
    base_url: &Url,
    token_id: Option<TokenId>,
    owner: &Owner,
) -> String {
    let of_owner = folder_name(base_url, token_id, owner);
    let Some(registered) = register.folder(keys) else {
        let elsewhere = match owner {
            Owner::Known(owner) => register.folder_elsewhere(keys, base_url, *owner),
            _ => None,
        };
        return match elsewhere {
            Some(elsewhere) => better_folder(plan, elsewhere, &of_owner).to_owned(),
            None => of_owner,
        };
    };
    let Owner::Known(owner) = owner else {
        return registered.to_owned();
    };
    let name = better_folder(plan, registered, &of_owner);
    match register.folder_elsewhere(keys, base_url, *owner) {
        Some(elsewhere) if !has_unsent(plan, name) && has_unsent(plan, elsewhere) => elsewhere,
        _ => name,
    }
    .to_owned()
}

/// The first folder, unless it has nothing to send and the second one exists.
fn better_folder<'a>(plan: &MountPlan, first: &'a str, second: &'a str) -> &'a str {
    let has_second = first != second && plan.state_dir.join(second).is_dir();
    match has_second && !has_unsent(plan, first) {
        true => second,
        false => first,
    }
}

fn has_unsent(plan: &MountPlan, name: &str) -> bool {
    holds_unsent(&plan.state_dir.join(name).join("outbox"))
}

/// What to say about drafts in other folders.
pub(in crate::cli) fn unsent_sentence(folder: &Path) -> String {
    format!(
        "drafts that are not sent yet are also in {}; mount their account to send them, and if its address has changed, \
         mount it once under the old one",
        folder.display()
    )
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
    // The folder of this account is locked, so it is not in the list.
    let unsent_elsewhere = unsent_in(&plan.state_dir);
    let cache =
        PrivateDir::open(plan.cache_dir.join(name)).context("cannot use the cache folder")?;
    Ok(Places {
        shared_account: (!name.ends_with(UNNUMBERED)).then(|| format!("{label} {name}")),
        label,
        state,
        cache,
        warnings: unsent_elsewhere
            .iter()
            .map(|folder| unsent_sentence(folder))
            .collect(),
        unsent_elsewhere,
        away: None,
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
                    && (fuse::is_dying(pid) || is_closing(state, pid, start.elapsed())) => {}
            Err(DurableError::Locked { pid: Some(pid), .. }) => {
                bail!("{}", why_locked(state, pid));
            }
            Err(error) => return Err(error).context("this account is in use"),
        }
        tokio::time::sleep(POLL_PERIOD).await;
    }
}

/// True for a process that serves no drive any more, or none yet. A program that starts in a mount namespace of its own
/// may have the drive for a moment, until it unmounts what it does not need.
fn is_closing(state: &PrivateDir, pid: u32, waited: Duration) -> bool {
    match dying::stored_connection(state.path(), pid) {
        Some(connection) => {
            !connection.is_mounted()
                && (waited < ENDS_SOON || mounted_elsewhere(connection.number(), pid).is_empty())
        }
        // It has not mounted yet, or the kernel does not number mounts.
        None => {
            let drives = MountedDrive::all().unwrap_or_default();
            let mut pids = drives.iter().filter_map(|drive| drive.status().ok());
            !pids.any(|status| status.pid == pid)
        }
    }
}

/// Where the drive of a process is still mounted. If its number belongs to another drive by now, the status of that one names
/// another process.
fn mounted_elsewhere(number: u32, pid: u32) -> Vec<OtherMount> {
    let drives = MountedDrive::all().unwrap_or_default();
    let is_of_another = |mount: &OtherMount| {
        let drive = drives.iter().find(|drive| drive.root() == mount.path);
        let status = drive.and_then(|drive| drive.status().ok());
        mount.process.is_none() && status.is_some_and(|status| status.pid != pid)
    };
    let mut mounts = fuse::other_mounts(number);
    mounts.retain(|mount| !is_of_another(mount));
    mounts
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
    match mounted_elsewhere(connection.number(), pid).first() {
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
    let points = || async {
        let points = client.account().points(Priority::Interactive).await;
        points.map(|_| None)
    };
    let asked = async {
        let Some(id) = token_id else {
            return points().await;
        };
        match client.tokens().get(id).await {
            // The service may not show the record of a token. Another call shows whether it accepts the token.
            Err(
                ClientError::NotFound { .. }
                | ClientError::Forbidden { .. }
                | ClientError::Rejected { .. }
                | ClientError::Protocol { .. },
            ) => points().await,
            token => token.map(|token| token.tokenable_id),
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
        Ok(Err(
            error @ (ClientError::Unavailable { status: None, .. }
            | ClientError::Timeout { .. }
            | ClientError::Untrusted { .. }),
        )) => Owner::Silent(error.into()),
        Ok(Err(error @ ClientError::RateLimited { .. })) => Owner::Busy(error.to_string()),
        Ok(Err(error)) => Owner::Failing(error.to_string()),
        Err(_) => Owner::Silent(DriveError::TimedOut(format!(
            "no answer within {} s",
            OWNER_DEADLINE.as_secs()
        ))),
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
        _ => {
            format!("token-{}", token_id_text(token_id))
        }
    };
    format!("{host}-{}-{who}", short_hash(origin.as_bytes()))
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
