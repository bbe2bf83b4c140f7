//! A local service behind a proxy that can lose, refuse and delay, and outboxes that talk to it.
//!
//! The worker is a shell script that copies; what the outbox does needs no engine.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use assetfs::client::{Client, ClientConfig, Priority};
use assetfs::outbox::{
    Caller, DraftId, DraftInfo, EntryId, OpenMode, Outbox, OutboxConfig, OutboxEvent,
};
use assetfs::service::{RunningService, Service, ServiceConfig, WorkerCommand};
use assetfs::wire::{AssetId, BaseAsset, UploadStatus};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// Nobody in particular: a process that has ended cannot be told from one that cannot be seen, so the
/// tests speak as a process of their own making where that matters.
pub const ME: Caller = Caller {
    pid: 0,
    uid: 1000,
    gid: 1000,
};

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

/// What the proxy does to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The service never hears of it; the connection breaks.
    LostBefore,
    /// The service does it; the connection breaks before the answer.
    LostAfter,
    /// The service never hears of it; this status is answered.
    Status(u16),
    /// It goes through late.
    Late(Duration),
}

#[derive(Debug)]
struct Rule {
    method: &'static str,
    path: &'static str,
    fault: Fault,
    left: usize,
}

/// One request that came.
#[derive(Debug, Clone)]
pub struct Call {
    pub method: String,
    pub path: String,
    pub body: String,
}

#[derive(Debug, Default)]
struct Plan {
    rules: Vec<Rule>,
    calls: Vec<Call>,
    dead: bool,
}

/// Stands between the outbox and the service.
#[derive(Clone)]
pub struct Proxy {
    port: u16,
    plan: Arc<Mutex<Plan>>,
}

impl Proxy {
    async fn bind() -> (Proxy, TcpListener) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let plan = Arc::default();
        (Proxy { port, plan }, listener)
    }

    fn serve(&self, listener: TcpListener, upstream: std::net::SocketAddr) {
        let plan = Arc::clone(&self.plan);
        tokio::spawn(async move {
            loop {
                let Ok((connection, _)) = listener.accept().await else {
                    return;
                };
                let plan = Arc::clone(&plan);
                tokio::spawn(async move {
                    let _ = relay(connection, upstream, &plan).await;
                });
            }
        });
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The next `times` requests of this method whose path contains `path` fare like this.
    pub fn fault(&self, method: &'static str, path: &'static str, fault: Fault, times: usize) {
        let rule = Rule {
            method,
            path,
            fault,
            left: times,
        };
        self.plan.lock().unwrap().rules.push(rule);
    }

    /// Nobody answers any more, or again.
    pub fn set_dead(&self, dead: bool) {
        self.plan.lock().unwrap().dead = dead;
    }

    pub fn calls(&self, method: &str, path: &str) -> Vec<Call> {
        let plan = self.plan.lock().unwrap();
        let all = plan.calls.iter();
        all.filter(|it| it.method == method && it.path.contains(path))
            .cloned()
            .collect()
    }
}

async fn relay(
    mut client: TcpStream,
    upstream: std::net::SocketAddr,
    plan: &Mutex<Plan>,
) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if client.read(&mut byte).await? == 0 {
            return Ok(());
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let mut words = head.split_whitespace();
    let (method, path) = (
        words.next().unwrap().to_owned(),
        words.next().unwrap().to_owned(),
    );
    let header = |name: &str| {
        head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name)
                .then(|| value.trim().to_owned())
        })
    };
    let len: usize = header("content-length").map_or(0, |it| it.parse().unwrap());
    let fault = {
        let mut plan = plan.lock().unwrap();
        let rule = plan
            .rules
            .iter_mut()
            .find(|rule| rule.left > 0 && rule.method == method && path.contains(rule.path));
        let fault = rule.map(|rule| {
            rule.left -= 1;
            rule.fault
        });
        if plan.dead {
            Some(Fault::LostBefore)
        } else {
            fault
        }
    };
    if fault == Some(Fault::LostBefore) {
        return Ok(());
    }
    let mut body = vec![0; len];
    client.read_exact(&mut body).await?;
    plan.lock().unwrap().calls.push(Call {
        method: method.clone(),
        path,
        body: String::from_utf8_lossy(&body).into_owned(),
    });
    if let Some(Fault::Status(status)) = fault {
        let answer = format!(
            "HTTP/1.1 {status} No\r\ncontent-type: application/json\r\ncontent-length: 19\r\nconnection: close\r\n\r\n{{\"message\":\"by us\"}}"
        );
        client.write_all(answer.as_bytes()).await?;
        return client.shutdown().await;
    }
    if let Some(Fault::Late(time)) = fault {
        tokio::time::sleep(time).await;
    }
    let head: String = head
        .lines()
        .filter(|line| !line.to_ascii_lowercase().starts_with("connection:"))
        .filter(|line| !line.is_empty())
        .map(|line| format!("{line}\r\n"))
        .collect();
    let mut server = TcpStream::connect(upstream).await?;
    server
        .write_all(format!("{head}connection: close\r\n\r\n").as_bytes())
        .await?;
    server.write_all(&body).await?;
    let mut answer = Vec::new();
    server.read_to_end(&mut answer).await?;
    if fault == Some(Fault::LostAfter) {
        return Ok(());
    }
    client.write_all(&answer).await?;
    client.shutdown().await
}

/// A service, the proxy before it, and a folder for outboxes.
pub struct World {
    pub dir: TempDir,
    pub service: RunningService,
    pub proxy: Proxy,
}

impl World {
    pub async fn start() -> World {
        World::with(|_| {}).await
    }

    pub async fn with(change: impl FnOnce(&mut ServiceConfig)) -> World {
        // Whoever comes second finds it installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("worker.sh");
        fs::write(&program, WORKER).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let worker = WorkerCommand {
            program,
            args: Vec::new(),
        };
        let (proxy, listener) = Proxy::bind().await;
        let mut config = ServiceConfig::new(dir.path().join("service"), worker);
        config.public_url = Some(proxy.url().parse().unwrap());
        config.workers = 4;
        config.requests_per_minute = 1_000_000;
        change(&mut config);
        let service = Service::start(config).await.unwrap();
        proxy.serve(listener, service.addr());
        World {
            dir,
            service,
            proxy,
        }
    }

    /// A client that goes through the proxy.
    pub fn client(&self) -> Client {
        client(&self.proxy.url(), self.service.token())
    }

    /// A client that goes to the service itself, for looking what really happened.
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

    /// An outbox whose events nobody needs.
    pub fn outbox(&self) -> Outbox {
        let (outbox, mut events) = self.open();
        tokio::spawn(async move { while events.recv().await.is_some() {} });
        outbox
    }

    pub async fn assets(&self) -> Vec<BaseAsset> {
        self.direct()
            .all_assets(None, Priority::Interactive)
            .await
            .unwrap()
    }

    /// The one asset that is not merely begun.
    #[track_caller]
    pub fn the_one(&self, assets: &[BaseAsset]) -> AssetId {
        let whole: Vec<_> = assets
            .iter()
            .filter(|it| it.upload_status != UploadStatus::Incomplete)
            .collect();
        assert_eq!(whole.len(), 1, "{assets:?}");
        whole[0].id
    }

    /// The files of an asset as the service has them.
    pub async fn files(&self, asset: AssetId) -> BTreeMap<String, Vec<u8>> {
        let direct = self.direct();
        let listed = direct
            .asset_downloads(asset, Priority::Interactive)
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
            let record = direct.asset(asset, Priority::Interactive).await.unwrap();
            record.upload_status == UploadStatus::Complete
        })
        .await;
    }
}

pub async fn fetch(client: &Client, url: &assetfs::wire::SignedUrl) -> Vec<u8> {
    use futures_util::TryStreamExt as _;
    let reply = client.get_range(url, 0, None, None).await.unwrap();
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

/// Short times, so that no test waits long.
pub fn quick(dir: &Path) -> OutboxConfig {
    OutboxConfig {
        settle: Duration::from_millis(80),
        look_for_lost: Duration::from_secs(2),
        first_poll: Duration::from_millis(50),
        ..OutboxConfig::new(dir)
    }
}

/// Waits until something holds; fails with its name when it does not come.
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

/// Writes a file as `cp` does.
pub fn put(outbox: &Outbox, draft: DraftId, parent: EntryId, name: &str, bytes: &[u8]) -> EntryId {
    match outbox.child(draft, parent, name) {
        Some(found) => {
            let file = outbox
                .open_staged(draft, found.id, OpenMode::Truncate, &ME)
                .unwrap();
            file.write_at(bytes, 0).unwrap();
            file.flush().unwrap();
            found.id
        }
        None => {
            let (info, file) = outbox.create_file(draft, parent, name, 0o644, &ME).unwrap();
            file.write_at(bytes, 0).unwrap();
            file.flush().unwrap();
            file.release();
            info.id
        }
    }
}

/// The files of a small model that is whole.
pub fn chair() -> Vec<(&'static str, Vec<u8>)> {
    let gltf = br#"{"asset":{"version":"2.0"},"buffers":[{"uri":"chair.bin","byteLength":3000}],"images":[{"uri":"wood.png"}]}"#;
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, len) in [(b"IHDR", 13usize), (b"IDAT", 300), (b"IEND", 0)] {
        png.extend((len as u32).to_be_bytes());
        png.extend(kind);
        png.resize(png.len() + len + 4, 1);
    }
    let bin = (0..3000u32).map(|n| n as u8).collect();
    vec![
        ("chair.gltf", gltf.to_vec()),
        ("chair.bin", bin),
        ("wood.png", png),
    ]
}

/// A GLB of `len` bytes that says so.
pub fn glb(len: u32) -> Vec<u8> {
    let mut glb = b"glTF\x02\0\0\0".to_vec();
    glb.extend(len.to_le_bytes());
    glb.extend(2u32.to_le_bytes());
    glb.extend(b"JSON{}");
    glb.resize(len as usize, 7);
    glb
}

/// Copies the chair into a draft of its own.
pub fn copy_chair(outbox: &Outbox, name: &str) -> DraftInfo {
    let draft = outbox.create_draft(name, 0o755, &ME).unwrap();
    for (name, bytes) in chair() {
        put(outbox, draft.id, EntryId::ROOT, name, &bytes);
    }
    draft
}

pub fn as_map(files: Vec<(&'static str, Vec<u8>)>) -> BTreeMap<String, Vec<u8>> {
    files
        .into_iter()
        .map(|(name, bytes)| (name.to_owned(), bytes))
        .collect()
}
