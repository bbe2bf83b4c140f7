//! A service that means harm: its names, its pages and its bodies. What can be is listed, read and deleted; nothing leaves
//! its folder, and nothing takes the drive with it.

mod bodies;
mod names;
mod service;

use std::fs;
use std::path::Path;
use std::process::Command;

use axum::body::Body;
use axum::http::{Response, header};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{ASSETFS, MountPoint, run};
use service::HostileService;

/// The drive over such a service.
struct Mounted {
    // Unmounted before its folder goes.
    mount: MountPoint,
    service: HostileService,
    scratch: TempDir,
}

impl Mounted {
    fn over(service: HostileService, extra: &[&str]) -> Mounted {
        let scratch = tempfile::tempdir().unwrap();
        let place = |name: &str| scratch.path().join(name);
        run(Command::new(ASSETFS)
            .arg("mount")
            .arg(place("mnt"))
            .args(["--base-url", &service.base_url, "--refresh", "1s"])
            .arg("--state-dir")
            .arg(place("state"))
            .arg("--cache-dir")
            .arg(place("cache"))
            .args(extra)
            .env("ASSETFS_TOKEN", "1|hostile"));
        Mounted {
            mount: MountPoint(place("mnt")),
            service,
            scratch,
        }
    }

    fn root(&self) -> &Path {
        &self.mount.0
    }

    /// The most memory that the process behind the mount has had, without its files, in MiB.
    fn memory_mib(&self) -> u64 {
        let status: Value =
            serde_json::from_slice(&fs::read(self.root().join(".assetfs/status.json")).unwrap())
                .unwrap();
        let status = fs::read_to_string(format!("/proc/{}/status", status["pid"])).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("RssAnon"))
            .unwrap();
        line.split_whitespace()
            .nth(1)
            .unwrap()
            .parse::<u64>()
            .unwrap()
            / 1024
    }
}

fn file() -> Response<Body> {
    let response = Response::builder().header(header::ETAG, "\"5d41402abc4b2a76b9719d911017c592\"");
    response.body(Body::from("hello")).unwrap()
}
