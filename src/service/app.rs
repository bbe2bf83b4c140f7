//! State that all parts of a running service share: records, files, signatures, the queue.

use std::path::PathBuf;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use url::Url;

use super::bucket_fence::BucketFence;
use super::causes::chain;
use super::chaos::{Chaos, ChaosPlan};
use super::clock::Clock;
use super::config::ServiceConfig;
use super::event_signal::Events;
use super::files::FileStore;
use super::limits::RateLimiter;
use super::metrics::Metrics;
use super::names::media_type;
use super::queue::Queue;
use super::records::{FileId, FileRow, JobRow, JobState, Records, Removal};
use super::sign_in_codes::SignInCodes;
use super::signing::{Access, Signer};
use super::workers::Workers;
use crate::listener::Connections;
use crate::wire::{AssetId, SignedUrl};

#[derive(Debug)]
pub struct App {
    pub config: ServiceConfig,
    pub records: Records,
    pub files: FileStore,
    /// Whether these records may remove files from the bucket.
    pub bucket_fence: BucketFence,
    pub clock: Clock,
    pub chaos: Chaos,
    pub signer: Signer,
    /// The base of every API path.
    pub base_url: Url,
    pub queue: Queue,
    pub workers: Workers,
    /// Draw nothing, for results whose pictures come later; `None` if they come with the results.
    pub quick_workers: Option<Workers>,
    /// Draw the pictures that come later.
    pub drawing_workers: Option<Workers>,
    /// The parent of the jobs' work folders.
    pub work_dir: PathBuf,
    pub limiter: RateLimiter,
    pub events: Events,
    /// Held while a password is checked, so that only one is checked at a time.
    pub password_turn: tokio::sync::Mutex<()>,
    pub sign_in_codes: SignInCodes,
    /// The connections of all listeners except the admin listener.
    pub connections: Connections,
    pub metrics: Metrics,
    /// Cancelled when no more jobs may be claimed.
    pub draining: CancellationToken,
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
        if let Some(url) = self.direct_url(file) {
            return Some(url);
        }
        file.blob.as_ref()?;
        Some(self.signer.sign(
            Access::Read,
            file.id,
            &file.name,
            self.download_url_lifetime(),
            self.clock.now(),
        ))
    }

    /// A URL of the storage itself that reads a file, if clients read from it.
    pub fn direct_url(&self, file: &FileRow) -> Option<SignedUrl> {
        let lifetime = self.download_url_lifetime();
        let media_type = media_type(&file.name);
        self.files
            .download_url(file.blob.as_ref()?, &file.name, media_type, lifetime)
    }

    /// A URL that takes the bytes of a file of an upload.
    pub fn upload_url(&self, asset: AssetId, file: FileId, name: &str) -> SignedUrl {
        let lifetime = self.upload_url_lifetime();
        let direct = self.files.upload_url(asset, file, lifetime);
        direct.unwrap_or_else(|| {
            let now = self.clock.now();
            self.signer.sign(Access::Write, file, name, lifetime, now)
        })
    }

    /// The origins where files are sent to and where they are read.
    pub fn storage_origins(&self) -> Vec<String> {
        let mut origins = self.signer.origins();
        origins.extend(self.files.direct_origin().map(str::to_owned));
        origins
    }

    /// The signed folder of a file and its name in it, which together read the file.
    pub fn viewer_parts(&self, file: &FileRow) -> Option<(SignedUrl, String)> {
        file.blob.as_ref()?;
        let lifetime = self.download_url_lifetime();
        let now = self.clock.now();
        Some(self.signer.sign_folder(file.id, &file.name, lifetime, now))
    }

    /// How long a new upload URL works.
    fn upload_url_lifetime(&self) -> Duration {
        let planned = self.chaos.plan().and_then(|plan| plan.upload_url_secs);
        planned.map_or(self.config.upload_url_lifetime, Duration::from_secs)
    }

    fn download_url_lifetime(&self) -> Duration {
        let planned = self.chaos.plan().and_then(|plan| plan.download_url_secs);
        planned.map_or(self.config.download_url_lifetime, Duration::from_secs)
    }

    /// Why a job waits: the infrastructure fault that ended its last attempt, or the one that keeps this process from doing
    /// jobs. While the disk of the records is full, they cannot say the second.
    pub fn obstacle(&self, job: &JobRow) -> Option<String> {
        if let Some(reason) = job.obstacle() {
            return Some(reason.to_owned());
        }
        let fault = self.queue.fault_pause()?.fault;
        let alone = !self.records.is_shared();
        let waits = match job.state {
            JobState::Queued => alone || fault.is_of_all_processes(),
            // Its attempt has ended, and the records could not be told.
            JobState::Running => alone && !self.queue.runs(job.id),
            JobState::Finished | JobState::Failed => false,
        };
        waits.then(|| fault.reason_to_wait())
    }

    /// Starts a plan of faults; `None` ends all faults.
    pub fn set_chaos(&self, plan: Option<ChaosPlan>) {
        let ahead = plan.as_ref().map_or(0, |plan| plan.clock_ahead_secs);
        self.clock.set_ahead_secs(ahead);
        self.chaos.set(plan);
    }

    /// Removes blobs that were stored and get no file. A failure is logged; the janitor removes the blobs later.
    pub async fn give_up_blobs(&self, blobs: &[String]) {
        match self.records.blobs().give_up(blobs).await {
            Ok(()) => self.files.remove(blobs).await,
            Err(error) => {
                tracing::warn!(error = %chain(&error), "stored bytes could not be given up")
            }
        }
    }

    /// Finishes a deletion: stops the removed jobs and deletes the blobs. Returns the number of deleted records.
    pub async fn clear_away(&self, removal: Removal) -> usize {
        self.queue.cancel(&removal.jobs);
        self.files.remove(&removal.blobs).await;
        self.records.keep_reserve();
        removal.records
    }
}
