//! A user without rights, who mounts a drive of its own.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use super::World;
use crate::support::{ASSETFS, run};

/// A user without rights, in a mount namespace with its own `/dev/fuse`. udev lets every user open it; many containers
/// give it to root alone.
pub(super) struct User {
    namespace: Child,
    pub(super) home: PathBuf,
    token: OsString,
}

impl User {
    pub(super) fn new(world: &World, mode_of_device: &str) -> User {
        let scratch = world.fixture.scratch.path();
        run(Command::new("chmod").arg("755").arg(scratch));
        let home = scratch.join("user");
        fs::create_dir(&home).expect("a folder");
        run(Command::new("chown").arg("nobody").arg(&home));
        fs::copy(ASSETFS, home.join("assetfs")).expect("a copy that the user may run");
        User {
            namespace: namespace_with_device(&scratch.join("fuse"), mode_of_device),
            home,
            token: world.fixture.service.token().into(),
        }
    }

    pub(super) fn mount_point(&self) -> PathBuf {
        self.home.join("mnt")
    }

    pub(super) fn mount(&self, world: &World) -> Output {
        let mut mount = self.assetfs();
        mount.arg("mount").arg(self.mount_point());
        mount.args(["--base-url", &world.fixture.service.base_url]);
        mount.arg("--state-dir").arg(self.home.join("state"));
        mount.arg("--cache-dir").arg(self.home.join("cache"));
        self.run(&mount)
    }

    pub(super) fn assetfs(&self) -> Command {
        Command::new(self.home.join("assetfs"))
    }

    pub(super) fn cat(&self, path: &Path) -> Vec<u8> {
        self.run(Command::new("cat").arg(path)).stdout
    }

    pub(super) fn run(&self, command: &Command) -> Output {
        self.command(command).output().expect("nsenter runs")
    }

    pub(super) fn big(&self) -> PathBuf {
        self.mount_point().join("rawmodels/m/big.bin")
    }

    /// The command as this user, in its mount namespace.
    pub(super) fn command(&self, command: &Command) -> Command {
        let mut entered = Command::new("nsenter");
        entered
            .arg(format!("--mount=/proc/{}/ns/mnt", self.namespace.id()))
            .args(["setpriv", "--reuid=nobody", "--regid=nogroup"])
            .args(["--clear-groups", "timeout", "60"])
            .arg(command.get_program())
            .args(command.get_args())
            .env("HOME", &self.home)
            .env("ASSETFS_TOKEN", &self.token);
        entered
    }
}

impl Drop for User {
    fn drop(&mut self) {
        // The mounts in the namespace end with its last process.
        let _ = self.namespace.kill();
        let _ = self.namespace.wait();
    }
}

/// A process in its own mount namespace, where `/dev/fuse` is a device made at `node` with this mode.
fn namespace_with_device(node: &Path, mode: &str) -> Child {
    let node = node.display();
    // The drives of other tests would live on here when they are unmounted.
    let alone = "grep fuse.assetfs /proc/self/mountinfo | cut -d' ' -f5 | xargs -r -n 1 umount -l";
    let script = format!(
        "{alone} || true; mknod {node} c 10 229; chmod {mode} {node}; mount --bind {node} /dev/fuse; echo ready; exec sleep 300"
    );
    let mut holder = Command::new("unshare")
        .args(["--mount", "sh", "-ec", &script])
        .stdout(Stdio::piped())
        .spawn()
        .expect("unshare runs");
    let mut ready = String::new();
    let output = holder.stdout.take().expect("a pipe");
    BufReader::new(output)
        .read_line(&mut ready)
        .expect("a line");
    assert_eq!(ready, "ready\n");
    holder
}
