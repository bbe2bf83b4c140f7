//! Settings of a service: addresses, data folder, limits.
//!
//! Plain data with defaults. Nothing is read from the environment or from a file.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use url::Url;

use super::chaos::ChaosPlan;
use super::files::BucketConfig;
use super::proxies::TrustedProxies;
use super::records::RecordsAt;
use super::tls::TlsFiles;
use crate::listener::ConnectionLimits;

const GB: u64 = 1_000_000_000;

/// Storage quota of a new account.
pub(super) const DEFAULT_QUOTA: u64 = 100 * GB;

/// The program of the worker processes, which do the 3D work.
///
/// It reads one task as JSON from its standard input, writes its progress as JSON lines to its standard output and
/// exits with 0 if it succeeds.
#[derive(Debug, Clone)]
pub struct WorkerCommand {
    /// A path, or a name that is looked up in `PATH`.
    pub program: PathBuf,
    pub args: Vec<OsString>,
}

/// Workers for results whose pictures come later.
#[derive(Debug, Clone)]
pub struct LaterPictures {
    /// Does an optimization of a small model without pictures. Without it they come with the result.
    pub quick: Option<WorkerCommand>,
    /// Does many optimizations with pictures, one after another; see `KeptWorker`.
    pub drawing: WorkerCommand,
}

/// Resource limits of one worker process. A process that exceeds them is killed.
#[derive(Debug, Clone)]
pub struct WorkerLimits {
    /// Address space (`RLIMIT_AS`) in bytes.
    pub memory_bytes: u64,
    /// Processor time (`RLIMIT_CPU`), over all its threads.
    pub cpu: Duration,
    /// Wall-clock time.
    pub wall: Duration,
    /// How often a job is tried if the service dies while it runs (a kill or a power cut).
    pub attempts: u32,
    /// Who can set a higher memory limit.
    pub memory_setting: MemorySetting,
    /// Which processes have priority over it.
    pub priority: WorkerPriority,
}

/// How a worker process gives way to other processes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WorkerPriority {
    /// To other programs.
    #[default]
    Job,
    /// To other programs and to jobs.
    AfterJobs,
}

/// Where the memory limit of a worker process is set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MemorySetting {
    /// The operator of a service sets it; the user of a job cannot.
    #[default]
    Service,
    /// The user sets it with `assetfs optimize --memory`.
    Optimize,
    /// It is fixed.
    Fixed,
}

impl MemorySetting {
    /// What helps a job that needs more memory.
    pub(super) fn advice(self) -> &'static str {
        match self {
            MemorySetting::Service => {
                "; the model can be done by a worker with a higher limit (`assetfs engine-worker --memory`), or with fewer \
                 triangles and smaller textures"
            }
            MemorySetting::Optimize => "; `assetfs optimize --memory` sets a higher limit",
            MemorySetting::Fixed => "",
        }
    }
}

impl Default for WorkerLimits {
    fn default() -> WorkerLimits {
        WorkerLimits {
            memory_bytes: 4 * GB,
            cpu: Duration::from_secs(30 * 60),
            wall: Duration::from_secs(30 * 60),
            attempts: 3,
            memory_setting: MemorySetting::default(),
            priority: WorkerPriority::default(),
        }
    }
}

/// A second listener for the signed URLs, so that their origin differs from the API's.
#[derive(Debug, Clone)]
pub struct StorageOrigin {
    pub listen: SocketAddr,
    /// The URL that clients use. Default: `http://<address>/`.
    pub public_url: Option<Url>,
}

/// Settings of a service.
#[derive(Debug, Clone)]
pub struct ServiceConfig {
    /// Address of the API. Port 0 picks a free port.
    pub listen: SocketAddr,
    /// Address of `/livez`, `/readyz` and `/metrics`, which need no token. Not served by default.
    pub admin_listen: Option<SocketAddr>,
    /// The folder of records, files and the first account; created with mode 0700.
    pub data_dir: PathBuf,
    /// Where the records are, if not in the data folder.
    pub records: RecordsAt,
    /// The bucket of the files; without one they are in the data folder.
    pub bucket: Option<BucketConfig>,
    pub worker: WorkerCommand,
    /// The workers for pictures that come after results; `None` if there are to be none.
    pub later_pictures: Option<LaterPictures>,
    /// Maximum number of jobs that run at the same time.
    pub workers: usize,
    pub worker_limits: WorkerLimits,
    /// Time after which a job whose worker sends nothing is given to another worker.
    pub job_lease: Duration,
    /// Time after which an upload that is still being received is recorded again as alive.
    pub upload_renewal: Duration,
    /// The certificate of the API and of the signed URLs; without one both are plain HTTP.
    pub tls: Option<TlsFiles>,
    /// The URL that clients use for the API. Default: `http://<address>/`, with a certificate `https://<address>/`.
    pub public_url: Option<Url>,
    /// A separate origin for the signed URLs.
    pub storage_origin: Option<StorageOrigin>,
    /// The base URL for reading files, if another server (a mirror, a CDN) serves them.
    pub files_url: Option<Url>,
    /// Storage quota of the accounts, in bytes. If it differs from the value of the last start, accounts that still have
    /// that value get the new one; accounts with a quota of their own keep it. With `None` no quota changes, and a new
    /// account gets 100 GB.
    pub quota_bytes: Option<u64>,
    /// Points of a new account. An optimization costs one.
    pub initial_points: u64,
    /// Maximum number of requests a minute of each user, and of each address without a token. Uploads do not count.
    pub requests_per_minute: u32,
    pub upload_url_lifetime: Duration,
    pub download_url_lifetime: Duration,
    /// Maximum number of webhooks of an account.
    pub max_webhooks: u32,
    /// Whether an event that its webhook does not accept is sent again, for a day. The API promises one call.
    pub retry_webhooks: bool,
    /// Whether webhooks may call this machine also where other machines reach the service.
    pub local_webhooks: bool,
    /// Proxies whose header `X-Forwarded-For` is trusted to name the client.
    pub trusted_proxies: TrustedProxies,
    /// Faults that are injected from the start.
    pub chaos: Option<ChaosPlan>,
    /// Maximum number of connections, and how long a connection may be idle.
    pub connections: ConnectionLimits,
}

impl ServiceConfig {
    /// Whether only programs of this machine reach the service: it has a loopback address, no certificate, and no other
    /// address that a proxy answers.
    pub fn is_for_this_machine(&self) -> bool {
        self.listen.ip().is_loopback() && self.tls.is_none() && self.public_url.is_none()
    }

    /// A service on a free port of the loopback address, otherwise with defaults.
    pub fn new(data_dir: impl Into<PathBuf>, worker: WorkerCommand) -> ServiceConfig {
        ServiceConfig {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            admin_listen: None,
            data_dir: data_dir.into(),
            records: RecordsAt::default(),
            bucket: None,
            worker,
            later_pictures: None,
            workers: 1,
            worker_limits: WorkerLimits::default(),
            job_lease: Duration::from_secs(60),
            upload_renewal: Duration::from_secs(3_600),
            tls: None,
            public_url: None,
            storage_origin: None,
            files_url: None,
            quota_bytes: None,
            initial_points: 1_000_000,
            requests_per_minute: 2_000,
            upload_url_lifetime: Duration::from_secs(3_600),
            download_url_lifetime: Duration::from_secs(3_600),
            max_webhooks: 10,
            retry_webhooks: false,
            local_webhooks: false,
            trusted_proxies: TrustedProxies::default(),
            chaos: None,
            connections: ConnectionLimits::new(512),
        }
    }
}
