//! What happened to a draft lately: who wrote, when, what keeps its upload, how far that is. In memory
//! alone; a new run begins with nothing of it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use tokio::sync::{Notify, watch};

use super::process::Process;
use super::settle::readiness::human_size;
use crate::client::ClientError;

/// What happened to a draft lately.
#[derive(Debug, Default)]
pub struct Activity {
    /// The last change, on the outbox's clock.
    pub last_change: Duration,
    /// Raised by every change, so that whoever prepared something can tell.
    pub generation: u64,
    /// Those who wrote and may still live.
    pub writers: BTreeSet<Process>,
    /// All who ever wrote: their folder fsync only makes durable.
    pub all_writers: BTreeSet<Process>,
    /// When the last writer was seen to have ended.
    pub writers_ended: Option<Duration>,
    /// The folder got its times set as the last thing.
    pub folder_times_set: bool,
    /// The line that the settle rule gave.
    pub settle_text: String,
    /// What the service says that it does with the accepted upload.
    pub import_text: String,
    /// What keeps the upload from going on right now; it is tried again by itself.
    pub trouble: Option<Trouble>,
    /// What the last comparison with the service's files has found.
    pub comparison: Option<String>,
    /// The upload that is running.
    pub upload: Option<LiveUpload>,
}

/// What a task that sends a job waits for.
#[derive(Debug, Clone, Default)]
pub struct JobTask {
    /// Its asset or rapid model is not ready yet.
    pub waits_for_model: bool,
    /// The service cannot be reached or refuses the token; it is tried again by itself.
    pub trouble: Option<ClientError>,
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

    /// True when both are the same upload.
    pub fn is(&self, other: &LiveUpload) -> bool {
        Arc::ptr_eq(&self.sent, &other.sent)
    }
}

impl Activity {
    /// A draft of an earlier run: nobody who wrote into it lives.
    pub fn restarted(now: Duration) -> Activity {
        Activity {
            last_change: now,
            writers_ended: Some(now),
            ..Activity::default()
        }
    }
}
