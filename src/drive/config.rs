//! Settings of a drive.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::mpsc;

use super::error::DriveError;
use super::history::HistoryEvent;
use super::refusal::RefusalSender;

/// How a mount receives the service's events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookConfig {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The URL under which the service reaches it; without one, the listen address.
    pub url: Option<String>,
}

/// Settings of one mounted account.
#[derive(Debug, Clone)]
pub struct DriveConfig {
    /// Name of the account in `status.json`: origin and owner, never a secret.
    pub account_label: String,
    /// The folder whose disk limits what can be staged, for `statfs`.
    pub staging_dir: PathBuf,
    /// Owner shown for all files that were not chowned.
    pub uid: u32,
    /// Group shown for all files that were not chowned.
    pub gid: u32,
    /// Permissions shown for folders that have none of their own.
    pub folder_permissions: u16,
    /// Permissions shown for files that have none of their own.
    pub file_permissions: u16,
    /// Time after which a listing is refreshed.
    pub refresh: Duration,
    /// Read-only mount.
    pub read_only: bool,
    /// Refuse all deletions on the service.
    pub no_delete: bool,
    /// Maximum number of models that may be deleted per minute.
    pub delete_limit: u32,
    /// Time after which hidden entries appear again if no `rmdir` deletes the model.
    pub restore_after: Duration,
    /// Timeout of an operation without progress.
    pub deadline: Duration,
    /// Why the service did not answer just before, if it did not: then the first request waits for it no longer than
    /// those after it.
    pub away: Option<DriveError>,
    /// Timeout of `sync` on a folder.
    pub sync_deadline: Duration,
    /// State folders of other accounts with drafts that no mount sends, for the status.
    pub unsent_elsewhere: Vec<PathBuf>,
    /// Settings for receiving events; `None` receives none.
    pub webhook: Option<WebhookConfig>,
    /// What takes the history of the drive; `None` keeps none.
    pub history: Option<mpsc::Sender<HistoryEvent>>,
    /// Who is told of refused changes; `None` tells nobody.
    pub refusals: Option<RefusalSender>,
}

impl DriveConfig {
    /// Defaults for an account and its staging folder; files belong to the calling user.
    pub fn new(account_label: impl Into<String>, staging_dir: impl Into<PathBuf>) -> DriveConfig {
        DriveConfig {
            account_label: account_label.into(),
            staging_dir: staging_dir.into(),
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            folder_permissions: 0o755,
            file_permissions: 0o644,
            refresh: Duration::from_secs(10),
            read_only: false,
            no_delete: false,
            delete_limit: 20,
            restore_after: Duration::from_secs(10),
            deadline: Duration::from_secs(30),
            away: None,
            sync_deadline: Duration::from_secs(100),
            unsent_elsewhere: Vec::new(),
            webhook: None,
            history: None,
            refusals: None,
        }
    }
}
