//! One account for one test: the local service on a free port, and a drive over it that can be closed and opened
//! again, as by a remount.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use assetfs::cache::{BlockCache, CacheError, CacheLimits, KeepFree};
use assetfs::client::{Client, ClientConfig};
use assetfs::drive::{Drive, DriveConfig};
use assetfs::durable::{DurableError, MetaStore};
use assetfs::outbox::{Outbox, OutboxConfig};
use assetfs::service::{
    ChaosPlan, LaterPictures, RunningService, Service, ServiceConfig, ServiceError, WorkerCommand,
};
use assetfs::wire::{AssetId, Event, Preset, StartUpload, Token, UploadStatus};
use assetfs_engine::sample::{ChairDetail, write_chair_with};
use futures_util::StreamExt as _;
use tempfile::TempDir;

use super::tree::Tree;

/// A complete glTF with one triangle.
pub const MINIMAL_GLTF: &[u8] = br#"{"asset":{"version":"2.0"},"scene":0,"scenes":[{"nodes":[0]}],"nodes":[{"mesh":0}],
"meshes":[{"primitives":[{"attributes":{"POSITION":1},"indices":0}]}],
"buffers":[{"uri":"data:application/octet-stream;base64,AAABAAIAAAAAAAAAAAAAAAAAAAAAAIA/AAAAAAAAAAAAAAAAAACAPwAAAAA=","byteLength":44}],
"bufferViews":[{"buffer":0,"byteOffset":0,"byteLength":6,"target":34963},{"buffer":0,"byteOffset":8,"byteLength":36,"target":34962}],
"accessors":[{"bufferView":0,"byteOffset":0,"componentType":5123,"count":3,"type":"SCALAR","max":[2],"min":[0]},
{"bufferView":1,"byteOffset":0,"componentType":5126,"count":3,"type":"VEC3","max":[1.0,1.0,0.0],"min":[0.0,0.0,0.0]}]}"#;

/// How long a draft has to be quiet before it is sent.
const SETTLE: Duration = Duration::from_millis(300);

/// The service and the folder of all state.
pub struct Account {
    pub dir: TempDir,
    pub client: Client,
    service: Option<RunningService>,
    service_config: ServiceConfig,
}

/// An open drive.
pub struct Mounted {
    pub drive: Drive,
    pub outbox: Outbox,
    pub tree: Tree,
}

impl Mounted {
    /// Closes the drive and the outbox, as an unmount does.
    pub async fn close(self) {
        self.drive.shut_down().await;
        self.outbox.shut_down().await;
    }
}

/// Opens the cache. A block that the drive before was storing when it ended keeps it locked for a moment.
async fn open_cache(dir: &Path, limits: CacheLimits) -> BlockCache {
    for _ in 0..100 {
        match BlockCache::open(dir, limits) {
            Err(CacheError::Open(DurableError::Locked { .. })) => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            opened => return opened.expect("a cache"),
        }
    }
    panic!("an earlier drive keeps the cache locked");
}

impl Account {
    /// An account on a new service with the real engine.
    pub async fn new() -> Account {
        Account::with_worker(WorkerCommand {
            program: env!("CARGO_BIN_EXE_assetfs").into(),
            args: vec!["engine-worker".into(), "--no-pictures".into()],
        })
        .await
    }

    /// An account on a new service with the real engine, pictures and comparisons included.
    pub async fn with_pictures() -> Account {
        Account::with_worker(WorkerCommand {
            program: env!("CARGO_BIN_EXE_assetfs").into(),
            args: vec!["engine-worker".into()],
        })
        .await
    }

    /// An account on a new service with the real engine, which draws the pictures of results after them.
    pub async fn with_later_pictures() -> Account {
        let engine = |option: &str| WorkerCommand {
            program: env!("CARGO_BIN_EXE_assetfs").into(),
            args: vec!["engine-worker".into(), option.into()],
        };
        Account::with_config(engine("--no-pictures"), |config| {
            config.later_pictures = Some(LaterPictures {
                quick: Some(engine("--no-pictures")),
                drawing: engine("--kept"),
            });
        })
        .await
    }

    /// An account on a new service with this worker.
    pub async fn with_worker(worker: WorkerCommand) -> Account {
        Account::with_config(worker, |_| {}).await
    }

    /// The same with imports that take a second longer.
    pub async fn with_slow_imports() -> Account {
        let script = r#"sleep 1; exec "$0" engine-worker --no-pictures"#;
        Account::with_worker(WorkerCommand {
            program: "sh".into(),
            args: vec![
                "-c".into(),
                script.into(),
                env!("CARGO_BIN_EXE_assetfs").into(),
            ],
        })
        .await
    }

    async fn with_config(
        worker: WorkerCommand,
        change: impl FnOnce(&mut ServiceConfig),
    ) -> Account {
        let dir = tempfile::tempdir().expect("a temporary folder");
        Account::in_folder(dir, worker, change).await
    }

    /// An account whose service and state are in this folder.
    pub async fn in_folder(
        dir: TempDir,
        worker: WorkerCommand,
        change: impl FnOnce(&mut ServiceConfig),
    ) -> Account {
        let _ = tracing_subscriber::fmt()
            .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
            .with_test_writer()
            .try_init();
        let mut service_config = ServiceConfig::new(dir.path().join("service"), worker);
        change(&mut service_config);
        let service = Service::start(service_config.clone())
            .await
            .expect("the service starts");
        service_config.listen = service.addr();
        let base_url = format!("http://{}", service.addr());
        let config = ClientConfig::new(&base_url)
            .expect("a base URL")
            .with_token(Token::parse(service.token()).expect("a token"));
        let client = Client::new(config).expect("a client");
        Account {
            dir,
            client,
            service: Some(service),
            service_config,
        }
    }

    /// An account whose service allows so many requests a minute.
    pub async fn with_rate(requests_per_minute: u32) -> Account {
        let mut account = Account::new().await;
        account.stop_service().await;
        account.service_config.requests_per_minute = requests_per_minute;
        account.start_service().await;
        account
    }

    /// Opens one more drive of the account, with a client and state of its own, as on another machine.
    pub async fn mount_apart(
        &self,
        number: usize,
        change: impl FnOnce(&mut DriveConfig),
    ) -> (Mounted, Client) {
        let service = self.service.as_ref().expect("the service runs");
        let config = ClientConfig::new(&format!("http://{}", service.addr()))
            .expect("a base URL")
            .with_token(Token::parse(service.token()).expect("a token"));
        let client = Client::new(config).expect("a client");
        let state = format!("apart{number}");
        let mounted = self.mount_by(client.clone(), &state, change).await;
        (mounted, client)
    }

    /// Opens a drive of the account whose requests take another way, such as a relay.
    pub async fn mount_through(&self, client: Client, state: &str) -> Mounted {
        self.mount_by(client, state, |_| {}).await
    }

    /// Where the running service listens.
    pub fn service_addr(&self) -> std::net::SocketAddr {
        self.service.as_ref().expect("the service runs").addr()
    }

    /// The token of the account.
    pub fn token(&self) -> Token {
        let service = self.service.as_ref().expect("the service runs");
        Token::parse(service.token()).expect("a token")
    }

    /// Fills the account with assets called `sample 000000`, `sample 000001`, ….
    pub async fn fill(&self, count: u64) {
        let service = self.service.as_ref().expect("the service runs");
        let filled = service.add_sample_assets(count).await;
        filled.expect("records are made");
    }

    /// Number of requests so far.
    pub fn requests(&self) -> u64 {
        self.client.budget().taken
    }

    /// Stops the service.
    pub async fn stop_service(&mut self) {
        if let Some(service) = self.service.take() {
            service.shutdown().await;
        }
    }

    /// Ends the service like `kill -9`: work under way is not finished.
    pub fn kill_service(&mut self) {
        drop(self.service.take());
    }

    /// Starts the service again at its address.
    pub async fn start_service(&mut self) {
        // What the service before was still doing keeps its folder locked for a moment, and a connection of another test
        // may have its port.
        for _ in 0..100 {
            match Service::start(self.service_config.clone()).await {
                Err(
                    ServiceError::DataDir(DurableError::Locked { .. })
                    | ServiceError::Listen { .. },
                ) => tokio::time::sleep(Duration::from_millis(50)).await,
                started => {
                    self.service = Some(started.expect("the service starts again"));
                    return;
                }
            }
        }
        panic!("the folder or the port of an earlier service stays in use");
    }

    /// Injects the faults of a plan.
    pub async fn meet_faults(&mut self, plan: &str) {
        self.stop_service().await;
        self.service_config.chaos = Some(ChaosPlan::parse(plan).expect("a plan"));
        self.start_service().await;
    }

    /// Injects the faults of a plan while the service runs; `None` ends them. Open connections stay open.
    pub fn set_faults(&mut self, plan: Option<ChaosPlan>) {
        self.service_config.chaos.clone_from(&plan);
        let service = self.service.as_ref().expect("the service runs");
        service.set_chaos(plan);
    }

    /// Opens the drive over a copy of the current state on disk, as after a kill.
    pub async fn mount_after_kill(&self) -> Mounted {
        let (state, copy) = (
            self.dir.path().join("state"),
            self.dir.path().join("killed"),
        );
        let copied = Command::new("cp").arg("-r").args([&state, &copy]).status();
        assert!(copied.expect("cp runs").success());
        self.mount_at("killed", |_| {}).await
    }

    /// An empty account and its drive.
    pub async fn mounted() -> (Account, Mounted) {
        let account = Account::new().await;
        let mounted = account.mount().await;
        (account, mounted)
    }

    /// An account with a cube, and its drive.
    pub async fn mounted_with_cube() -> (Account, Mounted) {
        let account = Account::new().await;
        account.add_cube().await;
        let mounted = account.mount().await;
        (account, mounted)
    }

    /// Opens the drive with a refresh time short enough for a test.
    pub async fn mount(&self) -> Mounted {
        self.mount_with(|_| {}).await
    }

    /// Opens the drive without state, as on another machine.
    pub async fn mount_elsewhere(&self) -> Mounted {
        self.mount_at("elsewhere", |_| {}).await
    }

    /// Opens the drive with changed settings.
    pub async fn mount_with(&self, change: impl FnOnce(&mut DriveConfig)) -> Mounted {
        self.mount_at("state", change).await
    }

    async fn mount_at(&self, state: &str, change: impl FnOnce(&mut DriveConfig)) -> Mounted {
        self.mount_by(self.client.clone(), state, change).await
    }

    /// Opens a drive that polls as rarely as one can, with the ends of jobs of its service.
    pub async fn mount_with_ends(&self) -> (Mounted, tokio::sync::broadcast::Receiver<Event>) {
        let service = self.service.as_ref().expect("the service runs");
        let (client, hour) = (self.client.clone(), Duration::from_secs(3_600));
        let change = |config: &mut DriveConfig| config.refresh = hour;
        let mounted = self.mount_polling(client, "state", hour, change).await;
        (mounted, service.ends())
    }

    async fn mount_by(
        &self,
        client: Client,
        state: &str,
        change: impl FnOnce(&mut DriveConfig),
    ) -> Mounted {
        let first_poll = Duration::from_millis(50);
        self.mount_polling(client, state, first_poll, change).await
    }

    async fn mount_polling(
        &self,
        client: Client,
        state: &str,
        first_poll: Duration,
        change: impl FnOnce(&mut DriveConfig),
    ) -> Mounted {
        let quick = |config: &mut OutboxConfig| config.first_poll = first_poll;
        self.mount_changed(client, state, quick, change).await
    }

    /// Opens a drive with changed settings of its outbox, too.
    pub async fn mount_changed(
        &self,
        client: Client,
        state: &str,
        change_outbox: impl FnOnce(&mut OutboxConfig),
        change: impl FnOnce(&mut DriveConfig),
    ) -> Mounted {
        let state = self.dir.path().join(state);
        std::fs::create_dir_all(&state).expect("a state folder");
        let limits = CacheLimits {
            max_bytes: 1 << 30,
            keep_free: KeepFree::NOTHING,
        };
        let cache = open_cache(&state.join("cache"), limits).await;
        let meta = MetaStore::open(state.join("meta.redb")).expect("a store");
        let mut outbox_config = OutboxConfig::new(state.join("outbox"));
        outbox_config.settle = SETTLE;
        change_outbox(&mut outbox_config);
        let (outbox, events) = Outbox::open(outbox_config, client.clone()).expect("an outbox");
        let mut config = DriveConfig::new("test account", state.join("outbox"));
        config.refresh = Duration::from_millis(100);
        change(&mut config);
        let drive = Drive::open(config, client, cache, outbox.clone(), events, meta)
            .await
            .expect("a drive");
        let tree = Tree::new(drive.clone());
        Mounted {
            drive,
            outbox,
            tree,
        }
    }

    /// Uploads an asset without the drive, as from another machine. Waits until its state is final.
    pub async fn upload_elsewhere(&self, name: &str, files: &[(&str, &[u8])]) -> AssetId {
        self.upload(name, files, false).await
    }

    /// Uploads a zip that the service unpacks.
    pub async fn upload_zip_elsewhere(&self, name: &str, zip: &[u8]) -> AssetId {
        let file = format!("{name}.zip");
        self.upload(name, &[(&file, zip)], true).await
    }

    /// A complete asset `cube` of one triangle in one file, uploaded without the drive.
    pub async fn add_cube(&self) -> AssetId {
        self.upload_elsewhere("cube", &[("cube.gltf", MINIMAL_GLTF)])
            .await
    }

    async fn upload(&self, name: &str, files: &[(&str, &[u8])], is_zip: bool) -> AssetId {
        let filenames = files.iter().map(|(name, _)| (*name).to_owned()).collect();
        let request = StartUpload {
            model_name: name.to_owned(),
            filenames,
            is_zip,
        };
        let started = self
            .client
            .assets()
            .start_upload(&request)
            .await
            .expect("an upload starts");
        for (name, bytes) in files {
            let url = started
                .links
                .s3_upload_urls
                .get(name)
                .expect("a URL for each file")
                .clone();
            self.put(url.expose(), bytes).await;
        }
        self.client
            .assets()
            .complete_upload(started.id)
            .await
            .expect("an upload completes");
        self.until_final(started.id).await;
        started.id
    }

    /// Starts an upload without the drive and does not complete it.
    pub async fn begin_elsewhere(&self, name: &str) -> AssetId {
        let request = StartUpload {
            model_name: name.to_owned(),
            filenames: vec!["x.glb".into()],
            is_zip: false,
        };
        self.client
            .assets()
            .start_upload(&request)
            .await
            .expect("an upload starts")
            .id
    }

    async fn put(&self, url: &str, bytes: &[u8]) {
        let client = reqwest_client();
        let reply = client
            .put(url)
            .body(bytes.to_vec())
            .send()
            .await
            .expect("a PUT is answered");
        assert!(reply.status().is_success(), "{}", reply.status());
    }

    /// Waits until the import of an asset has ended.
    pub async fn until_final(&self, asset: AssetId) -> UploadStatus {
        for _ in 0..6000 {
            let record = self
                .client
                .assets()
                .get(asset, assetfs::client::Priority::Interactive)
                .await
                .expect("a record");
            if record.upload_status.is_final() {
                return record.upload_status;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("asset {asset} is not imported within 300 s");
    }

    /// The presets of the account on the service.
    pub async fn presets(&self) -> Vec<Preset> {
        let now = assetfs::client::Priority::Interactive;
        self.client.presets().list(now).await.expect("presets")
    }

    /// The assets on the service.
    pub async fn assets(&self) -> Vec<(AssetId, String)> {
        let pages = self
            .client
            .assets()
            .pages(None, assetfs::client::Priority::Interactive);
        let pages: Vec<_> = pages.collect().await;
        pages
            .into_iter()
            .flat_map(|page| page.expect("a page").data)
            .map(|asset| (asset.id, asset.name))
            .collect()
    }

    /// A small chair: a glTF with its buffer and textures.
    pub fn chair(&self) -> PathBuf {
        let dir = self.dir.path().join("chair");
        write_chair_with(&dir, ChairDetail::Small).expect("a chair");
        dir
    }
}

pub fn reqwest_client() -> reqwest::Client {
    // Fails if another test has already installed it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .no_proxy()
        .build()
        .expect("a client")
}

/// A process that does nothing, for tests that need the id of another process.
pub struct OtherProcess(Child);

impl OtherProcess {
    pub fn start() -> OtherProcess {
        let child = Command::new("sleep")
            .arg("600")
            .stdout(Stdio::null())
            .spawn()
            .expect("sleep starts");
        OtherProcess(child)
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for OtherProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Files of a local folder, by name.
pub fn files_in(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = std::fs::read_dir(dir)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_file())
        .map(|path| {
            let name = path
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            (name, std::fs::read(&path).expect("a file"))
        })
        .collect();
    files.sort();
    files
}
