//! The event log of an account: `events.jsonl` in its state folder, a line of JSON for each event, kept for 30 days. A mount
//! writes it, `assetfs why --since` reads it, also when nothing is mounted.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::rotated_file::{Kept, RotatedFile, older};
use crate::drive::{HistoryEvent, HistoryKind};
use crate::fuse;
use crate::given_files;
use crate::wire::Timestamp;

/// The name in the account's state folder.
const FILE: &str = "events.jsonl";
/// Minimum time that a line is kept.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);
/// Maximum number of events that wait to be written.
const EVENTS_WAITING: usize = 1024;

/// The task that writes the log of one mount.
pub(super) struct EventLogWriter {
    to: mpsc::Sender<HistoryEvent>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl EventLogWriter {
    /// Starts it. A log that cannot be opened is only a warning: the drive works without.
    pub(super) fn start(state: &Path, account: &str, mount_point: &Path) -> Option<EventLogWriter> {
        let path = state.join(FILE);
        let log = RotatedFile::open(&path, Kept::For(KEPT))
            .inspect_err(|error| {
                tracing::warn!(%error, path = %path.display(), "there is no log of events");
            })
            .ok()?;
        let (to, events) = mpsc::channel(EVENTS_WAITING);
        let (stop, stopped) = oneshot::channel();
        let about = (account.to_owned(), mount_point.display().to_string());
        let task = tokio::spawn(write(log, events, stopped, about));
        Some(EventLogWriter { to, stop, task })
    }

    pub(super) fn sender(&self) -> mpsc::Sender<HistoryEvent> {
        self.to.clone()
    }

    /// Adds that the drive was mounted or unmounted.
    pub(super) fn note(&self, kind: HistoryKind) {
        // May be lost if the queue is full: then many other lines show that the drive is mounted.
        let _ = self.to.try_send(HistoryEvent {
            time: Timestamp::now().iso_micros(),
            kind,
            ..HistoryEvent::default()
        });
    }

    /// Writes what is waiting and ends.
    pub(super) async fn finish(self) {
        // Fails only if the task has already ended.
        let _ = self.stop.send(());
        let _ = self.task.await;
    }
}

async fn write(
    mut log: RotatedFile,
    mut events: mpsc::Receiver<HistoryEvent>,
    mut stopped: oneshot::Receiver<()>,
    (account, mount): (String, String),
) {
    let mut has_failed = false;
    loop {
        let event = tokio::select! {
            biased;
            event = events.recv() => event,
            _ = &mut stopped => None,
        };
        let Some(mut event) = event else { return };
        event.account.clone_from(&account);
        event.mount.clone_from(&mount);
        let Ok(mut line) = serde_json::to_vec(&event) else {
            continue;
        };
        line.push(b'\n');
        let written = tokio::task::block_in_place(|| log.write_all(&line));
        if let Err(error) = &written
            && !has_failed
        {
            tracing::warn!(%error, "cannot write to the log of events");
        }
        has_failed = written.is_err();
    }
}

/// The folders of the accounts below a state folder.
pub(super) fn accounts_in(state_dir: &Path) -> Result<BTreeSet<PathBuf>> {
    let found = fs::read_dir(state_dir).and_then(|entries| {
        let paths = entries.map(|entry| entry.map(|entry| entry.path()));
        paths.collect::<io::Result<BTreeSet<PathBuf>>>()
    });
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeSet::new()),
        found => found.with_context(|| format!("cannot read {}", state_dir.display())),
    }
}

/// The events of accounts, by their folders, not before `since`, the oldest first.
pub(super) fn read(accounts: &BTreeSet<PathBuf>, since: Timestamp) -> Result<Vec<HistoryEvent>> {
    let mut events = Vec::new();
    for account in accounts.iter().filter(|account| account.is_dir()) {
        let log = account.join(FILE);
        let older = older(&log).with_context(|| format!("cannot read {}", log.display()))?;
        for path in older.into_iter().chain([log]) {
            add_events(&path, &since.iso_micros(), &mut events)
                .with_context(|| format!("cannot read {}", path.display()))?;
        }
    }
    // All times are written in UTC and in one form, so sorting the texts sorts the times.
    events.sort_by(|a, b| a.time.cmp(&b.time));
    Ok(events)
}

fn add_events(path: &Path, since: &str, events: &mut Vec<HistoryEvent>) -> io::Result<()> {
    let file = match given_files::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        file => file?,
    };
    for line in BufReader::new(file).split(b'\n') {
        // Skips a line that a power cut left half written.
        if let Ok(event) = serde_json::from_slice::<HistoryEvent>(&line?)
            && event.time.as_str() >= since
        {
            events.push(event);
        }
    }
    Ok(())
}

/// The path of an event on this machine.
pub(super) fn place(event: &HistoryEvent) -> PathBuf {
    let mount = Path::new(&event.mount);
    match event.path.trim_start_matches('/') {
        "" => mount.to_owned(),
        path => mount.join(path),
    }
}

/// One event as a line for people.
pub(super) fn line(event: &HistoryEvent) -> String {
    let time = event
        .time
        .get(..19)
        .unwrap_or(&event.time)
        .replace('T', " ");
    let what = match event.kind {
        HistoryKind::Mounted => "mounted",
        HistoryKind::Unmounted => "unmounted",
        HistoryKind::Begun => "begun",
        HistoryKind::State => "",
        // The reason is the status line, which begins with `complete` for a model and `done` for a job.
        HistoryKind::Completed if event.reason.is_some() => "",
        HistoryKind::Uploaded => "uploaded",
        HistoryKind::Completed => "completed",
        HistoryKind::Failed => "failed",
        HistoryKind::Removed => "removed",
        HistoryKind::Deleted => "deleted",
        HistoryKind::Offline => "offline",
        HistoryKind::Online => "online again",
    };
    let reason = event.reason.as_deref().filter(|reason| *reason != what);
    let told = match (what, reason) {
        ("", reason) => reason.unwrap_or_default().to_owned(),
        (what, None) => what.to_owned(),
        (what, Some(reason)) => format!("{what}: {reason}"),
    };
    let lost = event.lost.map_or(String::new(), |lost| {
        format!(" (before this, {lost} events were left out)")
    });
    format!(
        "{time}Z  {}  {told}{lost}",
        fuse::shell_quoted(&place(event))
    )
}
