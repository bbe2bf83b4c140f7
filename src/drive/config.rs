//! What whoever opens a drive decides about it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// How a mount receives the service's events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookConfig {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Under which address the service reaches that; without one, under the address itself.
    pub url: Option<String>,
}

/// Settings of one mounted account.
#[derive(Debug, Clone)]
pub struct DriveConfig {
    /// How the account is called in `status.json`: origin and owner, never a secret.
    pub account_label: String,
    /// The folder whose disk bounds what can be staged, for `statfs`.
    pub staging_dir: PathBuf,
    /// Owner shown for everything that was not chowned.
    pub uid: u32,
    /// Group shown for everything that was not chowned.
    pub gid: u32,
    /// How long a listing is believed.
    pub refresh: Duration,
    /// Nothing can be written at all.
    pub read_only: bool,
    /// Nothing can be deleted on the service.
    pub no_delete: bool,
    /// How many assets and rapid models a minute may be deleted.
    pub delete_limit: u32,
    /// How long hidden entries wait for the `rmdir` that deletes for good.
    pub restore_after: Duration,
    /// How long an operation waits without progress.
    pub deadline: Duration,
    /// How long `sync` of a folder waits for the service to accept it.
    pub sync_deadline: Duration,
    /// Events are received.
    pub webhook: Option<WebhookConfig>,
}

impl DriveConfig {
    /// The defaults, for the given account and staging folder; files belong to the caller.
    pub fn new(account_label: impl Into<String>, staging_dir: impl Into<PathBuf>) -> DriveConfig {
        DriveConfig {
            account_label: account_label.into(),
            staging_dir: staging_dir.into(),
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            refresh: Duration::from_secs(10),
            read_only: false,
            no_delete: false,
            delete_limit: 20,
            restore_after: Duration::from_secs(10),
            deadline: Duration::from_secs(30),
            sync_deadline: Duration::from_secs(100),
            webhook: None,
        }
    }
}
