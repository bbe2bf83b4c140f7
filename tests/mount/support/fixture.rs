//! A mounted drive and its service in temporary folders.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use super::ASSETFS;
use super::models::{model, small_chair};
use super::service::ServeProcess;
use crate::s3::TestBucket;

use super::shell::{assetfs, run, text, wait_until};

/// A mounted drive and its service in temporary folders; drop removes everything.
pub struct Fixture {
    // Dropped in this order: mount, service, folders.
    mount: Option<MountPoint>,
    pub service: ServeProcess,
    pub scratch: TempDir,
}

/// A mount; drop unmounts it.
pub struct MountPoint(pub PathBuf);

/// The drive of another machine with the same account.
pub struct SecondMachine {
    // Unmounted before the folder is removed.
    _mount: MountPoint,
    dir: TempDir,
}

impl SecondMachine {
    /// The path of its drive.
    pub fn root(&self) -> PathBuf {
        self.dir.path().join("mnt")
    }
}

fn scratch() -> TempDir {
    let mut builder = tempfile::Builder::new();
    builder.prefix("assetfs-test").tempdir().expect("a folder")
}

impl Drop for MountPoint {
    fn drop(&mut self) {
        let unmounted = assetfs("unmount --now", &self.0).output();
        if !unmounted.is_ok_and(|output| output.status.success()) {
            let _ = Command::new("umount").arg("-l").arg(&self.0).output();
        }
    }
}

impl Fixture {
    /// A service and a mounted drive with a short settle time.
    pub fn new() -> Fixture {
        Fixture::with(&[], &[])
    }

    pub fn with(serve: &[&str], mount: &[&str]) -> Fixture {
        let mut fixture = Fixture::unmounted(serve);
        fixture.mount(mount);
        fixture
    }

    /// The service alone.
    pub fn unmounted(serve: &[&str]) -> Fixture {
        Fixture::over(scratch(), serve)
    }

    /// The service alone, with a plan of faults.
    pub fn unmounted_with_chaos(plan: &str, serve: &[&str]) -> Fixture {
        let scratch = scratch();
        let path = scratch.path().join("chaos.toml");
        fs::write(&path, plan).expect("written");
        let chaos = path.to_str().expect("a plain path");
        let args = [serve, &["--chaos", chaos]].concat();
        Fixture::over(scratch, &args)
    }

    /// A drive of a service that renders all pictures, which is slow.
    pub fn with_pictures() -> Fixture {
        let scratch = scratch();
        let service = ServeProcess::start(&scratch.path().join("service"), &[]);
        let mut fixture = Fixture {
            mount: None,
            service,
            scratch,
        };
        fixture.mount(&[]);
        fixture
    }

    /// The service alone, with its files in a bucket.
    pub fn unmounted_in_bucket(bucket: &TestBucket, serve: &[&str]) -> Fixture {
        let url = bucket.url();
        let args = [serve, &["--files", &url]].concat();
        Fixture::over_with(scratch(), &args, &bucket.variables())
    }

    fn over(scratch: TempDir, serve: &[&str]) -> Fixture {
        Fixture::over_with(scratch, serve, &[])
    }

    fn over_with(scratch: TempDir, serve: &[&str], variables: &[(&str, String)]) -> Fixture {
        let args = [serve, &["--no-pictures"]].concat();
        let data = scratch.path().join("service");
        let service = ServeProcess::start_with(&data, &args, variables);
        Fixture {
            mount: None,
            service,
            scratch,
        }
    }

    /// The number of planned faults that happened so far.
    pub fn chaos_fired(&self) -> usize {
        self.service.chaos_fired()
    }

    /// Mounts the same account as another machine would: no local state is shared.
    pub fn second_machine(&self) -> SecondMachine {
        let dir = scratch();
        let place = |name: &str| dir.path().join(name);
        run(Command::new(ASSETFS)
            .arg("mount")
            .arg(place("mnt"))
            .args(["--base-url", &self.service.base_url])
            .arg("--state-dir")
            .arg(place("state"))
            .arg("--cache-dir")
            .arg(place("cache"))
            .env("ASSETFS_TOKEN", self.service.token())
            .env("ASSETFS_SETTLE", "300ms")
            .env("ASSETFS_REFRESH", "1s"));
        SecondMachine {
            _mount: MountPoint(place("mnt")),
            dir,
        }
    }

    /// The mount point.
    pub fn root(&self) -> PathBuf {
        self.scratch.path().join("mnt")
    }

    pub fn path(&self, below: &str) -> PathBuf {
        self.root().join(below)
    }

    /// The mount command with the folders of this fixture.
    pub fn mount_command(&self, extra: &[&str]) -> Command {
        let mut command = Command::new(ASSETFS);
        command
            .arg("mount")
            .arg(self.root())
            .args(["--base-url", &self.service.base_url])
            .arg("--state-dir")
            .arg(self.scratch.path().join("state"))
            .arg("--cache-dir")
            .arg(self.scratch.path().join("cache"))
            .arg("--log-file")
            .arg(self.scratch.path().join("mount.log"))
            .args(extra)
            .env("ASSETFS_TOKEN", self.service.token())
            .env("ASSETFS_SETTLE", "300ms")
            .env("ASSETFS_REFRESH", "1s")
            // Refusals of tests are not for the desktop of who runs them.
            .env("ASSETFS_NO_NOTIFY", "true")
            .env("ASSETFS_LOG", "assetfs=debug");
        command
    }

    /// Mounts; an earlier mount may have been unmounted or have died. Returns the messages of the command.
    pub fn mount(&mut self, extra: &[&str]) -> String {
        self.mount_with(extra, &[])
    }

    /// The same, with extra environment variables.
    pub fn mount_with(&mut self, extra: &[&str], variables: &[(&str, &str)]) -> String {
        // Its drop would unmount the new mount.
        std::mem::forget(self.mount.take());
        let mut command = self.mount_command(extra);
        let output = command.envs(variables.iter().copied()).output();
        let output = output.expect("assetfs runs");
        assert!(
            output.status.success(),
            "mount failed: {}",
            text(&output.stderr)
        );
        self.mount = Some(MountPoint(self.root()));
        text(&output.stderr)
    }

    /// The process id of the mount.
    pub fn pid(&self) -> u32 {
        u32::try_from(self.status()["pid"].as_u64().expect("a pid")).expect("a pid")
    }

    /// The drive's `.assetfs/status.json`.
    pub fn status(&self) -> Value {
        let status = fs::read(self.path(".assetfs/status.json")).expect("the drive answers");
        serde_json::from_slice(&status).expect("JSON")
    }

    /// Kills the process of the mount and waits until it has ended.
    pub fn kill_mount(&self) {
        let pid = self.pid();
        run(Command::new("kill").args(["-9", &pid.to_string()]));
        self.wait_until_dead();
    }

    /// Waits until the process of the mount has ended and the kernel has noticed it.
    pub fn wait_until_dead(&self) {
        const ENOTCONN: i32 = 107;
        wait_until("the mount is dead", || {
            let asked = fs::read(self.path(".assetfs/status.json"));
            asked.is_err_and(|error| error.raw_os_error() == Some(ENOTCONN))
        });
    }

    /// Copies a file or a folder into the drive.
    pub fn copy_in(&self, source: impl AsRef<Path>, below: &str) {
        let mut copy = Command::new("cp");
        run(copy.arg("-r").arg(source.as_ref()).arg(self.path(below)));
    }

    /// Copies the small chair to `rawmodels/chair`; returns the source folder.
    pub fn copy_chair(&self) -> PathBuf {
        let source = small_chair(self.scratch.path());
        self.copy_in(&source, "rawmodels/chair");
        source
    }

    /// The same, and waits until it is complete.
    pub fn add_chair(&self) -> PathBuf {
        let source = self.copy_chair();
        self.wait("rawmodels/chair");
        source
    }

    /// Copies the real model to `rawmodels/model` and waits until it is complete.
    pub fn add_model(&self) {
        let source = model(self.scratch.path());
        self.copy_in(&source, "rawmodels/model");
        self.wait("rawmodels/model");
    }

    /// Runs `assetfs wait`, which must succeed.
    pub fn wait(&self, below: &str) {
        let output = self.try_wait(below);
        assert!(
            output.status.success(),
            "wait {below}: {} {}\n{}",
            text(&output.stdout),
            text(&output.stderr),
            self.log_tail()
        );
    }

    pub fn try_wait(&self, below: &str) -> Output {
        Command::new(ASSETFS)
            .arg("wait")
            .arg(self.path(below))
            .args(["--timeout", "110s"])
            .output()
            .expect("assetfs runs")
    }

    pub fn why(&self, below: &str) -> String {
        let output = assetfs("why", self.path(below))
            .output()
            .expect("assetfs runs");
        text(&output.stdout)
    }

    /// The mount's log.
    pub fn log(&self) -> String {
        fs::read_to_string(self.scratch.path().join("mount.log")).unwrap_or_default()
    }

    /// The end of it, for failure messages.
    pub fn log_tail(&self) -> String {
        let log = self.log();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(60)..].join("\n")
    }

    /// The only asset of the account.
    pub fn only_asset(&self) -> Value {
        let assets = self.service.assets();
        assert_eq!(assets.len(), 1, "exactly one asset: {assets:#?}");
        assets.into_iter().next().expect("one")
    }

    /// The sorted names of an asset's files on the service.
    pub fn uploaded_names(&self, asset: &Value) -> Vec<String> {
        let downloads = self
            .service
            .get(&format!("api/v2/rawmodel/{}/downloads", asset["id"]));
        let mut names: Vec<_> = downloads
            .as_object()
            .expect("a map")
            .keys()
            .cloned()
            .collect();
        names.sort();
        names
    }
}
