//! The recent activity of a draft: who wrote and when, what delays its upload, how far it is. In memory only; a new run
//! starts without it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::client::ClientError;
use crate::outbox::drafts::process::Process;
use crate::outbox::drafts::settle::readiness::human_size;
use crate::outbox::drafts::upload::rate::RateMeter;
use crate::outbox::status::ItemStatus;

/// The recent activity of a draft.
#[derive(Debug, Default)]
pub struct Activity {
    /// The last change, on the clock of drafts.
    pub last_change: Duration,
    /// Raised by every change, so that prepared work can be checked for being out of date.
    pub generation: u64,
    /// Processes that wrote and may still run.
    pub writers: BTreeSet<Process>,
    /// All processes that ever wrote. Their `fsync` of the folder does not commit the draft.
    pub all_writers: BTreeSet<Process>,
    /// When the last writer was seen to have ended.
    pub writers_ended: Option<Duration>,
    /// The folder got its times set as the last thing.
    pub folder_times_set: bool,
    /// What the settle rule said last.
    pub held_by: ItemStatus,
    /// What the model names and that is not there, as the settle rule found it.
    pub lacking: Lacking,
    /// What the service does with the accepted upload.
    pub import: Option<ItemStatus>,
    /// What keeps the upload from going on right now; it is tried again by itself.
    pub trouble: Option<Trouble>,
    /// When what is in the way is tried again.
    pub next_try: Option<Instant>,
    /// What the last comparison with the service's files has found.
    pub comparison: Option<String>,
    /// The upload that is running.
    pub upload: Option<LiveUpload>,
}

/// What a draft is without.
#[derive(Debug, Clone, Default)]
pub struct Lacking {
    /// The files that its models name and that are not there.
    pub missing: Vec<String>,
    /// When it goes without them; never by itself where that is not said.
    pub goes_at: Option<Instant>,
}

impl Lacking {
    /// As a sentence; none where nothing is missing.
    pub fn sentence(&self) -> Option<String> {
        let names = self.missing.join(", ");
        let when = match self.goes_at {
            _ if self.missing.is_empty() => return None,
            Some(at) => {
                let left = at.saturating_duration_since(Instant::now());
                let left = left.as_millis().div_ceil(1000).max(1);
                format!("it is sent without in {left} s, or at once by `assetfs commit`")
            }
            None => {
                "it is sent once they are there, or as it is by `assetfs commit --force`".to_owned()
            }
        };
        Some(format!(
            "waiting for {names}, which the model names and nobody copied in; {when}"
        ))
    }
}

/// Something that keeps an upload from going on, and that may pass.
#[derive(Debug, Clone)]
pub enum Trouble {
    /// The service cannot be reached, or refuses the token.
    Service(ClientError),
    /// The account is too full.
    Quota {
        /// Bytes to send.
        needed: u64,
        /// Bytes that the account has left.
        left: u64,
    },
    /// The local disk refuses.
    Local(String),
}

impl Trouble {
    /// As a sentence.
    pub fn sentence(&self) -> String {
        match self {
            Trouble::Service(error) => format!("{error}; it is tried again by itself"),
            Trouble::Quota { needed, left } => format!(
                "needs {} and the account has {} left; delete assets or enlarge the plan",
                human_size(*needed),
                human_size(*left),
            ),
            Trouble::Local(text) => text.clone(),
        }
    }
}

/// An object that is being sent.
#[derive(Debug, Clone)]
pub struct LiveObject {
    pub name: String,
    /// Bytes of it that have gone out.
    pub sent: u64,
    /// All of them.
    pub total: u64,
}

/// A running upload.
#[derive(Debug, Clone)]
pub struct LiveUpload {
    /// Bytes that the service took, over all objects.
    pub sent: Arc<AtomicU64>,
    /// Bytes of all objects.
    pub total: u64,
    /// Objects that the service has.
    pub files_sent: usize,
    /// All objects.
    pub files: usize,
    /// Objects that are being sent, by their place in the manifest.
    pub objects: Arc<Mutex<BTreeMap<usize, LiveObject>>>,
    /// How fast it is.
    pub rate: Arc<Mutex<RateMeter>>,
    /// Set to stop it.
    pub stop: watch::Sender<bool>,
    /// Wakes it out of a pause.
    pub poke: Arc<Notify>,
}

impl LiveUpload {
    /// Returns when it is to stop.
    pub async fn stopped(&self) {
        let mut stop = self.stop.subscribe();
        // An error means that the sender is gone; this upload holds one itself.
        let _ = stop.wait_for(|stop| *stop).await;
    }

    /// The objects that are being sent.
    pub fn objects(&self) -> MutexGuard<'_, BTreeMap<usize, LiveObject>> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How fast it is.
    pub fn rate(&self) -> MutexGuard<'_, RateMeter> {
        self.rate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True when both are the same upload.
    pub fn is(&self, other: &LiveUpload) -> bool {
        Arc::ptr_eq(&self.sent, &other.sent)
    }
}

impl Activity {
    /// What is in the way, and when it is tried again.
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

    /// A draft of an earlier run: its writers have ended.
    pub fn restarted(now: Duration) -> Activity {
        Activity {
            last_change: now,
            writers_ended: Some(now),
            ..Activity::default()
        }
    }
}
