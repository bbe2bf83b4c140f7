//! `assetfs unmount`: sends the drafts that are ready, waits with progress, then unmounts.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, test_kill_process};

use crate::drive::{DraftStatus, MountStatus, StatusWord};
use crate::fuse::{self, OtherMount, shell_quoted};

use super::exit::{Exit, WrongUse};
use super::mounted::{ENDS_SOON, MountedDrive, POLL_PERIOD};
use super::output;
use super::progress::Progress;
use super::settings::Span;
use super::status::path_below;

/// How long the process of the mount may take to end.
const PROCESS_DEADLINE: Duration = Duration::from_secs(30);

/// Unmount a drive after sending the drafts that are ready
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: assetfs unmount ~/assets")]
pub(super) struct UnmountArgs {
    /// The mount point; not needed if you mounted only one drive
    dir: Option<PathBuf>,
    /// Send nothing more now; the next mount continues
    #[arg(long)]
    now: bool,
    /// Give up waiting after this time, and leave it mounted
    #[arg(long, value_name = "TIME", conflicts_with = "now")]
    timeout: Option<Span>,
}

pub(super) fn run(args: &UnmountArgs) -> Result<Exit> {
    let drive = MountedDrive::at_or_only(args.dir.as_deref(), "unmount")?;
    if let Some(dir) = &args.dir
        && drive.root() != dir.canonicalize().unwrap_or_else(|_| dir.clone())
    {
        return Err(WrongUse(format!(
            "{} is inside the drive mounted at {root}; unmount that: assetfs unmount {root}",
            shell_quoted(dir),
            root = shell_quoted(drive.root()),
        ))
        .into());
    }
    // A mount without a process has no status: nothing can be sent, and its drafts stay on disk.
    let status = drive.status().ok();
    // A read-only mount has no drafts and accepts no commands.
    let may_send = status.as_ref().is_some_and(|status| !status.read_only);
    let unsent = if may_send && !args.now {
        let Some(drained) = drain(&drive, args.timeout.map(|span| span.0))? else {
            eprintln!(
                "assetfs: still sending, so the drive stays mounted (`--now` leaves the rest to the next mount)"
            );
            return Ok(Exit::TimedOut);
        };
        unsent_drafts(drive.root(), &drained)
    } else {
        let drafts = status.as_ref().map(|it| unsent_drafts(drive.root(), it));
        drafts.unwrap_or_default()
    };
    if status.is_some() {
        drive.end_events();
    }
    let number = fuse::mount_minor(drive.root())?;
    // Read before the unmount, because afterwards the kernel may give the number to another drive.
    let mut elsewhere = number.map(fuse::other_mounts).unwrap_or_default();
    elsewhere.retain(|it| it.process.is_some() || it.path != drive.root());
    let unmounted = fuse::unmount(drive.root());
    // Why it failed is what the user needs first.
    if let Err(error) = &unmounted {
        eprintln!("assetfs: {error}");
        output::failure_line(Some(drive.root()), &error.to_string(), Exit::Failed);
    }
    for line in &unsent {
        eprintln!("{line}");
    }
    if unmounted.is_err() {
        return Ok(Exit::Failed);
    }
    if let Some(status) = status {
        wait_for_process(&drive, status.pid, number, &elsewhere)?;
    }
    if output::is_json() {
        output::line(serde_json::json!({
            "path": drive.root().to_string_lossy(),
            "state": "done",
            "unsent": unsent,
            "exit": 0,
        }));
    }
    Ok(Exit::Done)
}

/// Sends the drafts that are ready. The status after that; `None` if the timeout ends first.
fn drain(drive: &MountedDrive, timeout: Option<Duration>) -> Result<Option<MountStatus>> {
    let start = Instant::now();
    let progress = Progress::new(false);
    let mut task = None;
    let outcome = order_drain(drive.clone());
    // The command returns when everything is sent; meanwhile its progress is shown.
    let drained = loop {
        match outcome.recv_timeout(POLL_PERIOD) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(drained) => break drained,
            Err(RecvTimeoutError::Disconnected) => {
                bail!("the command to send the ready drafts was lost")
            }
        }
        if let Some(line) = under_way(drive.root(), &drive.status()?) {
            task.get_or_insert_with(|| progress.task("sending"))
                .show(&line);
        }
        if timeout.is_some_and(|timeout| start.elapsed() >= timeout) {
            return Ok(None);
        }
    };
    drained.context("cannot tell the drive to send the ready drafts")?;
    let status = drive.status()?;
    if let Some(task) = task {
        let done = match under_way(drive.root(), &status) {
            None => "all sent",
            Some(_) => "not all sent",
        };
        super::progress::Task::finish(task, done);
    }
    Ok(Some(status))
}

/// Tells the drive, in a separate thread, to send the drafts that are ready. The result comes through the channel.
fn order_drain(drive: MountedDrive) -> Receiver<Result<()>> {
    let (tell, outcome) = mpsc::channel();
    std::thread::spawn(move || {
        // The receiver is gone after a timeout.
        let _ = tell.send(drive.command("drain ready"));
    });
    outcome
}

/// The transfers in flight, in one line; `None` if there are none.
fn under_way(root: &Path, status: &MountStatus) -> Option<String> {
    let first = status.uploading().next()?;
    let percent = status.percent_uploaded();
    let pace = status.transfers.iter().find(|it| it.path == first.path);
    let pace = pace.map(super::status::pace).unwrap_or_default();
    Some(format!(
        "{percent}% {} ({}{pace})",
        path_below(root, &first.path),
        first.status
    ))
}

/// A line for each draft that cannot be sent now.
fn unsent_drafts(root: &Path, status: &MountStatus) -> Vec<String> {
    let stays = |draft: &&DraftStatus| {
        draft.stuck || draft.asset.is_none() || draft.state == StatusWord::Uploading
    };
    let drafts = status.drafts.iter().filter(stays);
    let lines = drafts.map(|draft| {
        // As `status` lists it: the service has the model.
        let is_failed_model = draft.state == StatusWord::Failed && draft.asset.is_some();
        let what = match is_failed_model {
            true => "is a failed model",
            false => "stays a draft on this machine",
        };
        format!("{} {what}: {}", path_below(root, &draft.path), draft.status)
    });
    lines.collect()
}

/// Waits until the process of the drive has ended. It does not end as long as the drive is mounted elsewhere too.
fn wait_for_process(
    drive: &MountedDrive,
    pid: u32,
    number: Option<u32>,
    elsewhere: &[OtherMount],
) -> Result<()> {
    let Some(process) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return Ok(());
    };
    let start = Instant::now();
    let mut looked = false;
    while test_kill_process(process).is_ok() && !fuse::is_dying(pid) {
        if start.elapsed() >= PROCESS_DEADLINE {
            bail!(
                "{} is unmounted, but its process {pid} has not ended within {} s; `kill {pid}` ends it within 10 s",
                shell_quoted(drive.root()),
                PROCESS_DEADLINE.as_secs()
            );
        }
        if !looked && start.elapsed() >= ENDS_SOON {
            looked = true;
            let mut others = number.map(fuse::other_mounts).unwrap_or_default();
            others.retain(|other| elsewhere.iter().any(|it| it.is(other)));
            if let Some(other) = others.first() {
                bail!(
                    "{} is unmounted, but the drive goes on, because {}; `kill {pid}` ends it everywhere",
                    shell_quoted(drive.root()),
                    other.sentence()
                );
            }
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
