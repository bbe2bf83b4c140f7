//! The local service: the whole API over HTTP, with its records, its files and its worker processes.
//!
//! [`Service::start`] opens the data folder, binds the listeners and starts the workers;
//! [`RunningService`] is the handle that stops all of it. What the service has acknowledged is
//! durable: records and jobs commit together, an upload is on disk before its PUT is answered.
//! `engine` does the 3D work, in separate processes.

mod app;
mod archive;
mod bucket_fence;
mod causes;
mod chaos;
mod clock;
mod config;
mod error;
mod event_signal;
mod events;
mod files;
mod first_start;
mod health;
mod http;
mod ids;
mod infra_fault;
mod janitor;
mod jobs;
mod limits;
mod metrics;
mod names;
mod new_token;
mod page;
mod presets;
mod proxies;
mod queue;
mod records;
mod sample_records;
mod secrets;
mod sign_in_codes;
mod signing;
mod stores;
#[cfg(test)]
#[path = "../../tests/support/test_records.rs"]
mod test_records;
mod tls;
mod trace;
mod viewer;
mod worker_process;
mod workers;

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::durable::{DirLock, DurableError, PrivateDir, is_foreign};
use crate::listener::{Connections, Listener, Reserved};
use crate::wire::{Event, Token};
use app::App;
use http::Server;
use records::Records;
use signing::Signer;
use stores::{Process, Stores};
use tls::Tls;

pub use chaos::{ChaosError, ChaosPlan};
pub use config::{
    LaterPictures, MemorySetting, ServiceConfig, StorageOrigin, WorkerCommand, WorkerLimits,
    WorkerPriority,
};
pub use error::ServiceError;
pub use files::{BucketConfig, BucketError};
pub use first_start::TOKEN_FILE;
pub use health::{memory_failure, memory_of_machine};
pub use proxies::{Proxy, TrustedProxies};
pub use records::{DatabaseUrlError, PostgresServer, RecordsAt};
pub use stores::Adoption;
pub use tls::TlsFiles;
pub use worker_process::RunningWorker;
pub use workers::{
    DISK_FULL, Failure, KeptTask, KeptWorker, MissingProtection, OUT_OF_MEMORY, Outcome,
    Protection, Sandbox, TaskFolders, WorkerError, Workers,
};

/// How long the tasks of a process may take to end: what they have begun in the database and the storage, and giving
/// their jobs back.
const STOP_TIME: Duration = Duration::from_secs(15);

/// The local service, before it runs.
#[derive(Debug)]
pub struct Service;

/// A running service; stops on `shutdown`, or when dropped.
pub struct RunningService {
    base_url: Url,
    addr: SocketAddr,
    admin_addr: Option<SocketAddr>,
    token: Token,
    app: Arc<App>,
    tasks: JoinSet<()>,
    /// Held for as long as the service runs.
    _lock: DirLock,
}

impl fmt::Debug for RunningService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningService")
            .field("base_url", &self.base_url.as_str())
            .field("addr", &self.addr)
            .finish_non_exhaustive()
    }
}

impl Service {
    /// Starts a service. Returns when it answers requests.
    ///
    /// # Errors
    /// If the data folder cannot be used or an address cannot be bound.
    pub async fn start(config: ServiceConfig) -> Result<RunningService, ServiceError> {
        let (data_dir, lock) = own_folder(&config)?;
        // Clients and balancers are refused until the service can answer.
        let api = bind(config.listen)?;
        let origin_at = config.storage_origin.as_ref().map(|origin| origin.listen);
        let storage = origin_at.map(bind).transpose()?;
        let admin = config.admin_listen.map(bind).transpose()?;
        let tls = config.tls.clone().map(Tls::open).transpose()?.map(Arc::new);
        let stores = Stores::open(&config, &data_dir, Process::Serve).await?;
        let records = &stores.records;
        if let Some(quota) = config.quota_bytes {
            records.accounts().follow_quota(quota).await?;
        }
        let token = first_start::account(records, &config, data_dir.path()).await?;
        let signer = signer(&config, records, api.addr(), storage.as_ref()).await?;
        let base_url = origin(config.public_url.clone(), api.addr(), scheme(&config));
        let app = assemble(config, &data_dir, stores, signer, base_url)?;
        app.set_chaos(app.config.chaos.clone());
        let page = app.base_url.origin().ascii_serialization();
        if let Some(advice) = app.files.check_cors(&page).await {
            tracing::warn!("{advice}");
        }
        if let Some(failure) = health::memory_failure(&app.config, health::memory_of_machine()) {
            tracing::warn!("{failure}");
        }
        jobs::recover(&app).await?;
        events::recover(&app).await?;
        let mut running = RunningService {
            base_url: app.base_url.clone(),
            addr: api.addr(),
            admin_addr: admin.as_ref().map(Reserved::addr),
            token,
            app,
            tasks: JoinSet::new(),
            _lock: lock,
        };
        let [storage, admin] = [storage, admin].map(|it| it.map(listen).transpose());
        running.begin(listen(api)?, storage?, admin?, tls);
        Ok(running)
    }
}

impl Service {
    /// Makes records that were restored from a backup the holder of their bucket. Does not start the service.
    ///
    /// # Errors
    /// If the records or the files cannot be used, or the files belong to another service.
    pub async fn adopt_files(config: &ServiceConfig) -> Result<Adoption, ServiceError> {
        let (data_dir, _lock) = own_folder(config)?;
        stores::adopt(config, &data_dir).await
    }
}

/// Files that only the data folder of a service has.
const SIGNS: &[&str] = &["records.sqlite", "account.json"];
/// Other names in a data folder. A service whose records and files are elsewhere has only these.
const OTHER_NAMES: &[&str] = &["files", "lock", "work", TOKEN_FILE];

/// Opens the data folder, for this process alone. Reports what the kernel lacks to protect it from models.
fn own_folder(config: &ServiceConfig) -> Result<(PrivateDir, DirLock), ServiceError> {
    for protection in Protection::missing() {
        tracing::warn!("{protection}");
    }
    if is_foreign(&config.data_dir, |name| SIGNS.contains(&name), OTHER_NAMES) {
        return Err(DurableError::Foreign(config.data_dir.clone()).into());
    }
    let data_dir = PrivateDir::open(&config.data_dir)?;
    let lock = DirLock::acquire(data_dir.path())?;
    Ok((data_dir, lock))
}

/// The state of a service.
fn assemble(
    config: ServiceConfig,
    data_dir: &PrivateDir,
    stores: Stores,
    signer: Signer,
    base_url: Url,
) -> Result<Arc<App>, ServiceError> {
    let start = |command: &WorkerCommand, priority| {
        let limits = WorkerLimits {
            priority,
            ..config.worker_limits.clone()
        };
        Workers::start(command.clone(), limits).map_err(ServiceError::Workers)
    };
    let start_job = |command| start(command, WorkerPriority::Job);
    let start_drawing = |later: &LaterPictures| start(&later.drawing, WorkerPriority::AfterJobs);
    let later = config.later_pictures.as_ref();
    let app = App {
        quick_workers: later
            .and_then(|later| later.quick.as_ref())
            .map(start_job)
            .transpose()?,
        drawing_workers: later.map(start_drawing).transpose()?,
        files: stores.files,
        signer,
        base_url,
        queue: queue::Queue::default(),
        workers: start_job(&config.worker)?,
        work_dir: empty_dir(data_dir.join("work"))?,
        limiter: limits::RateLimiter::new(config.requests_per_minute),
        password_turn: tokio::sync::Mutex::default(),
        sign_in_codes: sign_in_codes::SignInCodes::default(),
        connections: Connections::new(config.connections.clone()),
        metrics: metrics::Metrics::default(),
        draining: CancellationToken::new(),
        stop: CancellationToken::new(),
        events: event_signal::Events::default(),
        clock: stores.clock,
        chaos: chaos::Chaos::default(),
        bucket_fence: stores.bucket_fence,
        records: stores.records,
        config,
    };
    Ok(Arc::new(app))
}

/// The scheme of the URLs of the listeners.
fn scheme(config: &ServiceConfig) -> &'static str {
    match config.tls {
        Some(_) => "https",
        None => "http",
    }
}

/// The URL of a listener.
fn origin(public: Option<Url>, addr: SocketAddr, scheme: &str) -> Url {
    public.unwrap_or_else(|| {
        Url::parse(&format!("{scheme}://{addr}/")).expect("an address makes a valid URL")
    })
}

fn bind(addr: SocketAddr) -> Result<Reserved, ServiceError> {
    Reserved::bind(addr).map_err(|source| ServiceError::Listen { addr, source })
}

fn listen(reserved: Reserved) -> Result<Listener, ServiceError> {
    let addr = reserved.addr();
    let listening = reserved.listen();
    listening.map_err(|source| ServiceError::Listen { addr, source })
}

async fn signer(
    config: &ServiceConfig,
    records: &Records,
    api: SocketAddr,
    storage: Option<&Reserved>,
) -> Result<Signer, ServiceError> {
    let key = records.setting("signing_key", ids::random_secret).await?;
    let base = match (&config.storage_origin, storage) {
        (Some(separate), Some(bound)) => {
            origin(separate.public_url.clone(), bound.addr(), scheme(config))
        }
        _ => origin(config.public_url.clone(), api, scheme(config)),
    };
    Ok(Signer::new(key.as_bytes(), base).reading_at(config.files_url.clone()))
}

/// Creates an empty folder; removes left-overs of the last run.
fn empty_dir(path: PathBuf) -> Result<PathBuf, ServiceError> {
    let io = |source| ServiceError::Io {
        path: path.clone(),
        source,
    };
    match std::fs::remove_dir_all(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(io(error)),
        _ => {}
    }
    std::fs::create_dir(&path).map_err(io)?;
    Ok(path)
}

impl RunningService {
    /// Starts the tasks: listeners, workers, the janitor.
    fn begin(
        &mut self,
        api: Listener,
        storage: Option<Listener>,
        admin: Option<Listener>,
        tls: Option<Arc<Tls>>,
    ) {
        let app = &self.app;
        let server = |listener| Server {
            listener,
            connections: app.connections.clone(),
            chaos: app.chaos.clone(),
            stop: app.stop.clone(),
            tls: tls.clone(),
        };
        if let Some(tls) = &tls {
            let following = Arc::clone(tls).follow();
            let stop = app.stop.clone();
            self.tasks.spawn(async move {
                stop.run_until_cancelled(following).await;
            });
        }
        match storage {
            Some(storage) => {
                let router = http::storage_only(Arc::clone(app));
                self.tasks.spawn(server(storage).serve(router));
                let router = http::api(Arc::clone(app));
                self.tasks.spawn(server(api).serve(router));
            }
            None => {
                let router = http::api_and_storage(Arc::clone(app));
                self.tasks.spawn(server(api).serve(router));
            }
        }
        if let Some(listener) = admin {
            self.tasks
                .spawn(http::serve_admin(Arc::clone(app), listener));
        }
        for _ in 0..app.config.workers {
            self.tasks.spawn(jobs::work(Arc::clone(app)));
        }
        if app.config.workers > 0 {
            self.tasks.spawn(jobs::draw(Arc::clone(app)));
        }
        self.tasks.spawn(jobs::keep(Arc::clone(app)));
        self.tasks.spawn(jobs::exchange_wakeups(Arc::clone(app)));
        self.tasks.spawn(events::deliver(Arc::clone(app)));
        self.tasks.spawn(events::tidy(Arc::clone(app)));
        self.tasks.spawn(janitor::clean(Arc::clone(app)));
    }

    /// The base of every API path, such as `http://127.0.0.1:4321/`.
    pub fn base_url(&self) -> &Url {
        &self.base_url
    }

    /// The address of the API.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The address of `/livez`, `/readyz` and `/metrics`.
    pub fn admin_addr(&self) -> Option<SocketAddr> {
        self.admin_addr
    }

    /// The token of the first account, `<id>|<secret>`.
    pub fn token(&self) -> &str {
        self.token.expose()
    }

    /// A link to the page that signs in to the first account, once and for ten minutes. `None` unless the service listens on
    /// this machine alone, by its own address and without a certificate: only there is the link of use.
    ///
    /// # Errors
    /// If the records fail.
    pub async fn sign_in_link(&self) -> Result<Option<String>, ServiceError> {
        if !self.app.config.is_for_this_machine() {
            return Ok(None);
        }
        let token = self.token.id().expect("our own token has an id");
        let token = self.app.records.tokens().get(token).await?;
        Ok(token.map(|token| self.app.sign_in_codes.make(token.user).link(&self.base_url)))
    }

    /// The ends of analyses and optimizations that this process does from now on. A receiver that falls behind misses
    /// some.
    pub fn ends(&self) -> broadcast::Receiver<Event> {
        self.app.events.ends()
    }

    /// Starts a plan of faults from its beginning; `None` ends all faults.
    pub fn set_chaos(&self, plan: Option<ChaosPlan>) {
        self.app.set_chaos(plan);
    }

    /// How often each rule of the plan has fired: request rules, then connection rules.
    pub fn chaos_fired(&self) -> Vec<u64> {
        self.app.chaos.fired()
    }

    /// Adds `count` complete assets to the first account, directly in the records: for benchmarks.
    ///
    /// # Errors
    /// If the records or the files fail.
    pub async fn add_sample_assets(&self, count: u64) -> Result<(), ServiceError> {
        let token = self.token.id().expect("our own token has an id");
        let token = self.app.records.tokens().get(token).await?;
        match token {
            Some(token) => sample_records::add(&self.app, token.user, count).await,
            None => Ok(()),
        }
    }

    /// Claims no more jobs, and waits until those that run have ended, for `time` at most. Requests are answered, but
    /// `/readyz` fails from now on.
    pub async fn drain(&self, time: Duration) {
        self.app.draining.cancel();
        // If the time is over, `shutdown` puts the jobs back into the queue.
        let _ = tokio::time::timeout(time, self.app.queue.idle()).await;
    }

    /// Stops the service: refuses new requests, gives those in flight a short time, ends the workers and puts their
    /// jobs back into the queue. Ends within 20 seconds, also if the database or the storage does not answer.
    pub async fn shutdown(mut self) {
        end(&self.app, std::mem::take(&mut self.tasks)).await;
    }
}

impl Drop for RunningService {
    fn drop(&mut self) {
        self.app.stop.cancel();
    }
}

/// Ends the tasks of a process, and closes its records.
async fn end(app: &App, mut tasks: JoinSet<()>) {
    app.draining.cancel();
    app.stop.cancel();
    let ending = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(STOP_TIME, ending).await.is_err() {
        tracing::warn!(
            jobs = app.queue.running_count(),
            "the process ends although the database or the storage does not answer: other processes take its jobs \
             when the leases have expired"
        );
        tasks.abort_all();
    }
    app.records.close().await;
}
