//! `assetfs inotify-helper`: makes operations on a drive in a separate process, so that inotify reports them. Started by
//! the mount, which recognizes this process and answers without an effect. Ends when the mount closes its pipe.

use std::io::{self, BufRead as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use anyhow::{Context, Result};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Timespec, Timestamps};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::exit::Exit;
use crate::drive::HelperOperation;

/// Report changes to inotify (started by the mount)
#[derive(Debug, clap::Args)]
pub(super) struct InotifyHelperArgs {
    mount_point: PathBuf,
    /// The number of its file system
    device: u64,
}

/// The result of an operation, as a line of JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Outcome {
    pub(super) errno: Option<i32>,
}

pub(super) fn run(args: &InotifyHelperArgs) -> Result<Exit> {
    for line in io::stdin().lock().lines() {
        let operation = serde_json::from_str(&line?).context("cannot parse the operation")?;
        let outcome = Outcome {
            errno: make(args, &operation).err().map(Errno::raw_os_error),
        };
        let mut out = io::stdout().lock();
        writeln!(out, "{}", serde_json::to_string(&outcome)?)?;
        out.flush()?;
    }
    Ok(Exit::Done)
}

/// Makes an operation, if the folder is still in the drive: after an unmount the path is another folder.
fn make(args: &InotifyHelperArgs, operation: &HelperOperation) -> rustix::io::Result<()> {
    let (HelperOperation::MakeFolder(path)
    | HelperOperation::MakeFile(path)
    | HelperOperation::MakeLink(path)
    | HelperOperation::RemoveFolder(path)
    | HelperOperation::RemoveFile(path)
    | HelperOperation::Attributes(path)
    | HelperOperation::Content(path)) = operation;
    let (parent, name) = path.rsplit_once('/').ok_or(Errno::INVAL)?;
    let parent = args.mount_point.join(parent.trim_start_matches('/'));
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::open(&parent, flags, Mode::empty())?;
    if rustix::fs::fstat(&folder)?.st_dev != args.device {
        return Err(Errno::STALE);
    }
    match operation {
        HelperOperation::MakeFolder(_) => rustix::fs::mkdirat(&folder, name, Mode::from(0o755)),
        HelperOperation::MakeFile(_) => {
            let file = FileType::RegularFile;
            rustix::fs::mknodat(&folder, name, file, Mode::from(0o644), 0)
        }
        // The drive knows the target.
        HelperOperation::MakeLink(_) => rustix::fs::symlinkat(".", &folder, name),
        HelperOperation::RemoveFolder(_) => rustix::fs::unlinkat(&folder, name, AtFlags::REMOVEDIR),
        HelperOperation::RemoveFile(_) => rustix::fs::unlinkat(&folder, name, AtFlags::empty()),
        // inotify reports both times as a change of attributes, the modification time alone as one of the content.
        HelperOperation::Attributes(_) => touch(&folder, name, libc::UTIME_NOW),
        HelperOperation::Content(_) => touch(&folder, name, libc::UTIME_OMIT),
    }
}

fn touch(folder: &OwnedFd, name: &str, access: i64) -> rustix::io::Result<()> {
    let time = |tv_nsec| Timespec { tv_sec: 0, tv_nsec };
    let times = Timestamps {
        last_access: time(access),
        last_modification: time(libc::UTIME_NOW),
    };
    rustix::fs::utimensat(folder, name, &times, AtFlags::SYMLINK_NOFOLLOW)
}
