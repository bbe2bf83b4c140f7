//! Settings of a service: where it listens, where it keeps its data, what it allows.
//!
//! Plain data with sensible defaults; nothing here is read from the environment or from a file.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use url::Url;

use super::chaos::ChaosPlan;
use crate::listener::ConnectionLimits;

/// Gibibytes in bytes.
const GIB: u64 = 1 << 30;

/// The program that does the 3D work in a process of its own.
///
/// It reads one task as JSON from its standard input, writes its progress as JSON lines on its
/// standard output and ends with 0 when the work is done.
#[derive(Debug, Clone)]
pub struct WorkerCommand {
    /// The program, as a path or a name to be looked up.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
}

/// What one worker process may use before it is ended.
#[derive(Debug, Clone)]
pub struct WorkerLimits {
    /// Address space (`RLIMIT_AS`) in bytes.
    pub memory_bytes: u64,
    /// Processor time (`RLIMIT_CPU`), over all its threads.
    pub cpu: Duration,
    /// Time on the wall.
    pub wall: Duration,
    /// How often a job is tried when its worker is lost with the service itself (a kill or a power cut).
    pub attempts: u32,
}

impl Default for WorkerLimits {
    fn default() -> WorkerLimits {
        WorkerLimits {
            memory_bytes: 4 * GIB,
            cpu: Duration::from_secs(30 * 60),
            wall: Duration::from_secs(30 * 60),
            attempts: 3,
        }
    }
}

/// A second listener for the signed URLs, so that they live on another origin than the API.
#[derive(Debug, Clone)]
pub struct StorageOrigin {
    /// Where it listens.
    pub listen: SocketAddr,
    /// How clients reach it; `http://<address>/` when none is given.
    pub public_url: Option<Url>,
}

/// Settings of a service.
#[derive(Debug, Clone)]
pub struct ServiceConfig {
    /// Where the API listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The folder of the records, the files and the first account; made with mode 0700.
    pub data_dir: PathBuf,
    /// The program of the worker processes.
    pub worker: WorkerCommand,
    /// How many jobs run at the same time.
    pub workers: usize,
    /// What each of them may use.
    pub worker_limits: WorkerLimits,
    /// How long a job is kept for an attempt that is not heard of any more.
    pub job_lease: Duration,
    /// How clients reach the API; `http://<address>/` when none is given.
    pub public_url: Option<Url>,
    /// Puts the signed URLs on an origin of their own.
    pub storage_origin: Option<StorageOrigin>,
    /// Where clients read files, when another server (a mirror, a content network) stands in front.
    pub files_url: Option<Url>,
    /// The bytes that an account may store.
    pub quota_bytes: u64,
    /// The points of a new account; an optimization costs one.
    pub initial_points: u64,
    /// Requests a minute for each user, and for each address of strangers, uploads left out.
    pub requests_per_minute: u32,
    /// How long an upload URL works.
    pub upload_url_lifetime: Duration,
    /// How long a download URL works.
    pub download_url_lifetime: Duration,
    /// Webhooks an account may have.
    pub max_webhooks: u32,
    /// Faults to begin with.
    pub chaos: Option<ChaosPlan>,
    /// How many connections are served at the same time, and for how long without a use.
    pub connections: ConnectionLimits,
}

impl ServiceConfig {
    /// A service on a free port of this machine, with the defaults for everything else.
    pub fn new(data_dir: impl Into<PathBuf>, worker: WorkerCommand) -> ServiceConfig {
        ServiceConfig {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            data_dir: data_dir.into(),
            worker,
            workers: 1,
            worker_limits: WorkerLimits::default(),
            job_lease: Duration::from_secs(60),
            public_url: None,
            storage_origin: None,
            files_url: None,
            quota_bytes: 100 * GIB,
            initial_points: 1_000_000,
            requests_per_minute: 2_000,
            upload_url_lifetime: Duration::from_secs(3_600),
            download_url_lifetime: Duration::from_secs(3_600),
            max_webhooks: 10,
            chaos: None,
            connections: ConnectionLimits::new(512),
        }
    }
}
