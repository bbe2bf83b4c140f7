//! Says on standard error that a drive does not answer, once, while a command waits for it.
//!
//! A call to a mount whose process is stopped, or waits for a disk, returns only when the process answers, and nothing can
//! interrupt it. So a thread of its own asks the drive now and then, for an attribute that neither the kernel nor the service
//! has to look up.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

use super::exit::TimedOut;
use super::settings::Span;
use super::{mount_source, output};
use crate::fuse::{self, shell_quoted};
use crate::locks::Locked as _;

/// Most commands end within this time, and ask nothing.
const BEFORE_FIRST: Duration = Duration::from_secs(1);
/// A drive that has not answered for this time does not answer.
const PATIENCE: Duration = Duration::from_secs(4);
/// How much longer than its own time limit a command may take before the drive is asked whether it answers, and how long the drive
/// has then.
const GRACE: Duration = Duration::from_secs(1);
const LAST_PATIENCE: Duration = Duration::from_secs(2);
/// The pauses between two questions begin with the first and double up to the second.
const PAUSES: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(60));
/// The attribute of an id, which the top of a drive does not have.
const ATTRIBUTE: &str = "user.assetfs.id";

static IS_WATCHING: AtomicBool = AtomicBool::new(false);
static WATCHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// From now on, drives that this process uses are watched, first those that its arguments lead into: the first call to a drive
/// may be to look at an argument. A command without this, as one that serves a drive, says nothing.
pub(super) fn begin() {
    IS_WATCHING.store(true, Ordering::Relaxed);
    let mounts = fuse::mounts().unwrap_or_default();
    if !mounts.is_empty() {
        let arguments = std::env::args_os().skip(1);
        arguments.for_each(|argument| watch_around(Path::new(&argument), &mounts));
    }
}

/// Watches the drive that contains `path`, as far as that can be seen without asking it.
pub(super) fn watch(path: &Path) {
    let is_inside = |path: &Path| WATCHED.locked().iter().any(|root| path.starts_with(root));
    if IS_WATCHING.load(Ordering::Relaxed) && !is_inside(path) {
        watch_around(path, &fuse::mounts().unwrap_or_default());
    }
}

fn watch_around(path: &Path, mounts: &[PathBuf]) {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let around = mounts.iter().filter(|root| path.starts_with(root));
    if let Some(root) = around.max_by_key(|root| root.components().count()) {
        watch_drive(root);
    }
}

/// Watches the drive at this mount point.
pub(super) fn watch_drive(root: &Path) {
    if IS_WATCHING.load(Ordering::Relaxed) && WATCHED.locked().insert(root.to_owned()) {
        let root = root.to_owned();
        // Without a thread the command works, and says nothing.
        let _ = thread::Builder::new().spawn(move || ask_again_and_again(&root));
    }
}

/// Ends the process with exit code 3 if a drive that it uses does not answer when `timeout` and a second more are over, or later: a
/// call to such a drive has no end of its own. This holds until what is returned is dropped.
pub(super) fn end_after(timeout: Option<Span>) -> Option<mpsc::Sender<()>> {
    let mut pause = timeout?.0.saturating_add(GRACE);
    let (ended, has_ended) = mpsc::channel();
    // Without a thread the command works, and may wait for longer.
    let _ = thread::Builder::new().spawn(move || {
        while has_ended.recv_timeout(pause) == Err(mpsc::RecvTimeoutError::Timeout) {
            let roots = WATCHED.locked().clone();
            if !roots.iter().all(|root| answers(root, LAST_PATIENCE)) {
                let late = TimedOut("timed out because the drive does not answer".to_owned());
                let exit = output::failed(None, &late.into());
                std::process::exit(exit.code().into());
            }
            pause = PAUSES.0;
        }
    });
    Some(ended)
}

fn ask_again_and_again(root: &Path) {
    thread::sleep(BEFORE_FIRST);
    let mut pause = PAUSES.0;
    while answers(root, PATIENCE) {
        thread::sleep(pause);
        pause = (2 * pause).min(PAUSES.1);
    }
    let shown = shell_quoted(root);
    eprintln!(
        "assetfs: the drive at {shown} does not answer, so this command waits for it. On a busy machine it may only be slow. If it stays \
         so, its process may be stopped, or wait for a disk: `ps -C assetfs -o pid,stat,args` shows it, and `kill -CONT PID` lets a stopped one go on. If that does not help: \
         `kill -9 PID`, then `{}`, with the other options that you gave, which loses nothing",
        mount_source::command_again(root)
    );
}

/// Whether the process of a drive answers within `patience`. An error is an answer, too.
fn answers(root: &Path, patience: Duration) -> bool {
    let (tell, told) = mpsc::channel();
    let root = root.to_owned();
    let asked = thread::Builder::new().spawn(move || {
        let mut value = [0; 32];
        let _ = rustix::fs::lgetxattr(&root, ATTRIBUTE, &mut value[..]);
        let _ = tell.send(());
    });
    asked.is_err() || told.recv_timeout(patience).is_ok()
}
