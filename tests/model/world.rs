//! One account for one history: the service on a runtime of its own, and drives that can be killed.
//!
//! Each drive and each start of the service has a runtime: ending that ends all tasks where they stand, as a kill does.
//! The worker is a shell script, because the histories are about the drive and not about the engine.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assetfs::client::{Client, ClientConfig};
use assetfs::service::{ChaosPlan, WorkerCommand};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::history::{Fault, Stop};
use crate::support::account::{Account, Mounted};

/// Why the worker fails.
pub const FAILURE: &str = "this model is not to be optimized";

/// Writes what the engine would write, without reading the model.
const WORKER: &str = r#"#!/bin/sh
read -r task
out=${task#*'"output_dir":"'}
out=${out%%'"'*}
echo '{"triangles":12}' > "$out/rpd_info.json"
echo '{}' > "$out/metrics.json"
echo 'read the model' > "$out/info.log"
: > "$out/warning.log"
: > "$out/error.log"
printf thumb > "$out/thumb.jpg"
case "$task" in
# The configuration that fails, see `Content::fails`.
*'"task":"optimize"'*'"percentage":5'[.}]*)
  echo '{"error":"REASON"}'
  exit 1
  ;;
*'"task":"optimize"'*)
  mkdir "$out/exports"
  printf glb > "$out/exports/result.glb"
  echo '{"report":{"exports":[{"format":"glb","name":"result.glb","parts":["result.glb"],"size_bytes":3,"images":[]}],"files":[],"warnings":[],"source":{"triangles":0,"vertices":0,"meshes":0,"materials":0,"textures":0,"largest_texture":0,"bytes":0},"result":{"triangles":0,"vertices":0,"meshes":0,"materials":0,"textures":0,"largest_texture":0,"bytes":0}}}'
  ;;
esac
"#;

/// A folder in memory if possible: a kill of a process loses nothing that a disk would keep.
fn scratch() -> TempDir {
    let shm = Path::new("/dev/shm");
    let mut builder = tempfile::Builder::new();
    builder.prefix("assetfs-model");
    let dir = match shm.is_dir() {
        true => builder.tempdir_in(shm),
        false => builder.tempdir(),
    };
    dir.expect("a temporary folder")
}

pub fn runtime() -> Runtime {
    let built = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build();
    built.expect("a runtime")
}

/// A client that gives up soon, so that histories with faults are short.
pub fn client(account: &Account) -> Client {
    let mut config = ClientConfig::new(&format!("http://{}", account.service_addr()))
        .expect("a base URL")
        .with_token(account.token());
    config.requests_per_minute = 1_000_000;
    config.retries.first_pause = Duration::from_millis(5);
    config.retries.longest_pause = Duration::from_millis(50);
    config.retries.background_patience = Duration::from_secs(1);
    config.retries.interactive_patience = Duration::from_secs(1);
    Client::new(config).expect("a client")
}

/// The refresh time of a drive whose account nobody else changes, and of one that has to see what others do.
pub const ALONE: Duration = Duration::from_millis(200);
pub const TOGETHER: Duration = Duration::from_millis(20);

/// What a new account has.
pub const POINTS: u64 = 1_000_000;

pub struct World {
    account: Account,
    service: Option<Runtime>,
}

impl World {
    pub fn new() -> World {
        let dir = scratch();
        let program = dir.path().join("worker.sh");
        std::fs::write(&program, WORKER.replace("REASON", FAILURE)).expect("a worker");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&program, mode).expect("a program");
        let worker = WorkerCommand {
            program,
            args: Vec::new(),
        };
        let service = runtime();
        let account = service.block_on(Account::in_folder(dir, worker, |config| {
            config.requests_per_minute = 1_000_000;
            config.workers = 2;
        }));
        World {
            account,
            service: Some(service),
        }
    }

    pub fn account(&self) -> &Account {
        &self.account
    }

    /// A folder that ends with the history.
    pub fn folder(&self, name: &str) -> PathBuf {
        let folder = self.account.dir.path().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        folder
    }

    pub fn base_url(&self) -> String {
        format!("http://{}", self.account.service_addr())
    }

    /// Opens the drive of a machine.
    pub fn mount(&self, state: &str, refresh: Duration) -> Machine {
        let runtime = runtime();
        let mounted = runtime.block_on(self.account.mount_changed(
            client(&self.account),
            state,
            |outbox| {
                outbox.settle = Duration::from_secs(3600);
                outbox.look_for_lost = Duration::from_secs(1);
                outbox.answer_within = Duration::from_millis(300);
                outbox.first_poll = Duration::from_millis(5);
            },
            |drive| {
                drive.refresh = refresh;
                drive.delete_limit = u32::MAX;
                // No part that `rm -r` has hidden comes back because the machine is busy.
                drive.restore_after = Duration::from_secs(300);
            },
        ));
        Machine { runtime, mounted }
    }

    pub fn set_fault(&mut self, fault: Option<Fault>) {
        let plan = fault.map(|it| ChaosPlan::parse(&it.plan()).expect("a plan"));
        self.account.set_faults(plan);
    }

    /// It works on one thread, which sleeps.
    pub fn stop_service(&self, stop: Stop) {
        let service = self.service.as_ref().expect("the service runs");
        service.spawn(async move {
            tokio::time::sleep(Duration::from_millis(stop.after)).await;
            std::thread::sleep(Duration::from_millis(stop.length));
        });
    }

    pub fn kill_service(&mut self) {
        self.account.kill_service();
        if let Some(runtime) = self.service.take() {
            runtime.shutdown_timeout(Duration::from_secs(5));
        }
    }

    pub fn start_service(&mut self) {
        let runtime = runtime();
        runtime.block_on(self.account.start_service());
        self.service = Some(runtime);
    }
}

/// A drive in the runtime that is its process.
pub struct Machine {
    runtime: Runtime,
    mounted: Mounted,
}

impl Machine {
    /// Runs the calls of a program on the drive.
    pub fn run<T>(&self, calls: impl AsyncFnOnce(&Mounted) -> T) -> T {
        self.runtime.block_on(calls(&self.mounted))
    }

    /// Ends it as a kill does.
    pub fn kill(self) {
        let Machine { runtime, mounted } = self;
        runtime.shutdown_timeout(Duration::from_secs(5));
        drop(mounted);
    }

    /// Ends it as `assetfs unmount` does.
    pub fn close(self) {
        let Machine { runtime, mounted } = self;
        runtime.block_on(mounted.close());
    }
}
