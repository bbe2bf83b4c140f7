//! Finds the programs that watch the drive by inotify, and runs the helper process that makes operations for them.
//!
//! The helper is started when somebody watches, and ends with this process: its standard input is a pipe from here.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::Mutex;

use crate::cli::inotify_helper::Outcome;
use crate::drive::{HelperOperation, Ino, InotifyHelper};
use crate::running_program::running_program;

/// How long one operation may take. The drive answers at once; another program may hold the folder's lock.
const DEADLINE: Duration = Duration::from_secs(40);

pub(super) struct HelperProcess {
    mount_point: PathBuf,
    /// The number of the mounted file system.
    number: u64,
    /// The same as in `/proc/PID/fdinfo`.
    device: u64,
    process: Mutex<Option<RunningHelper>>,
    pid: AtomicU32,
}

struct RunningHelper {
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    /// Killed when it is dropped.
    child: Child,
}

impl HelperProcess {
    /// For the drive that is mounted and answers.
    pub(super) fn new(mount_point: &Path) -> io::Result<HelperProcess> {
        // `STATX_DONT_SYNC` is answered by the kernel alone: this process must not send requests to its own drive.
        let flags = AtFlags::STATX_DONT_SYNC | AtFlags::SYMLINK_NOFOLLOW;
        let found = statx(CWD, mount_point, flags, StatxFlags::empty())?;
        let (major, minor) = (found.stx_dev_major, found.stx_dev_minor);
        let number = libc::makedev(major, minor);
        // The kernel's own form: 12 bits and 20 bits.
        let device = u64::from(major) << 20 | u64::from(minor);
        Ok(HelperProcess {
            mount_point: mount_point.to_owned(),
            number,
            device,
            process: Mutex::default(),
            pid: AtomicU32::new(0),
        })
    }

    fn start(&self) -> io::Result<RunningHelper> {
        let mut child = Command::new(running_program(std::env::current_exe()?))
            .arg("inotify-helper")
            .arg(&self.mount_point)
            .arg(self.number.to_string())
            .current_dir("/")
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.ok_or(io::ErrorKind::BrokenPipe)?;
        self.pid.store(child.id().unwrap_or(0), Ordering::Release);
        Ok(RunningHelper {
            input,
            output: BufReader::new(output).lines(),
            child,
        })
    }

    async fn ask(
        &self,
        process: &mut RunningHelper,
        operation: &HelperOperation,
    ) -> io::Result<Outcome> {
        let mut line = serde_json::to_vec(operation)?;
        line.push(b'\n');
        process.input.write_all(&line).await?;
        let answer = tokio::time::timeout(DEADLINE, process.output.next_line()).await;
        let answer = answer.map_err(|_| io::ErrorKind::TimedOut)??;
        Ok(serde_json::from_str(
            &answer.ok_or(io::ErrorKind::UnexpectedEof)?,
        )?)
    }

    fn forget(&self, process: &mut Option<RunningHelper>) {
        self.pid.store(0, Ordering::Release);
        *process = None;
    }
}

impl InotifyHelper for HelperProcess {
    fn watched(&self) -> BoxFuture<'_, io::Result<Vec<Ino>>> {
        let device = self.device;
        Box::pin(async move {
            let watched = tokio::task::spawn_blocking(move || watched_inodes(device)).await?;
            Ok(watched?.into_iter().map(Ino).collect())
        })
    }

    fn run(&self, operation: HelperOperation) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async move {
            let mut slot = self.process.lock().await;
            let process = match &mut *slot {
                Some(process) => process,
                empty => empty.insert(self.start()?),
            };
            match self.ask(process, &operation).await {
                Ok(Outcome { errno: None }) => Ok(()),
                Ok(Outcome { errno: Some(errno) }) => Err(io::Error::from_raw_os_error(errno)),
                Err(error) => {
                    // A request that it has sent must be known as its own until it is dead.
                    if let Some(process) = &mut *slot {
                        let _ = tokio::time::timeout(DEADLINE, process.child.kill()).await;
                    }
                    self.forget(&mut slot);
                    Err(error)
                }
            }
        })
    }

    fn pid(&self) -> u32 {
        self.pid.load(Ordering::Acquire)
    }

    fn stop(&self) {
        // While it is at work somebody has begun to watch again.
        if let Ok(mut process) = self.process.try_lock() {
            self.forget(&mut process);
        }
    }
}

/// The inodes of a file system that processes of this user watch. Processes that end meanwhile, and those of others,
/// are left out.
fn watched_inodes(device: u64) -> io::Result<BTreeSet<u64>> {
    let mut watched = BTreeSet::new();
    for process in fs::read_dir("/proc")?.flatten() {
        let is_process = process
            .file_name()
            .to_string_lossy()
            .bytes()
            .all(|byte| byte.is_ascii_digit());
        let files = fs::read_dir(process.path().join("fd"));
        let (true, Ok(files)) = (is_process, files) else {
            continue;
        };
        for file in files.flatten() {
            let target = fs::read_link(file.path()).unwrap_or_default();
            if target != Path::new("anon_inode:inotify") {
                continue;
            }
            let info = process.path().join("fdinfo").join(file.file_name());
            let info = fs::read_to_string(info).unwrap_or_default();
            watched.extend(info.lines().filter_map(|line| inode_in(line, device)));
        }
    }
    Ok(watched)
}

/// The inode of a watch: `inotify wd:1 ino:2a sdev:3f mask:…` (proc(5)).
fn inode_in(line: &str, device: u64) -> Option<u64> {
    let mut words = line.split_ascii_whitespace();
    if words.next() != Some("inotify") {
        return None;
    }
    let number = |name: &str| {
        let mut words = line.split_ascii_whitespace();
        let digits = words.find_map(|word| word.strip_prefix(name))?;
        u64::from_str_radix(digits, 16).ok()
    };
    (number("sdev:")? == device).then(|| number("ino:"))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_counts_if_it_is_on_the_drive() {
        let line =
            "inotify wd:1 ino:2a sdev:3f mask:3c6 ignored_mask:0 fhandle-bytes:8 fhandle-type:1";
        assert_eq!(inode_in(line, 0x3f), Some(0x2a));
        assert_eq!(inode_in(line, 0x40), None);
        assert_eq!(inode_in("pos:\t0", 0x3f), None);
        assert_eq!(inode_in("fanotify ino:2a sdev:3f", 0x3f), None);
    }
}
