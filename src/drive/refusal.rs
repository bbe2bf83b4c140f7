//! What the drive refused to somebody: file managers show the error number alone, so the mount shows the reason.

use tokio::sync::mpsc;

/// A change that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The path from the top of the drive.
    pub path: String,
    /// The message: what, why, what to do.
    pub why: String,
    /// Who tried it; of a file that is open, who opened it.
    pub user: RefusedUser,
}

/// The user and the group of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RefusedUser {
    pub uid: u32,
    pub gid: u32,
}

/// Where refusals go. One that finds no room is left out, because no operation of the drive waits for it.
pub type RefusalSender = mpsc::Sender<Refusal>;
