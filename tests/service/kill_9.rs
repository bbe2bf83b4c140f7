//! A service that is killed in the middle of its work, and started again.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::square_glb::numbered_glb;
use super::support::{add_files, upload_url};

/// A service in a process of its own.
pub struct Process {
    child: Child,
    base_url: String,
    token: String,
    http: reqwest::Client,
}

impl Process {
    pub fn start(data: &Path) -> Process {
        Process::start_with(data, &[])
    }

    fn start_with(data: &Path, more: &[&str]) -> Process {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut child = Command::new(env!("CARGO_BIN_EXE_assetfs"))
            .args([
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--json",
                "--retry-webhooks",
            ])
            .args(more)
            .arg("--data")
            .arg(data)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let account = std::fs::read(data.join("account.json")).unwrap();
        let account: Value = serde_json::from_slice(&account).unwrap();
        let base_url = said["base_url"].as_str().unwrap().trim_end_matches('/');
        Process {
            child,
            base_url: base_url.to_owned(),
            token: account["token"].as_str().unwrap().to_owned(),
            http: reqwest::Client::builder().no_proxy().build().unwrap(),
        }
    }

    async fn get(&self, path: &str) -> Value {
        let request = self.http.get(format!("{}{path}", self.base_url));
        self.send(request).await
    }

    pub fn request(&self, method: reqwest::Method, path: &str) -> reqwest::RequestBuilder {
        self.http
            .request(method, format!("{}{path}", self.base_url))
    }

    pub async fn send(&self, request: reqwest::RequestBuilder) -> Value {
        let request = request.header("authorization", format!("Bearer {}", self.token));
        let answer = request.send().await.unwrap().error_for_status().unwrap();
        serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap()
    }

    async fn until(&self, path: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + Duration::from_secs(300);
        loop {
            let answer = self.get(path).await;
            if wanted(&answer["data"]) {
                return answer["data"].clone();
            }
            assert!(Instant::now() < deadline, "never as wanted: {answer}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Kills it.
    pub fn kill(self) {
        drop(self);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// The worker processes that a process has started.
fn workers_of(parent: u32) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let status = std::fs::read_to_string(entry.path().join("status")).unwrap_or_default();
        if status.contains(&format!("\nPPid:\t{parent}\n")) {
            found.push(pid);
        }
    }
    found
}

#[tokio::test]
async fn a_killed_service_takes_its_workers_along_and_ends_their_jobs_next_time() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let service = Process::start(&data);
    let model = dir.path().join("model");
    assetfs_engine::sample::write_chair(&model).unwrap();
    let mut names = Vec::new();
    add_files(&model, "", &mut names);
    let body = json!({ "model_name": "chair", "filenames": names }).to_string();
    let start = format!("{}/api/v2/rawmodel/api-upload/start", service.base_url);
    let started = service.send(service.http.post(start).body(body)).await;
    for name in &names {
        let url = upload_url(&started, name);
        let bytes = std::fs::read(model.join(name)).unwrap();
        let put = service.http.put(url).body(bytes).send().await.unwrap();
        assert!(put.status().is_success());
    }
    let id = started["id"].as_u64().unwrap();
    let complete = format!("/api/v2/rawmodel/{id}/api-upload/complete");
    service.get(&complete).await;
    let path = format!("/api/v2/rawmodel/{id}");
    service
        .until(&path, |asset| asset["upload_status"] == "analysing")
        .await;
    let deadline = Instant::now() + Duration::from_secs(30);
    let workers = loop {
        let workers = workers_of(service.child.id());
        if !workers.is_empty() || Instant::now() > deadline {
            break workers;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert_eq!(workers.len(), 1);
    service.kill();
    let worker = format!("/proc/{}/cmdline", workers[0]);
    let deadline = Instant::now() + Duration::from_secs(10);
    while std::fs::read(&worker).is_ok_and(|text| !text.is_empty()) {
        assert!(Instant::now() < deadline, "the worker lives on");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let service = Process::start(&data);
    let asset = service
        .until(&path, |asset| {
            let status = asset["upload_status"].as_str().unwrap();
            status == "complete" || status.contains("ailed")
        })
        .await;
    assert_eq!(asset["upload_status"], "complete", "{asset}");
    let downloads = service.get(&format!("{path}/downloads")).await;
    assert_eq!(downloads.as_object().unwrap().len(), names.len());
    service.kill();
}

#[tokio::test]
async fn a_service_that_is_killed_between_a_result_and_its_pictures_draws_them_next_time() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let service = Process::start_with(&data, &["--pictures", "later"]);
    let body = json!({ "model_name": "square", "filenames": ["square.glb"] }).to_string();
    let start = format!("{}/api/v2/rawmodel/api-upload/start", service.base_url);
    let started = service.send(service.http.post(start).body(body)).await;
    let url = &started["links"]["s3_upload_urls"]["square.glb"];
    let put = service.http.put(url.as_str().unwrap());
    let put = put.body(numbered_glb(1)).send().await.unwrap();
    assert!(put.status().is_success());
    let id = started["id"].as_u64().unwrap();
    let complete = format!("/api/v2/rawmodel/{id}/api-upload/complete");
    service.get(&complete).await;
    let is_complete = |asset: &Value| asset["upload_status"] == "complete";
    service
        .until(&format!("/api/v2/rawmodel/{id}"), is_complete)
        .await;
    let path = format!("/api/v2/rawmodel/optimize/{id}");
    let body = json!({ "config": {} }).to_string();
    let asked = service.request(reqwest::Method::POST, &path).body(body);
    let asked = service
        .send(asked.header("content-type", "application/json"))
        .await;
    let path = format!("/api/v2/rapidmodel/{}", asked["id"]);
    let is_done = |rapid: &Value| rapid["optimization_status"] == "done";
    let score = |rapid: &Value| rapid["meta"]["qc"][0]["glb"]["avgScore"].clone();
    let rapid = service.until(&path, is_done).await;
    assert!(!score(&rapid).is_number(), "{rapid}");
    assert!(rapid["downloads"]["glb"].is_string(), "{rapid}");
    service.kill();
    let service = Process::start(&data);
    let has_score = |rapid: &Value| score(rapid).is_number();
    let rapid = service.until(&path, has_score).await;
    assert_eq!(rapid["optimization_status"], "done");
    service.kill();
}
