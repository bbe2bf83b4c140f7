//! The service behind its relay, and clients and outboxes with short times.
//!
//! The worker is a shell script that copies; the outbox needs no engine.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use assetfs::client::{Client, ClientConfig, Priority};
use assetfs::outbox::{Outbox, OutboxConfig, OutboxEvent};
use assetfs::service::{RunningService, Service, ServiceConfig, WorkerCommand};
use assetfs::wire::{AssetId, BaseAsset, RapidModel, UploadStatus};
use tempfile::TempDir;
use tokio::sync::mpsc;

use crate::fault_server::Relay;

const WORKER: &str = r#"#!/bin/sh
task=$(cat)
out=$(printf %s "$task" | sed 's/.*"output_dir":"\([^"]*\)".*/\1/')
in=$(printf %s "$task" | sed 's/.*"input_dir":"\([^"]*\)".*/\1/')
case "$task" in
*broken.glb*) echo '{"error":"broken.glb ends in the middle of a chunk"}'; exit 1 ;;
*slow*) sleep 1 ;;
esac
echo '{"percent":40,"step":"Simplifying"}'
echo '{"triangles":12}' > "$out/rpd_info.json"
echo '{}' > "$out/metrics.json"
echo 'read the model' > "$out/info.log"
: > "$out/warning.log"
: > "$out/error.log"
printf thumb > "$out/thumb.jpg"
case "$task" in
*'"task":"optimize"'*)
  mkdir -p "$out/exports"
  printf glb > "$out/exports/chair.glb"
  echo '{"report":{"exports":[{"format":"glb","name":"chair.glb","parts":["chair.glb"],"size_bytes":3,"images":[]}],"files":[],"warnings":[],"source":{"triangles":0,"vertices":0,"meshes":0,"materials":0,"textures":0,"largest_texture":0,"bytes":0},"result":{"triangles":0,"vertices":0,"meshes":0,"materials":0,"textures":0,"largest_texture":0,"bytes":0}}}'
  ;;
esac
"#;

/// A service, a relay in front of it, and a folder for outboxes.
pub struct World {
    pub dir: TempDir,
    pub service: RunningService,
    pub relay: Relay,
}

impl World {
    pub async fn start() -> World {
        World::with(|_| {}).await
    }

    pub async fn with(change: impl FnOnce(&mut ServiceConfig)) -> World {
        // Fails if another test has installed it already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("worker.sh");
        fs::write(&program, WORKER).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let worker = WorkerCommand {
            program,
            args: Vec::new(),
        };
        let relay = Relay::start();
        let mut config = ServiceConfig::new(dir.path().join("service"), worker);
        config.public_url = Some(relay.url().parse().unwrap());
        config.workers = 4;
        config.requests_per_minute = 1_000_000;
        change(&mut config);
        let service = Service::start(config).await.unwrap();
        relay.to(service.addr());
        World {
            dir,
            service,
            relay,
        }
    }

    /// A client that uses the relay.
    pub fn client(&self) -> Client {
        client(&self.relay.url(), self.service.token())
    }

    /// A client that uses the service directly, to check what happened.
    pub fn direct(&self) -> Client {
        client(
            &format!("http://{}", self.service.addr()),
            self.service.token(),
        )
    }

    pub fn config(&self) -> OutboxConfig {
        quick(&self.dir.path().join("outbox"))
    }

    pub fn open(&self) -> (Outbox, mpsc::Receiver<OutboxEvent>) {
        Outbox::open(self.config(), self.client()).unwrap()
    }

    /// An outbox without a receiver of its events.
    pub fn outbox(&self) -> Outbox {
        let (outbox, mut events) = self.open();
        tokio::spawn(async move { while events.recv().await.is_some() {} });
        outbox
    }

    /// Shuts the outbox down and opens it again.
    pub async fn reopen(&self, outbox: Outbox) -> Outbox {
        outbox.shut_down().await;
        drop(outbox);
        self.outbox()
    }

    pub async fn assets(&self) -> Vec<BaseAsset> {
        self.direct()
            .assets()
            .all(None, Priority::Interactive)
            .await
            .unwrap()
    }

    /// The only asset that is more than started.
    #[track_caller]
    pub fn the_one(&self, assets: &[BaseAsset]) -> AssetId {
        let whole: Vec<_> = assets
            .iter()
            .filter(|it| it.upload_status != UploadStatus::Incomplete)
            .collect();
        assert_eq!(whole.len(), 1, "{assets:?}");
        whole[0].id
    }

    /// The rapid models of an asset.
    pub async fn rapid_models(&self, asset: AssetId) -> Vec<RapidModel> {
        let direct = self.direct();
        let models = direct.assets().rapid_models(asset, Priority::Interactive);
        models.await.unwrap()
    }

    /// The files of an asset on the service.
    pub async fn files(&self, asset: AssetId) -> BTreeMap<String, Vec<u8>> {
        let direct = self.direct();
        let listed = direct
            .assets()
            .downloads(asset, Priority::Interactive)
            .await
            .unwrap();
        let mut files = BTreeMap::new();
        for (name, url) in listed.iter() {
            files.insert(name.to_owned(), fetch(&direct, url).await);
        }
        files
    }

    pub async fn wait_complete(&self, asset: AssetId) {
        let direct = self.direct();
        eventually("the asset is complete", async || {
            let record = direct
                .assets()
                .get(asset, Priority::Interactive)
                .await
                .unwrap();
            record.upload_status == UploadStatus::Complete
        })
        .await;
    }
}

async fn fetch(client: &Client, url: &assetfs::wire::SignedUrl) -> Vec<u8> {
    use futures_util::TryStreamExt as _;
    let reply = client
        .transfers()
        .get_range(url, 0, None, None)
        .await
        .unwrap();
    let blocks: Vec<bytes::Bytes> = reply.stream.try_collect().await.unwrap();
    blocks.concat()
}

pub fn client(base_url: &str, token: &str) -> Client {
    let mut config = ClientConfig::new(base_url).unwrap();
    config.token = Some(assetfs::wire::Token::parse(token).unwrap());
    config.retries.first_pause = Duration::from_millis(20);
    config.retries.longest_pause = Duration::from_millis(100);
    config.retries.background_patience = Duration::from_secs(2);
    config.retries.interactive_patience = Duration::from_secs(2);
    Client::new(config).unwrap()
}

/// Short times, so that tests are fast.
pub fn quick(dir: &Path) -> OutboxConfig {
    OutboxConfig {
        settle: Duration::from_millis(80),
        look_for_lost: Duration::from_secs(2),
        first_poll: Duration::from_millis(50),
        ..OutboxConfig::new(dir)
    }
}

/// Waits for a condition; panics with `what` after the time limit.
#[track_caller]
pub fn eventually<'a>(
    what: &'a str,
    mut holds: impl AsyncFnMut() -> bool + 'a,
) -> impl Future<Output = ()> + 'a {
    let place = std::panic::Location::caller();
    async move {
        let until = Instant::now() + Duration::from_secs(60);
        while !holds().await {
            assert!(Instant::now() < until, "never came, at {place}: {what}");
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    }
}
