//! The recent activity of a draft: its writers, what delays its upload, its progress. In memory only.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use assetfs_formats::number_text;
use tokio::time::Instant;

use crate::backoff::Backoff;
use crate::client::ClientError;
use crate::locks::Locked;
use crate::outbox::drafts::process::Process;
use crate::outbox::drafts::upload::info::FileTransfer;
use crate::outbox::drafts::upload::rate::RateMeter;
use crate::outbox::signal::Signal;
use crate::outbox::status::ItemStatus;

/// The recent activity of a draft.
#[derive(Debug, Default)]
pub struct Activity {
    /// The last change, on the clock of drafts.
    pub last_change: Duration,
    /// Incremented by every change, to detect that prepared work is outdated.
    pub generation: u64,
    /// Processes that wrote and may still run.
    pub writers: BTreeSet<Process>,
    /// All processes that ever wrote. Their `fsync` of the folder does not commit the draft.
    pub all_writers: BTreeSet<Process>,
    /// When all writers were first seen to have ended.
    pub writers_ended: Option<Duration>,
    /// The times of the folder were set after the last change.
    pub folder_times_set: bool,
    /// The last answer of the settle rule.
    pub held_by: ItemStatus,
    /// The missing files that the model refers to, as the settle rule found them.
    pub missing_files: MissingFiles,
    /// The state of the import on the service.
    pub import: Option<ItemStatus>,
    /// Why the upload is interrupted. It is retried automatically.
    pub trouble: Option<Trouble>,
    /// When the interrupted upload is retried.
    pub next_try: Option<Instant>,
    /// The difference that the last comparison with the service's files found.
    pub comparison: Option<String>,
    /// The generation of the content that an upload last began with, and the back-off before it begins again.
    pub begun: Option<(u64, Backoff)>,
    /// The running upload.
    pub upload: Option<LiveUpload>,
}

/// The files that a draft lacks.
#[derive(Debug, Clone, Default)]
pub struct MissingFiles {
    /// Files that its models refer to and that it does not have.
    pub missing: Vec<String>,
    /// When the draft is sent without them; `None`: only by command.
    pub sent_at: Option<Instant>,
}

impl MissingFiles {
    /// As a sentence; `None` if nothing is missing.
    pub fn sentence(&self) -> Option<String> {
        let names = self.missing.join(", ");
        let when = match self.sent_at {
            _ if self.missing.is_empty() => return None,
            Some(at) => {
                let left = at.saturating_duration_since(Instant::now());
                let left = left.as_millis().div_ceil(1000).max(1);
                format!("it is sent without them in {left} s, or now by `assetfs commit`")
            }
            None => {
                "it is sent once they are copied in, or without them by `assetfs commit --force`"
                    .to_owned()
            }
        };
        Some(format!(
            "missing files that the model refers to: {names}; {when}"
        ))
    }
}

/// A temporary obstacle to an upload.
#[derive(Debug, Clone)]
pub enum Trouble {
    /// The service cannot be reached, or refuses the token.
    Service(ClientError),
    /// The account has not enough free storage.
    Quota {
        /// Bytes to send.
        needed: u64,
        /// Bytes that the account has left.
        left: u64,
    },
    /// The service had too many requests, and asked for a pause.
    Paused,
    /// The local disk reports an error.
    Local(String),
}

impl Trouble {
    /// False if it passes by itself, as an outage of the service does.
    pub fn needs_user(&self) -> bool {
        match self {
            Trouble::Service(error) => error.is_about_token(),
            Trouble::Paused => false,
            Trouble::Quota { .. } | Trouble::Local(_) => true,
        }
    }

    pub fn sentence(&self) -> String {
        match self {
            Trouble::Service(error) => format!("{error}; it is retried automatically"),
            Trouble::Quota { needed, left } => format!(
                "needs {} and the account has {} left; delete models or enlarge the plan",
                number_text::bytes(*needed),
                number_text::bytes(*left),
            ),
            Trouble::Paused => "too many requests to the service, which asks to wait".to_owned(),
            Trouble::Local(text) => text.clone(),
        }
    }
}

#[derive(Debug, Clone)]
pub struct LiveUpload {
    /// Bytes that were sent, over all objects.
    pub sent: Arc<AtomicU64>,
    /// Bytes of all objects.
    pub total: u64,
    /// Objects that were sent completely.
    pub files_sent: usize,
    pub files: usize,
    /// Objects that are being sent, by their index in the manifest.
    pub objects: Arc<Mutex<BTreeMap<usize, FileTransfer>>>,
    pub rate: Arc<Mutex<RateMeter>>,
    /// Set to stop it.
    pub stop: Arc<Signal>,
    /// Ends its pauses.
    pub poke: Arc<Signal>,
}

impl LiveUpload {
    /// Returns when it is to be stopped.
    pub async fn stopped(&self) {
        self.stop.after(0).await;
    }

    #[track_caller]
    pub fn objects(&self) -> MutexGuard<'_, BTreeMap<usize, FileTransfer>> {
        self.objects.locked()
    }

    /// How fast it is.
    #[track_caller]
    pub fn rate(&self) -> MutexGuard<'_, RateMeter> {
        self.rate.locked()
    }

    /// True if both are the same upload.
    pub fn is(&self, other: &LiveUpload) -> bool {
        Arc::ptr_eq(&self.sent, &other.sent)
    }
}

impl Activity {
    /// The obstacle, and when the upload is retried.
    pub fn obstacle(&self) -> Option<String> {
        let sentence = self.trouble.as_ref()?.sentence();
        let left = self
            .next_try
            .map(|at| at.saturating_duration_since(Instant::now()));
        Some(match left.filter(|left| !left.is_zero()) {
            Some(left) => format!("{sentence}, next in {} s", left.as_millis().div_ceil(1000)),
            None => sentence,
        })
    }

    /// For a draft of an earlier run: its writers have ended.
    pub fn restarted(now: Duration) -> Activity {
        Activity {
            last_change: now,
            writers_ended: Some(now),
            ..Activity::default()
        }
    }
}
