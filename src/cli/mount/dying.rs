//! Cleans up after an earlier mount that was killed and hangs in the kernel: it keeps the lock of its account, and its
//! mount point does not answer. See [`fuse::free_dying`].

use std::path::Path;
use std::time::{Duration, Instant};

use crate::cli::mounted::POLL_PERIOD;
use crate::cli::sentence;
use crate::durable::{DirLock, PrivateDir, write_atomic};
use crate::fuse::{self, Connection};

/// The file in an account's state folder that says which connection its mount has.
const CONNECTION_FILE: &str = "connection.json";
/// A generous limit for the time that a killed process needs to close its files and to end.
const END_OF_PROCESS: Duration = Duration::from_secs(2);

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

/// Frees the accounts below a state folder whose mounts were killed and hang. Says what was done, or what frees
/// them.
pub(super) fn free_dying_mounts(state_dir: &Path) {
    for account in std::fs::read_dir(state_dir).into_iter().flatten().flatten() {
        let account = account.path();
        if let Some(pid) = dying_holder(&account) {
            free(&account, pid);
        }
    }
}

/// The process that holds the lock of an account, if it is being killed.
fn dying_holder(account: &Path) -> Option<u32> {
    let pid = DirLock::holder(account)?;
    fuse::is_dying(pid).then_some(pid)
}

fn free(account: &Path, pid: u32) {
    if is_free_within(account, END_OF_PROCESS) {
        return;
    }
    let stored = std::fs::read(account.join(CONNECTION_FILE)).ok();
    let stored: Option<Connection> = stored.and_then(|text| serde_json::from_slice(&text).ok());
    match fuse::free_dying(pid, stored.as_ref()) {
        Ok(numbers) if numbers.is_empty() => {}
        Ok(numbers) => {
            let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
            eprintln!(
                "assetfs: process {pid} of an earlier mount was killed and hung in the kernel; its FUSE connection \
                 {} was aborted",
                numbers.join(" and ")
            );
            is_free_within(account, END_OF_PROCESS);
        }
        Err(error) => eprintln!("assetfs: {}", sentence(&error.into())),
    }
}

/// Waits until no dying process holds the lock of an account.
fn is_free_within(account: &Path, time: Duration) -> bool {
    let start = Instant::now();
    while dying_holder(account).is_some() {
        if start.elapsed() >= time {
            return false;
        }
        std::thread::sleep(POLL_PERIOD);
    }
    true
}
