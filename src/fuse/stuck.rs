//! Frees a process that was killed and cannot end.
//!
//! A thread of the process may wait in the kernel for a lock of another process that waits for an answer of this process,
//! or for a disk that does not answer. If the process is killed then, nobody answers, and the waiting thread keeps the
//! process and all its open files. Aborting its FUSE connection ends the waits of the others. The drive makes no call
//! that waits for itself in this way, but earlier versions did, and disks may hang.
//!
//! Only connections of dying processes are aborted. The number of a connection is read from the process itself or,
//! without the right to do so, from the file that the process wrote when it mounted.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::dispatch::is_being_killed;
use super::mount_table::mount_minor;
use super::users::processes;

/// Where the file system of FUSE connections is usually mounted.
const CONNECTIONS: &str = "/sys/fs/fuse/connections";
/// `STATX_MNT_ID_UNIQUE` (statx(2), Linux 6.8): the number of a mount, which is never used again.
const UNIQUE_MOUNT_ID: StatxFlags = StatxFlags::from_bits_retain(0x4000);

/// A connection as the process that mounted it knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    pid: u32,
    number: u32,
    mount_point: PathBuf,
    mount_id: u64,
}

/// A connection of a dying process that could not be aborted.
#[derive(Debug, Error)]
#[error(
    "process {pid} of an earlier mount was killed and hangs in the kernel, and its connection cannot be aborted \
     ({source}); free it with `{command}`, and mount again"
)]
pub struct NotFreed {
    pid: u32,
    command: String,
    #[source]
    source: io::Error,
}

impl Connection {
    /// The connection of a drive that this process has mounted. An error where the kernel does not number mounts.
    pub fn of_own_mount(mount_point: &Path) -> io::Result<Connection> {
        let number = mount_minor(mount_point)?.ok_or(io::ErrorKind::NotFound)?;
        Ok(Connection {
            pid: std::process::id(),
            number,
            mount_point: mount_point.to_owned(),
            mount_id: mount_id(mount_point)?,
        })
    }

    /// The process that mounted it.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The number of the FUSE connection: the name of its folder in `/sys/fs/fuse/connections`.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Where it was mounted.
    pub fn mount_point(&self) -> &Path {
        &self.mount_point
    }

    /// True if the mount is still there and is the same.
    pub fn is_mounted(&self) -> bool {
        mount_minor(&self.mount_point).is_ok_and(|number| number == Some(self.number))
            && mount_id(&self.mount_point).is_ok_and(|id| id == self.mount_id)
    }
}

/// Asks the kernel alone, so that a drive that does not answer is no obstacle.
fn mount_id(mount_point: &Path) -> io::Result<u64> {
    let flags = AtFlags::STATX_DONT_SYNC | AtFlags::SYMLINK_NOFOLLOW;
    let found = rustix::fs::statx(rustix::fs::CWD, mount_point, flags, UNIQUE_MOUNT_ID)?;
    match found.stx_mask & UNIQUE_MOUNT_ID.bits() {
        0 => Err(io::ErrorKind::Unsupported.into()),
        _ => Ok(found.stx_mnt_id),
    }
}

/// True for a process that is being killed or has ended in part.
pub fn is_dying(pid: u32) -> bool {
    let process = Path::new("/proc").join(pid.to_string());
    let status = |path: PathBuf| fs::read_to_string(path.join("status")).unwrap_or_default();
    let has_ended = |status: &str| {
        let state = status.lines().find_map(|line| line.strip_prefix("State:"));
        state.is_some_and(|state| state.trim_start().starts_with(['Z', 'X']))
    };
    has_ended(&status(process.clone()))
        || subfolders(&process.join("task"))
            .into_iter()
            .any(|task| is_being_killed(&status(task)))
}

/// The processes that are being killed or have ended in part, and have a connection open.
pub fn dying_servers() -> Vec<u32> {
    let mut found = processes();
    found.retain(|pid| is_dying(*pid) && !connections_of(*pid).is_empty());
    found
}

/// Aborts the connections of a dying process; returns their numbers. `stored` is what the process stored when it
/// mounted.
pub fn free_dying(pid: u32, stored: Option<&Connection>) -> Result<Vec<u32>, NotFreed> {
    let mut numbers = connections_of(pid);
    let stored = stored.filter(|stored| stored.pid == pid && stored.is_mounted());
    numbers.extend(stored.map(|stored| stored.number));
    let failed = |numbers: &BTreeSet<u32>, source| NotFreed {
        pid,
        command: command_for(pid, numbers),
        source,
    };
    if !is_dying(pid) {
        return Ok(Vec::new());
    }
    if numbers.is_empty() {
        return Err(failed(&numbers, io::ErrorKind::PermissionDenied.into()));
    }
    for number in &numbers {
        abort(*number).map_err(|error| failed(&numbers, error))?;
    }
    Ok(numbers.into_iter().collect())
}

/// The connections that a process has open. A thread that is left of a killed process has its files alone.
fn connections_of(pid: u32) -> BTreeSet<u32> {
    let tasks = Path::new("/proc").join(pid.to_string()).join("task");
    let mut numbers = BTreeSet::new();
    for task in subfolders(&tasks) {
        for file in entries(&task.join("fdinfo")) {
            let about = fs::read_to_string(file).unwrap_or_default();
            numbers.extend(connection_in(&about));
        }
    }
    numbers
}

/// The connection in a text of `/proc/PID/fdinfo`.
fn connection_in(about: &str) -> Option<u32> {
    let mut lines = about.lines();
    let number = lines.find_map(|line| line.strip_prefix("fuse_connection:"))?;
    number.trim().parse().ok()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let mut found = entries(folder);
    found.retain(|path| path.is_dir());
    found
}

fn abort(number: u32) -> io::Result<()> {
    let name = format!("{number}/abort");
    let path = Path::new(CONNECTIONS).join(&name);
    let mut file = match File::options().write(true).open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => open_unmounted(&name)?,
        opened => opened?,
    };
    file.write_all(b"1")
}

/// Opens a file of the file system of connections where that is not mounted: it is mounted for this process
/// alone, at no path.
fn open_unmounted(name: &str) -> io::Result<File> {
    let context = rustix::mount::fsopen("fusectl", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_create(context.as_fd())?;
    let flags = FsMountFlags::FSMOUNT_CLOEXEC;
    let root = rustix::mount::fsmount(context.as_fd(), flags, MountAttrFlags::empty())?;
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(root, name, flags, Mode::empty())?.into())
}

/// What root types to free the process.
fn command_for(pid: u32, numbers: &BTreeSet<u32>) -> String {
    let find = match numbers.is_empty() {
        true => format!("$(sed -n s/fuse_connection://p /proc/{pid}/task/*/fdinfo/* | sort -u)"),
        false => {
            let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
            numbers.join(" ")
        }
    };
    format!(
        "sudo sh -c 'mountpoint -q {CONNECTIONS} || mount -t fusectl none {CONNECTIONS}; \
         for n in {find}; do echo 1 > {CONNECTIONS}/$n/abort; done'"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_connection_of_an_open_device_is_read() {
        let about = "pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t104\nfuse_connection:\t42\n";
        assert_eq!(connection_in(about), Some(42));
        assert_eq!(connection_in("pos:\t0\n"), None);
    }

    #[test]
    fn a_process_is_dying_when_it_has_ended_and_not_before() {
        assert!(!is_dying(std::process::id()));
        assert!(!is_dying(u32::MAX), "there is none");
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        assert!(!is_dying(child.id()));
        assert_eq!(free_dying(child.id(), None).unwrap(), [0; 0], "it lives");
        child.kill().unwrap();
        // Between the signal and its end it looks alive for a moment.
        let refused = loop {
            match free_dying(child.id(), None) {
                Ok(_) => std::thread::yield_now(),
                Err(refused) => break refused.to_string(),
            }
        };
        let find = format!("/proc/{}/task/*/fdinfo/*", child.id());
        assert!(refused.contains(&find), "it has no connection: {refused}");
        child.wait().unwrap();
    }

    #[test]
    fn a_connection_is_named_in_the_command() {
        let command = command_for(7, &BTreeSet::from([42]));
        assert!(command.contains("for n in 42; do echo 1 >"), "{command}");
    }
}
