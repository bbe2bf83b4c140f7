//! What the service or the engine warns of a model, as its `analysis/warning.log` says: a result that is hardly smaller, a
//! model that was left out, a setting without effect. Commands that end well say it, because nobody opens a log of a success.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::event_log;
use super::table::counted;
use crate::drive::{HistoryKind, MountStatus};
use crate::fuse::shell_quoted;
use crate::wire::Timestamp;
use assetfs_formats::warnings::WarningKind;

/// How much of a log is read.
const MAX_BYTES: u64 = 64 * 1024;

/// The warnings of the model or the result in a folder; none if it has no log, or if the log cannot be read now.
pub(super) fn warnings_of(folder: &Path) -> Vec<String> {
    let mut text = Vec::new();
    let read = File::open(folder.join("analysis/warning.log"))
        .and_then(|log| log.take(MAX_BYTES).read_to_end(&mut text));
    if read.is_err() {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(&text);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}

/// The codes of warnings, each once.
pub(super) fn codes_of(warnings: &[String]) -> Vec<&'static str> {
    WarningKind::codes(warnings.iter().map(|line| WarningKind::of_line(line)))
}

/// The warnings of a folder in one line; `None` if there are none.
pub(super) fn in_one_line(folder: &Path) -> Option<String> {
    joined(folder, &warnings_of(folder))
}

fn joined(folder: &Path, warnings: &[String]) -> Option<String> {
    let first = warnings.first()?;
    Some(match warnings.len() {
        1 => format!("warning: {first}"),
        count => format!(
            "{} ({}): {first}",
            counted(count as u64, "warning"),
            shell_quoted(&folder.join("analysis/warning.log"))
        ),
    })
}

/// Jobs whose results are looked at for `status`: reading a log may be a request.
const MAX_RECENT: usize = 5;
/// How long ago a job of these has ended at most.
const RECENT_SECS: i64 = 3_600;

/// How long `status` waits for these logs. The drive has those that were read before; others may need a service that does not
/// answer, and are left out then.
const PATIENCE: Duration = Duration::from_millis(500);

/// The warnings of a result.
pub(super) struct ResultWarnings {
    pub(super) path: PathBuf,
    /// All of them in one line.
    pub(super) line: String,
    pub(super) codes: Vec<&'static str>,
}

/// The warnings of the results of the last jobs.
#[derive(Default)]
pub(super) struct RecentWarnings {
    pub(super) found: Vec<ResultWarnings>,
    /// How many more jobs have ended in this time, whose results were not looked at.
    pub(super) not_read: usize,
}

/// The warnings of the results of the last jobs of a drive. None if the drive is offline or its event log cannot be read.
pub(super) fn of_recent_jobs(root: &Path, status: &MountStatus) -> RecentWarnings {
    if !status.online {
        return RecentWarnings::default();
    }
    let account = BTreeSet::from([PathBuf::from(&status.state_dir)]);
    let since = Timestamp::now().plus_seconds(-RECENT_SECS);
    let events = event_log::read(&account, since).unwrap_or_default();
    let mut jobs: Vec<PathBuf> = Vec::new();
    for event in events.iter().rev() {
        let path = root.join(event.path.trim_start_matches('/'));
        let is_job = event.kind == HistoryKind::Completed && event.path.contains("/optimize/");
        if is_job && !jobs.contains(&path) {
            jobs.push(path);
        }
    }
    let ended = jobs.len();
    jobs.truncate(MAX_RECENT);
    let (read, logs) = mpsc::channel();
    // Ends with the process, because nothing interrupts a read of a drive.
    thread::spawn(move || {
        for job in jobs {
            let path = job.with_extension("");
            // Without a receiver its time is over.
            let _ = read.send((warnings_of(&path), path));
        }
    });
    let end = Instant::now() + PATIENCE;
    let next = || logs.recv_timeout(end.saturating_duration_since(Instant::now()));
    let in_time: Vec<_> = std::iter::from_fn(|| next().ok()).collect();
    let not_read = ended - in_time.len();
    let found = in_time.into_iter().filter_map(|(warnings, path)| {
        Some(ResultWarnings {
            line: joined(&path, &warnings)?,
            codes: codes_of(&warnings),
            path,
        })
    });
    RecentWarnings {
        found: found.collect(),
        not_read,
    }
}

/// Says that results were not looked at, and what shows the warnings of all; `None` if all were.
pub(super) fn not_read_line(root: &Path, not_read: usize) -> Option<String> {
    let more = (not_read > 0).then(|| counted(not_read as u64, "more result"))?;
    Some(format!(
        "{more} of the last hour not looked at for warnings; all: assetfs list --results {}",
        shell_quoted(root)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_looked_at_is_said_with_what_shows_it() {
        let line = |count| not_read_line(Path::new("/mnt/a b"), count);
        assert_eq!(line(0), None);
        assert_eq!(
            line(7).unwrap(),
            "7 more results of the last hour not looked at for warnings; all: assetfs list --results '/mnt/a b'"
        );
    }

    #[test]
    fn codes_are_listed_once_and_lines_of_other_services_have_other() {
        let lines = ["a [no-gain]", "b", "c [no-gain]", "d [missing-file]"].map(str::to_owned);
        assert_eq!(codes_of(&lines), ["missing-file", "no-gain", "other"]);
        assert!(codes_of(&[]).is_empty());
    }

    #[test]
    fn the_first_warning_is_said_and_the_others_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("analysis/warning.log");
        std::fs::create_dir(dir.path().join("analysis")).unwrap();
        assert_eq!(in_one_line(dir.path()), None);
        std::fs::write(&log, "").unwrap();
        assert_eq!(in_one_line(dir.path()), None);
        std::fs::write(&log, "one\n").unwrap();
        assert_eq!(in_one_line(dir.path()).unwrap(), "warning: one");
        std::fs::write(&log, "one\n\ntwo\n").unwrap();
        let line = in_one_line(dir.path()).unwrap();
        assert!(
            line.starts_with("2 warnings (") && line.ends_with("warning.log): one"),
            "{line}"
        );
    }
}
