//! Cleans up after an earlier mount that was killed and hangs in the kernel: it keeps the lock of its account, and its
//! mount point does not answer. Every command that uses a drive does so first. See [`fuse::free_dying`].

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::exit::sentence;
use super::settings;
use crate::durable::{DirLock, PrivateDir, write_atomic};
use crate::fuse::{self, Connection};

/// The file in an account's state folder that says which connection its mount has.
const CONNECTION_FILE: &str = "connection.json";
/// Time between two checks whether a lock has become free.
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// A generous limit for the time that a killed process needs to close its files and to end.
const END_OF_PROCESS: Duration = Duration::from_secs(1);

/// Stores which connection this process has, for a later mount that may not read it from the process.
pub(super) fn store_connection(state: &PrivateDir, mount_point: &Path) {
    let path = state.join(CONNECTION_FILE);
    let stored = Connection::of_own_mount(mount_point)
        .and_then(|connection| Ok(serde_json::to_vec(&connection)?))
        .map(|text| write_atomic(&path, &text));
    match stored {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "the connection is not stored"),
        Err(error) => tracing::debug!(%error, "the connection cannot be read"),
    }
}

/// The connection that the process `pid`, which holds an account, has stored; `None` if it has not mounted yet.
pub(super) fn stored_connection(account: &Path, pid: u32) -> Option<Connection> {
    let stored = std::fs::read(account.join(CONNECTION_FILE)).ok()?;
    let stored: Connection = serde_json::from_slice(&stored).ok()?;
    (stored.pid() == pid).then_some(stored)
}

/// Frees killed mounts that hang, because a command would wait for them: those of this user's state folder, and as root
/// those of every user. Runs once, because it looks at all processes of the machine.
pub(super) fn free_before_use() -> Result<()> {
    static DONE: OnceLock<Option<String>> = OnceLock::new();
    let failure = DONE.get_or_init(|| {
        let variable = std::env::var_os("ASSETFS_STATE_DIR").map(PathBuf::from);
        let state_dir = variable.or_else(|| settings::state_dir().ok());
        let freed = state_dir.map_or(Ok(()), |folder| free_in(&folder));
        freed
            .and_then(|()| free_any())
            .err()
            .map(|error| sentence(&error))
    });
    match failure {
        Some(failure) => Err(anyhow::anyhow!("{failure}")),
        None => Ok(()),
    }
}

/// Frees the accounts below a state folder whose mounts were killed and hang. Says what was done, or what frees
/// them.
pub(super) fn free_dying_mounts(state_dir: &Path) {
    if let Err(error) = free_in(state_dir) {
        eprintln!("assetfs: {}", sentence(&error));
    }
}

fn free_in(state_dir: &Path) -> Result<()> {
    for account in std::fs::read_dir(state_dir).into_iter().flatten().flatten() {
        let account = account.path();
        if let Some(pid) = dying_holder(&account) {
            free(&account, pid)?;
        }
    }
    Ok(())
}

/// Frees killed drives of any state folder. Only root can see which connections a process has.
fn free_any() -> Result<()> {
    if !rustix::process::geteuid().is_root() || fuse::mounts()?.is_empty() {
        return Ok(());
    }
    let hanging = || fuse::dying_servers();
    if hanging().is_empty() {
        return Ok(());
    }
    std::thread::sleep(END_OF_PROCESS);
    for pid in hanging() {
        say_freed(pid, &fuse::free_dying(pid, None)?);
    }
    Ok(())
}

/// The process that holds the lock of an account, if it is being killed.
fn dying_holder(account: &Path) -> Option<u32> {
    let pid = DirLock::holder(account)?;
    fuse::is_dying(pid).then_some(pid)
}

fn free(account: &Path, pid: u32) -> Result<()> {
    if is_free_within(account, END_OF_PROCESS) {
        return Ok(());
    }
    let numbers = fuse::free_dying(pid, stored_connection(account, pid).as_ref())?;
    say_freed(pid, &numbers);
    if !numbers.is_empty() {
        is_free_within(account, END_OF_PROCESS);
    }
    Ok(())
}

fn say_freed(pid: u32, numbers: &[u32]) {
    if numbers.is_empty() {
        return;
    }
    let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
    eprintln!(
        "assetfs: process {pid} of an earlier mount was killed and hung in the kernel; its FUSE connection {} was \
         aborted",
        numbers.join(" and ")
    );
}

/// Waits until no dying process holds the lock of an account.
fn is_free_within(account: &Path, time: Duration) -> bool {
    let start = Instant::now();
    while dying_holder(account).is_some() {
        if start.elapsed() >= time {
            return false;
        }
        std::thread::sleep(LOCK_POLL_INTERVAL);
    }
    true
}
