//! A drive in a process of its own, mounted: the calls go through the kernel, and a kill is `kill -9`.

use std::fs;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::os::fd::IntoRawFd as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::fs::{XattrFlags, getxattr, setxattr};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

use super::calls::{Calls, Kind, Position};
use super::{Ending, Front, drive, picture};
use crate::history::{ActorId, Op, Process};
use crate::model::{Model, Outcome};
use crate::world::World;

const ASSETFS: &str = env!("CARGO_BIN_EXE_assetfs");

fn errno(error: io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

/// A mount; drop unmounts it.
pub struct KernelFront {
    actor: ActorId,
    root: PathBuf,
    process: Pid,
}

impl KernelFront {
    pub fn new(world: &World, actor: ActorId) -> KernelFront {
        let root = world.folder(&format!("mnt{actor}"));
        let process = mount(world, actor, &root);
        KernelFront {
            actor,
            root,
            process,
        }
    }

    /// Works on an operation while the drive's process is stopped, if it says so.
    pub fn stopping_for<T>(&self, op: &Op, work: impl FnOnce() -> T) -> T {
        let Op::Stopped(stop, _) = op else {
            return work();
        };
        let signal = |signal| kill_process(self.process, signal).expect("it runs");
        std::thread::scope(|scope| {
            if stop.process == Process::Drive {
                scope.spawn(|| {
                    std::thread::sleep(Duration::from_millis(stop.after));
                    signal(Signal::STOP);
                    std::thread::sleep(Duration::from_millis(stop.length));
                    signal(Signal::CONT);
                });
            }
            work()
        })
    }

    fn kill(&self) {
        kill_process(self.process, Signal::KILL).expect("it runs");
    }

    fn unmount(&self) {
        run(Command::new(ASSETFS)
            .args(["unmount", "--now"])
            .arg(&self.root));
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }
}

/// Mounts a drive and returns its process.
fn mount(world: &World, actor: ActorId, root: &Path) -> Pid {
    let state = world.folder(&format!("state{actor}"));
    let mut command = Command::new(ASSETFS);
    command
        .arg("mount")
        .arg(root)
        .args(["--base-url", &world.base_url(), "--settle", "1h"])
        .args(["--refresh", "50ms", "--delete-limit", "1000000"])
        .arg("--state-dir")
        .arg(state.join("state"))
        .arg("--cache-dir")
        .arg(state.join("cache"))
        .arg("--no-inotify")
        .env("HOME", &state)
        .env("ASSETFS_TOKEN", world.account().token().expose());
    run(&mut command);
    let status = fs::read_to_string(root.join(".assetfs/status.json")).expect("a status");
    let status: serde_json::Value = serde_json::from_str(&status).expect("JSON");
    let pid = status["pid"].as_i64().expect("a process") as i32;
    Pid::from_raw(pid).expect("a process")
}

fn run(command: &mut Command) {
    let output = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
}

impl Drop for KernelFront {
    fn drop(&mut self) {
        let mut command = Command::new(ASSETFS);
        let unmounted = command.args(["unmount", "--now"]).arg(&self.root).output();
        if !unmounted.is_ok_and(|output| output.status.success()) {
            let _ = Command::new("umount").arg("-l").arg(&self.root).output();
        }
    }
}

fn written(file: io::Result<fs::File>, at: Option<SeekFrom>, bytes: &[u8]) -> Result<(), Errno> {
    let mut file = file.map_err(errno)?;
    if let Some(at) = at {
        file.seek(at).map_err(errno)?;
    }
    let written = file.write_all(bytes).map_err(errno);
    let closed = closed(file);
    written.and(closed)
}

/// The error of `close`, which a drop ignores.
fn closed(file: fs::File) -> Result<(), Errno> {
    let fd = file.into_raw_fd();
    // SAFETY: the descriptor is owned, and nothing uses it any more.
    #[expect(unsafe_code, reason = "no safe call returns the error of `close`")]
    let result = unsafe { libc::close(fd) };
    match result {
        0 => Ok(()),
        _ => Err(errno(io::Error::last_os_error())),
    }
}

impl Calls for KernelFront {
    fn mkdir(&self, path: &str) -> Result<(), Errno> {
        fs::create_dir(self.path(path)).map_err(errno)
    }

    fn write(&self, path: &str, bytes: &[u8]) -> Result<(), Errno> {
        written(fs::File::create(self.path(path)), None, bytes)
    }

    fn write_at(&self, path: &str, position: Position, bytes: &[u8]) -> Result<(), Errno> {
        let mut options = fs::OpenOptions::new();
        let (file, at) = match position {
            Position::End => (options.append(true).open(self.path(path)), None),
            Position::At(at) => {
                let file = options.write(true).open(self.path(path));
                (file, Some(SeekFrom::Start(at)))
            }
        };
        written(file, at, bytes)
    }

    fn truncate(&self, path: &str, len: u64) -> Result<(), Errno> {
        let file = fs::OpenOptions::new().write(true).open(self.path(path));
        let file = file.map_err(errno)?;
        file.set_len(len).map_err(errno)?;
        closed(file)
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), Errno> {
        fs::rename(self.path(from), self.path(to)).map_err(errno)
    }

    fn unlink(&self, path: &str) -> Result<(), Errno> {
        fs::remove_file(self.path(path)).map_err(errno)
    }

    fn rmdir(&self, path: &str) -> Result<(), Errno> {
        fs::remove_dir(self.path(path)).map_err(errno)
    }

    fn rows(&self, path: &str) -> Result<Vec<(String, Kind)>, Errno> {
        let mut rows = Vec::new();
        for entry in fs::read_dir(self.path(path)).map_err(errno)? {
            let entry = entry.map_err(errno)?;
            let kind = entry.file_type().map_err(errno)?;
            let kind = match (kind.is_dir(), kind.is_symlink()) {
                (true, _) => Kind::Folder,
                (_, true) => Kind::Link,
                _ => Kind::File,
            };
            rows.push((entry.file_name().into_string().expect("text"), kind));
        }
        Ok(rows)
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, Errno> {
        fs::read(self.path(path)).map_err(errno)
    }

    fn len(&self, path: &str) -> Result<u64, Errno> {
        Ok(fs::metadata(self.path(path)).map_err(errno)?.len())
    }

    fn read_link(&self, path: &str) -> Result<String, Errno> {
        let target = fs::read_link(self.path(path)).map_err(errno)?;
        Ok(target.to_string_lossy().into_owned())
    }

    fn xattr(&self, path: &str, name: &str) -> Result<String, Errno> {
        let mut value = vec![0; 65_536];
        let len = getxattr(self.path(path), name, &mut value)?;
        value.truncate(len);
        String::from_utf8(value).map_err(|_| Errno::ILSEQ)
    }

    fn set_xattr(&self, path: &str, name: &str, value: &str) -> Result<(), Errno> {
        setxattr(self.path(path), name, value.as_bytes(), XattrFlags::empty())
    }
}

impl Front for KernelFront {
    fn act(&mut self, op: &Op) -> Outcome {
        self.stopping_for(op, || drive::act(self, op))
    }

    fn picture(&mut self) -> Vec<String> {
        picture::picture(self)
    }

    fn expected(&self, model: &Model) -> Vec<String> {
        picture::expected(model, self.actor)
    }

    fn restart(&mut self, world: &World, ending: Ending) {
        match ending {
            Ending::Unmounted => self.unmount(),
            Ending::Killed => self.kill(),
        }
        self.process = mount(world, self.actor, &self.root);
    }
}
