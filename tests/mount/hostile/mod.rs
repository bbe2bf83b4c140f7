//! A malicious service: its names, pages and bodies. Everything that can be is listed, read and deleted; nothing
//! leaves its folder, and nothing crashes the drive.

mod bodies;
mod names;
mod service;

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::fault_server::{FaultServer, Reply};
use crate::support::{ASSETFS, MountPoint, run};

/// A drive of such a service.
struct Mounted {
    // Unmounted before the folder is removed.
    mount: MountPoint,
    service: FaultServer,
    scratch: TempDir,
}

impl Mounted {
    fn over(service: FaultServer, extra: &[&str]) -> Mounted {
        let scratch = tempfile::tempdir().unwrap();
        let place = |name: &str| scratch.path().join(name);
        run(Command::new(ASSETFS)
            .arg("mount")
            .arg(place("mnt"))
            .args(["--base-url", &service.url(), "--refresh", "1s"])
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

    /// The peak memory of the mount's process without mapped files, in MiB.
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

fn file() -> Reply {
    let etag = "\"5d41402abc4b2a76b9719d911017c592\"";
    Reply::new(200, &[("etag", etag)], "hello")
}
