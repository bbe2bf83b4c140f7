//! A service on a free port for one test, and a small HTTP client that returns the whole reply.
//!
//! The worker is a shell script that a test writes, or the engine itself.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use assetfs::service::{
    BucketConfig, RecordsAt, RunningService, Service, ServiceConfig, WorkerCommand,
};
use reqwest::header::HeaderMap;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::s3::TestBucket;
use super::test_records::database_url;

/// Copies the task's first file to the result, and reports progress.
pub const COPYING_WORKER: &str = r#"
task=$(cat)
out=$(printf %s "$task" | sed 's/.*"output_dir":"\([^"]*\)".*/\1/')
in=$(printf %s "$task" | sed 's/.*"input_dir":"\([^"]*\)".*/\1/')
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
  cat "$in"/* > "$out/exports/chair.glb"
  echo '{"report":{"exports":[{"format":"glb","name":"chair.glb","parts":["chair.glb"],"size_bytes":5,"images":[{"channels":3,"compressed_byte_size":7,"width":4,"height":2,"mimetype":"image/png","slot":"baseColor"}]}],"files":[],"warnings":[],"source":{"triangles":0,"vertices":0,"meshes":0,"materials":0,"textures":0,"largest_texture":0,"bytes":0},"result":{"triangles":0,"vertices":0,"meshes":0,"materials":0,"textures":0,"largest_texture":0,"bytes":0}}}'
  ;;
esac
"#;

/// Optimizing records its run, waits until the file `go` exists, and writes a result. An analysis of a model whose name
/// contains `broken` fails.
pub const WAITING_WORKER: &str = r#"
task=$(cat)
here=$(dirname "$0")
out=$(printf %s "$task" | sed 's/.*"output_dir":"\([^"]*\)".*/\1/')
case "$task" in
*'"task":"optimize"'*)
  echo $$ >> "$here/runs"
  echo '{"percent":40,"step":"Simplifying"}'
  while ! test -e "$here/go"; do sleep 0.02; done
  mkdir -p "$out/exports"; echo x > "$out/exports/chair.glb" ;;
*broken*) echo '{"error":"no"}'; exit 1 ;;
esac
"#;

/// A service of one test and its data folder. With `ASSETFS_TEST_FILES=s3` its files are in a bucket.
pub struct Fixture {
    pub dir: TempDir,
    pub service: RunningService,
    pub http: reqwest::Client,
    pub bucket: Option<TestBucket>,
}

/// A stopped service of a test, with its data.
pub struct Stopped {
    pub dir: TempDir,
    pub bucket: Option<TestBucket>,
    http: reqwest::Client,
}

impl Stopped {
    /// Starts a service on the data.
    pub async fn start(self, worker: &str) -> Fixture {
        let settings = settings(self.dir.path(), worker, self.bucket.as_ref()).await;
        self.start_with(settings).await
    }

    pub async fn start_with(self, settings: ServiceConfig) -> Fixture {
        Fixture {
            service: Service::start(settings).await.unwrap(),
            dir: self.dir,
            http: self.http,
            bucket: self.bucket,
        }
    }
}

/// Settings of a service whose data are in the folder of a test, and whose files are in `bucket`, if there is one.
pub async fn settings(dir: &Path, worker: &str, bucket: Option<&TestBucket>) -> ServiceConfig {
    let mut settings = config(&dir.join("data"), script(dir, worker)).await;
    settings.bucket = bucket.map(super::bucket::config);
    settings
}

/// Whether all services of this run keep their files in a bucket.
pub fn files_are_in_a_bucket() -> bool {
    std::env::var_os("ASSETFS_TEST_FILES").is_some_and(|place| place == "s3")
}

/// Returns from the test, with a message, if the files are in a bucket: it is about the storage of the service itself.
#[macro_export]
macro_rules! needs_own_storage {
    () => {
        if $crate::support::files_are_in_a_bucket() {
            $crate::skip::skipped("ASSETFS_TEST_FILES is s3");
            return;
        }
    };
}

/// The signed URL of a file, in the answer to the start of an upload.
pub fn upload_url<'a>(started: &'a Value, name: &str) -> &'a str {
    let url = &started["links"]["s3_upload_urls"][name];
    url.as_str().unwrap_or_else(|| panic!("{started}"))
}

/// A whole reply.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| panic!("{}: {}", self.status, self.text()))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .unwrap_or_else(|| panic!("no {name}: {self:?}"))
            .to_str()
            .unwrap()
    }

    #[track_caller]
    pub fn expect(self, status: u16) -> Answer {
        assert_eq!(self.status.as_u16(), status, "{}", self.text());
        self
    }
}

/// Writes a worker program.
pub fn script(dir: &Path, text: &str) -> WorkerCommand {
    let program = dir.join("worker.sh");
    fs::write(&program, format!("#!/bin/sh\n{text}")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    WorkerCommand {
        program,
        args: Vec::new(),
    }
}

/// The engine itself.
pub fn engine() -> WorkerCommand {
    WorkerCommand {
        program: env!("CARGO_BIN_EXE_assetfs").into(),
        args: vec!["engine-worker".into()],
    }
}

/// The same for tests of files alone: drawing the views takes most of a job's time.
pub fn engine_without_pictures() -> WorkerCommand {
    let mut worker = engine();
    worker.args.push("--no-pictures".into());
    worker
}

/// The settings of a service on a data folder, with its records in the database that the tests use.
pub async fn config(data: &Path, worker: WorkerCommand) -> ServiceConfig {
    let mut config = ServiceConfig::new(data, worker);
    if let Some(url) = database_url(data).await {
        config.records = RecordsAt::Postgres(url.parse().unwrap());
    }
    config
}

impl Fixture {
    /// A service whose worker copies.
    pub async fn start() -> Fixture {
        Fixture::with(COPYING_WORKER, |_| {}).await
    }

    /// A service with its own worker and settings.
    pub async fn with(worker: &str, change: impl FnOnce(&mut ServiceConfig)) -> Fixture {
        let dir = tempfile::tempdir().unwrap();
        let mut config = config(&dir.path().join("data"), script(dir.path(), worker)).await;
        change(&mut config);
        let bucket = match files_are_in_a_bucket() && config.bucket.is_none() {
            true => Some(TestBucket::start()),
            false => None,
        };
        if let Some(bucket) = &bucket {
            config.bucket = Some(super::bucket::config(bucket));
        }
        let service = Service::start(config).await.unwrap();
        Fixture {
            dir,
            service,
            http: http_client(),
            bucket,
        }
    }

    /// The bucket with its files, for another service on the same records.
    pub fn bucket_config(&self) -> Option<BucketConfig> {
        self.bucket.as_ref().map(super::bucket::config)
    }

    /// Stops the service and keeps its data.
    pub async fn stop(self) -> Stopped {
        self.service.shutdown().await;
        Stopped {
            dir: self.dir,
            bucket: self.bucket,
            http: self.http,
        }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.service.addr())
    }

    pub async fn send(&self, request: reqwest::RequestBuilder) -> Answer {
        let response = request.send().await.unwrap();
        Answer {
            status: response.status(),
            headers: response.headers().clone(),
            body: response.bytes().await.unwrap().to_vec(),
        }
    }

    pub fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let request = self.http.request(method, self.url(path));
        request.header("authorization", format!("Bearer {}", self.service.token()))
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(self.request(Method::GET, path)).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send(self.request(Method::DELETE, path)).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.json(Method::POST, path, body).await
    }

    /// The JSON at a path.
    pub async fn get_json(&self, path: &str) -> Value {
        self.get(path).await.expect(200).json()
    }

    /// The JSON in the answer to a request that succeeds.
    pub async fn post_json(&self, path: &str, body: Value) -> Value {
        self.post(path, body).await.expect(200).json()
    }

    pub async fn json(&self, method: Method, path: &str, body: Value) -> Answer {
        let request = self
            .request(method, path)
            .header("content-type", "application/json");
        self.send(request.body(body.to_string())).await
    }

    /// Sends bytes to a signed URL.
    pub async fn put(&self, url: &str, bytes: &[u8]) -> Answer {
        // A storage wants the length of an empty body, too.
        let request = self.http.put(url).header("content-length", bytes.len());
        self.send(request.body(bytes.to_vec())).await
    }

    /// Reads a signed URL.
    pub async fn read(&self, url: &str) -> Answer {
        self.send(self.http.get(url)).await
    }

    /// Starts an upload; returns the id and the answer.
    pub async fn begin(&self, name: &str, files: &[&str]) -> (u64, Value) {
        let body = json!({ "model_name": name, "filenames": files });
        let answer = self
            .post_json("/api/v2/rawmodel/api-upload/start", body)
            .await;
        (answer["id"].as_u64().unwrap(), answer)
    }

    /// Completes an upload.
    pub async fn complete(&self, id: u64) -> Answer {
        let path = format!("/api/v2/rawmodel/{id}/api-upload/complete");
        self.get(&path).await
    }

    /// Uploads a model and asks for an optimization; returns its id.
    pub async fn optimize_one(&self) -> u64 {
        let asset = self.upload("chair", &[("a.glb", b"x")]).await;
        self.optimize(asset).await
    }

    /// Asks for an optimization; returns its id.
    pub async fn optimize(&self, asset: u64) -> u64 {
        let path = format!("/api/v2/rawmodel/optimize/{asset}");
        let asked = self.post_json(&path, json!({})).await;
        asked["id"].as_u64().unwrap()
    }

    /// The process ids of the optimizations that `WAITING_WORKER` has begun.
    pub fn runs(&self) -> Vec<String> {
        runs(self.dir.path())
    }

    /// Waits until `WAITING_WORKER` has begun this many optimizations.
    pub async fn until_runs(&self, count: usize) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.runs().len() != count {
            assert!(
                Instant::now() < deadline,
                "never {count} runs: {:?}",
                self.runs()
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Lets `WAITING_WORKER` finish.
    pub fn go(&self) {
        fs::write(self.dir.path().join("go"), "").unwrap();
    }

    /// Uploads an asset whose analysis has ended.
    pub async fn upload(&self, name: &str, files: &[(&str, &[u8])]) -> u64 {
        let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
        let (id, started) = self.begin(name, &names).await;
        for (name, bytes) in files {
            let url = upload_url(&started, name);
            self.put(url, bytes).await.expect(200);
        }
        self.complete(id).await.expect(200);
        self.analysed(id).await;
        id
    }

    /// The detail form of an asset once its analysis has ended.
    pub async fn analysed(&self, id: u64) -> Value {
        let path = format!("/api/v2/rawmodel/{id}");
        self.until(&path, |record| {
            let status = record["data"]["upload_status"].as_str().unwrap();
            status == "complete" || status.contains("ailed")
        })
        .await["data"]
            .clone()
    }

    /// The full form of a rapid model once its optimization has ended.
    pub async fn optimized(&self, id: u64) -> Value {
        let path = format!("/api/v2/rapidmodel/{id}");
        self.until(&path, |record| {
            record["data"]["optimization_status"] != "sent_to_queue"
        })
        .await["data"]
            .clone()
    }

    /// Repeats a request until the reply is as wanted.
    pub async fn until(&self, path: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + Duration::from_secs(300);
        let mut pause = Duration::from_millis(10);
        loop {
            let answer = self.get_json(path).await;
            if wanted(&answer) {
                return answer;
            }
            assert!(Instant::now() < deadline, "never as wanted: {answer}");
            tokio::time::sleep(pause).await;
            pause = (pause * 3 / 2).min(Duration::from_millis(500));
        }
    }
}

/// The process ids of the optimizations that the worker in this folder has begun.
pub fn runs(dir: &Path) -> Vec<String> {
    let runs = fs::read_to_string(dir.join("runs")).unwrap_or_default();
    runs.lines().map(str::to_owned).collect()
}

/// A client for requests of tests.
pub fn http_client() -> reqwest::Client {
    // Fails if another test has already installed it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().unwrap()
}

/// The blobs in a data folder, sorted. The file `owner` beside them says whose they are.
pub fn blobs(data: &Path) -> Vec<String> {
    let mut names = Vec::new();
    add_files(&data.join("files"), "", &mut names);
    names.retain(|name| name.contains('/'));
    names.sort();
    names
}

/// The names of all files below a folder.
pub fn add_files(dir: &Path, prefix: &str, names: &mut Vec<String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        if entry.path().is_dir() {
            add_files(&entry.path(), &format!("{name}/"), names);
        } else {
            names.push(name);
        }
    }
}
