//! Finds state folders of other accounts, or of the same account under another address, that hold unsent drafts or jobs.

use std::fs;
use std::path::{Path, PathBuf};

use crate::durable::DirLock;
use crate::outbox::recovery::holds_unsent;

/// The folders in `state_dir` with something that the service does not have and that no mount is going to send, sorted.
pub fn unsent_in(state_dir: &Path) -> Vec<PathBuf> {
    let accounts = fs::read_dir(state_dir).into_iter().flatten().flatten();
    let folders = accounts.map(|account| account.path());
    let mut unsent: Vec<PathBuf> = folders.filter(|folder| waits_unsent(folder)).collect();
    unsent.sort();
    unsent
}

/// True if the state folder of an account has something unsent and is used by no mount.
pub fn waits_unsent(folder: &Path) -> bool {
    let outbox = folder.join("outbox");
    outbox.is_dir() && DirLock::holder(folder).is_none() && holds_unsent(&outbox)
}
