//! Reading through the drive returns the bytes of a local copy: with faults of the storage, with every way to read,
//! and with a damaged cache.

mod ahead;
mod cache;
mod commands;
mod faults;
mod modes;
mod passthrough;
mod repair;
mod user;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::fault_server::{Chance, FileServer};
use crate::support::{Fixture, ServeProcess, run, wait_until};

const MIB: usize = 1 << 20;

/// The smallest model: a triangle with embedded bytes.
fn triangle() -> Vec<u8> {
    json!({
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}], "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3",
                       "min": [0, 0, 0], "max": [1, 1, 0]}],
        "bufferViews": [{"buffer": 0, "byteLength": 36}],
        "buffers": [{"byteLength": 36, "uri": "data:application/octet-stream;base64,\
                     AAAAAAAAAAAAAAAAAAAAgD8AAAAAAAAAAAAAAAAAAIA/AAAAAA=="}]
    })
    .to_string()
    .into_bytes()
}

/// Uploads a model as another client would, so that nothing of it is on this disk.
fn send(service: &ServeProcess, name: &str, files: &[(&str, &[u8])]) -> u64 {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let id = runtime.block_on(async {
        let http = reqwest::Client::new();
        let api = |path: &str| format!("http://{}/api/v2/rawmodel/{path}", service.listens_on());
        let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
        let started: Value = http
            .post(api("api-upload/start"))
            .bearer_auth(service.token())
            .header("content-type", "application/json")
            .body(json!({"model_name": name, "filenames": names}).to_string())
            .send()
            .await
            .expect("the service answers")
            .bytes()
            .await
            .map(|body| serde_json::from_slice(&body).expect("JSON"))
            .expect("a body");
        for (name, content) in files {
            let url = started["links"]["s3_upload_urls"][*name]
                .as_str()
                .expect("a URL");
            let put = http.put(url).body(content.to_vec()).send().await;
            assert!(put.expect("stored").status().is_success());
        }
        let id = started["id"].as_u64().expect("an id");
        let completed = http
            .get(api(&format!("{id}/api-upload/complete")))
            .bearer_auth(service.token())
            .send()
            .await;
        assert!(completed.expect("completed").status().is_success());
        id
    });
    wait_until("the model is complete", || {
        service.get(&format!("api/v2/rawmodel/{id}"))["data"]["upload_status"] == "complete"
    });
    id
}

/// A drive with one model that has a large file of random bytes, served by a separate storage.
struct World {
    storage: FileServer,
    fixture: Fixture,
    content: Arc<Vec<u8>>,
    asset: u64,
}

impl World {
    fn new(len: usize, mount: &[&str]) -> World {
        let mut world = World::unmounted(len);
        world.fixture.mount(mount);
        world
    }

    fn unmounted(len: usize) -> World {
        let storage = FileServer::start();
        let fixture = Fixture::unmounted(&["--files-url", &storage.url()]);
        World::over(storage, fixture, len)
    }

    fn over(storage: FileServer, fixture: Fixture, len: usize) -> World {
        let content = Chance(5).bytes(len);
        let model = triangle();
        let files = [
            ("m.gltf", model.as_slice()),
            ("big.bin", content.as_slice()),
        ];
        let asset = send(&fixture.service, "m", &files);
        files.iter().for_each(|(name, it)| storage.put(name, it));
        for name in [
            "error.log",
            "info.log",
            "warning.log",
            "metrics.json",
            "rpd_info.json",
        ] {
            storage.put(name, b"{}");
        }
        World {
            storage,
            fixture,
            content: Arc::new(content),
            asset,
        }
    }

    fn big(&self) -> PathBuf {
        self.fixture.path("rawmodels/m/big.bin")
    }

    /// A folder on this disk with the same files, to be copied in.
    fn same_model(&self) -> PathBuf {
        let folder = self.fixture.scratch.path().join("same");
        fs::create_dir(&folder).expect("a folder");
        fs::write(folder.join("m.gltf"), triangle()).expect("a model");
        fs::write(folder.join("big.bin"), &*self.content).expect("its other file");
        folder
    }

    fn assert_whole(&self) {
        assert!(crate::support::read(self.big()) == *self.content);
    }

    fn cache_files(&self, extension: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.fixture.scratch.path().join("cache")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                match path.is_dir() {
                    true => folders.push(path),
                    false if path.extension().is_some_and(|it| it == extension) => found.push(path),
                    false => {}
                }
            }
        }
        found
    }

    fn status(&self) -> Value {
        let status = fs::read(self.fixture.path(".assetfs/status.json")).expect("it answers");
        serde_json::from_slice(&status).expect("JSON")
    }
}

/// Drops the kernel's cache of a file, so that the kernel asks the drive again.
fn forget_pages(file: &File) {
    rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed).expect("advice is taken");
}

fn peak_mib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    let kib: u64 = line
        .and_then(|line| line.split_whitespace().nth(1)?.parse().ok())
        .expect("a number");
    kib / 1024
}

/// A small disk; only root may mount one.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(dir: &Path, size: &str) -> Option<SmallDisk> {
        if !is_root() {
            crate::skip::skipped("this process is not root");
            return None;
        }
        run(Command::new("mount")
            .args([
                "-t",
                "tmpfs",
                "-o",
                &format!("size={size},mode=0700"),
                "assetfs-test",
            ])
            .arg(dir));
        Some(SmallDisk(dir.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// False, with a message, if the disk has too little free space for the cache; the test is then skipped.
fn cache_has_room() -> bool {
    let disk = rustix::fs::statvfs(std::env::temp_dir()).expect("a disk");
    let needed = (disk.f_blocks * disk.f_frsize / 100 * 6).min(6 << 30);
    let has_room = disk.f_bavail * disk.f_frsize > needed;
    if !has_room {
        crate::skip::skipped("less than 6 GiB of the disk is free");
    }
    has_room
}
