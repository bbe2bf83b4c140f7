//! State that all parts of a running service share: records, files, signatures, the queue.

use std::path::PathBuf;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use url::Url;

use super::chaos::{Chaos, ChaosPlan};
use super::clock::Clock;
use super::config::ServiceConfig;
use super::events::Events;
use super::files::FileStore;
use super::jobs::queue::Queue;
use super::limits::RateLimiter;
use super::records::{FileRow, Records, Removal};
use super::signing::{Access, Signer};
use super::workers::Workers;
use crate::wire::SignedUrl;

#[derive(Debug)]
pub struct App {
    pub config: ServiceConfig,
    pub records: Records,
    pub files: FileStore,
    pub clock: Clock,
    pub chaos: Chaos,
    pub signer: Signer,
    /// The base of every API path.
    pub base_url: Url,
    pub queue: Queue,
    pub workers: Workers,
    /// The parent of the jobs' work folders.
    pub work_dir: PathBuf,
    pub limiter: RateLimiter,
    pub events: Events,
    /// Held while a password is checked, so that only one is checked at a time.
    pub password_turn: tokio::sync::Mutex<()>,
    /// Cancelled when the service stops.
    pub stop: CancellationToken,
}

impl App {
    /// An absolute URL for a path of the API.
    pub fn url(&self, path: &str) -> String {
        let base = self.base_url.as_str().trim_end_matches('/');
        format!("{base}{path}")
    }

    /// A URL that reads a file, if its bytes are there.
    pub fn download_url(&self, file: &FileRow) -> Option<SignedUrl> {
        file.blob.as_ref()?;
        Some(self.signer.sign(
            Access::Read,
            file.id,
            &file.name,
            self.download_url_lifetime(),
            self.clock.now(),
        ))
    }

    /// The signed folder of a file and its name in it, which together read the file.
    pub fn viewer_parts(&self, file: &FileRow) -> Option<(SignedUrl, String)> {
        file.blob.as_ref()?;
        let lifetime = self.download_url_lifetime();
        let now = self.clock.now();
        Some(self.signer.sign_folder(file.id, &file.name, lifetime, now))
    }

    /// How long a new upload URL works.
    pub fn upload_url_lifetime(&self) -> Duration {
        let planned = self
            .chaos
            .plan()
            .and_then(|plan| plan.upload_url_lifetime());
        planned.unwrap_or(self.config.upload_url_lifetime)
    }

    fn download_url_lifetime(&self) -> Duration {
        let planned = self
            .chaos
            .plan()
            .and_then(|plan| plan.download_url_lifetime());
        planned.unwrap_or(self.config.download_url_lifetime)
    }

    /// Starts a plan of faults; `None` ends all faults.
    pub fn set_chaos(&self, plan: Option<ChaosPlan>) {
        let ahead = plan.as_ref().map_or(0, |plan| plan.clock_ahead_secs);
        self.clock.set_ahead_secs(ahead);
        self.chaos.set(plan);
    }

    /// Finishes a deletion: stops the removed jobs and deletes the blobs. Returns the number of deleted records.
    pub async fn clear_away(&self, removal: Removal) -> usize {
        self.queue.cancel(&removal.jobs);
        self.files.remove(&removal.blobs).await;
        removal.records
    }
}
