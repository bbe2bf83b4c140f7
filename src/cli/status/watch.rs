//! `assetfs status --watch`: bars of what is uploaded and downloaded, rates and the queue. On a terminal the picture is
//! redrawn in place; elsewhere each change is a line. Ctrl-C ends it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IsTerminal};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use assetfs_formats::printable::printable_lines;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};
use tokio_util::sync::CancellationToken;

use super::super::exit::Exit;
use super::super::interrupts;
use super::super::mounted::{self, MountedDrive};
use super::frame::{frame, other_failures};
use super::path_below;
use crate::drive::{Direction, MountStatus, StatusWord};
use crate::fuse::{self, shell_quoted};

/// How often the drive is asked.
const PERIOD: Duration = Duration::from_millis(500);
/// Without a terminal a percentage is printed only in steps of this.
const PERCENT_STEP: u64 = 10;

pub(super) fn run(drive: &MountedDrive) -> Result<Exit> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build();
    let runtime = runtime.context("cannot start the async runtime")?;
    runtime.block_on(watch(drive))
}

/// Until a signal, or until the drive is gone.
async fn watch(drive: &MountedDrive) -> Result<Exit> {
    let stop = CancellationToken::new();
    interrupts::cancel_at_signal(&stop)?;
    let mut screen = io::stdout().is_terminal().then(Screen::new);
    let mut changes = Changes::default();
    let mut rates = Rates::default();
    let mut period = tokio::time::interval(PERIOD);
    period.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            () = stop.cancelled() => return Ok(Exit::Done),
            _ = period.tick() => {}
        }
        let mut status = match drive.status() {
            Err(_) if is_unmounted(drive) => {
                drop(screen.take());
                println!("{} was unmounted", shell_quoted(drive.root()));
                return Ok(Exit::Done);
            }
            status => status?,
        };
        rates.fill_in(&mut status, Instant::now());
        match &mut screen {
            Some(screen) => screen.show(drive.root(), &status, rates.down),
            None => changes
                .lines(drive.root(), &status, |path| end_of(drive, path))
                .iter()
                .for_each(|line| println!("{}", printable_lines(line))),
        }
    }
}

/// True if the drive is not mounted any more. A drive whose process was killed is still mounted.
fn is_unmounted(drive: &MountedDrive) -> bool {
    fuse::mounts().is_ok_and(|mounts| mounts.iter().all(|root| root != drive.root()))
}

/// Lines on a terminal that replace each other.
struct Screen {
    bars: MultiProgress,
    lines: Vec<ProgressBar>,
}

impl Screen {
    fn new() -> Screen {
        Screen {
            bars: MultiProgress::with_draw_target(ProgressDrawTarget::stdout()),
            lines: Vec::new(),
        }
    }

    fn show(&mut self, root: &Path, status: &MountStatus, down: u64) {
        let (height, width) = match rustix::termios::tcgetwinsize(io::stdout()) {
            Ok(size) if size.ws_col > 0 => (size.ws_row.into(), size.ws_col.into()),
            _ => (24, 80),
        };
        let frame = frame(root, status, down, (width, height));
        while self.lines.len() > frame.len() {
            let line = self.lines.pop().expect("there is one more");
            self.bars.remove(&line);
        }
        for (at, text) in frame.into_iter().enumerate() {
            if self.lines.len() == at {
                let style = ProgressStyle::with_template("{msg}").expect("it is well-formed");
                let line = ProgressBar::new_spinner()
                    .with_style(style)
                    .with_finish(ProgressFinish::AndLeave);
                self.lines.push(self.bars.add(line));
            }
            // Each change draws all lines.
            if self.lines[at].message() != text {
                self.lines[at].set_message(text);
                self.lines[at].tick();
            }
        }
    }
}

/// Rates that the drive does not report, from two looks.
#[derive(Default)]
struct Rates {
    looked_at: Option<Instant>,
    fetched: u64,
    /// Bytes a second of all downloads.
    down: u64,
    done: BTreeMap<String, u64>,
}

impl Rates {
    fn fill_in(&mut self, status: &mut MountStatus, now: Instant) {
        let elapsed = self
            .looked_at
            .map(|at| now.duration_since(at).as_secs_f64());
        let rate = |before: u64, after: u64| {
            let elapsed = elapsed.filter(|elapsed| *elapsed > 0.0)?;
            Some((after.saturating_sub(before) as f64 / elapsed) as u64)
        };
        let fetched = status.traffic.fetched_bytes;
        self.down = rate(self.fetched, fetched).unwrap_or(0);
        let mut done = BTreeMap::new();
        let downloads = status.transfers.iter_mut();
        for transfer in downloads.filter(|it| it.direction == Direction::Down) {
            let before = self.done.get(&transfer.path);
            transfer.bytes_per_second = before.and_then(|it| rate(*it, transfer.done_bytes));
            let rest = transfer.total_bytes.saturating_sub(transfer.done_bytes);
            transfer.seconds_left = match transfer.bytes_per_second {
                Some(rate @ 1..) => Some(rest.div_ceil(rate)),
                _ => None,
            };
            done.insert(transfer.path.clone(), transfer.done_bytes);
        }
        (self.looked_at, self.fetched, self.done) = (Some(now), fetched, done);
    }
}

/// The status of what is not listed any more: of a model or a job its last one; of a file that was read, that it is here.
fn end_of(drive: &MountedDrive, path: &str) -> String {
    let path = drive.root().join(path.trim_start_matches('/'));
    match mounted::item_report(&path) {
        Ok(Some(report)) => report.status,
        Ok(None) => "downloaded".to_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => "removed".to_owned(),
        Err(error) => format!("its end is not known: {error}"),
    }
}

/// What was printed last for each path.
#[derive(Default)]
struct Changes {
    told: BTreeMap<String, Told>,
    /// Failures and refusals, which have no state.
    failed: BTreeSet<String>,
}

/// What makes a line a new one: a state, and how far it is in large steps. A status with a time that runs is one.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    Status(String),
    Percent(StatusWord, u64),
    Countdown,
}

impl Told {
    fn of(state: &StatusWord, percent: Option<u8>, status: &str) -> Told {
        match (state, percent) {
            (StatusWord::Settling, _) => Told::Countdown,
            (state, Some(percent)) => Told::Percent(state.clone(), step(percent.into())),
            _ => Told::Status(status.to_owned()),
        }
    }
}

impl Changes {
    /// A line for each path of which there is something new to tell. `end_of` says how what is gone has ended.
    fn lines(
        &mut self,
        root: &Path,
        status: &MountStatus,
        end_of: impl Fn(&str) -> String,
    ) -> Vec<String> {
        let mut now: BTreeMap<String, (Told, String)> = BTreeMap::new();
        let mut add = |path: &str, state: &StatusWord, percent, status: &str| {
            let told = Told::of(state, percent, status);
            now.insert(path.to_owned(), (told, status.to_owned()));
        };
        for draft in &status.drafts {
            add(&draft.path, &draft.state, draft.percent, &draft.status);
        }
        for job in &status.jobs {
            add(&job.path, &job.state, job.percent, &job.status);
        }
        let transfers = status.transfers.iter();
        for transfer in transfers.filter(|it| it.direction == Direction::Down) {
            let percent = step(transfer.done_bytes * 100 / transfer.total_bytes.max(1));
            let text = format!("downloading {percent}%");
            now.insert(transfer.path.clone(), (Told::Status(text.clone()), text));
        }
        let is_new =
            |(path, (told, _)): &(&String, &(Told, String))| self.told.get(*path) != Some(told);
        let news = now.iter().filter(is_new);
        let said = |path: &str, text: &str| format!("{}: {text}", path_below(root, path));
        let news = news.map(|(path, (_, text))| said(path, text));
        let gone = self.told.keys().filter(|path| !now.contains_key(*path));
        let gone = gone.map(|path| said(path, &end_of(path)));
        let failed: BTreeSet<String> = other_failures(status)
            .map(|(word, line)| said(&line.path, &format!("{word}: {}", line.why)))
            .collect();
        let new_failures = failed.difference(&self.failed).cloned();
        let lines = news.chain(gone).chain(new_failures).collect();
        self.failed = failed;
        self.told = now
            .into_iter()
            .map(|(path, (told, _))| (path, told))
            .collect();
        lines
    }
}

fn step(percent: u64) -> u64 {
    percent / PERCENT_STEP * PERCENT_STEP
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::{DraftStatus, FailureLine, TransferStatus};

    #[test]
    fn without_a_terminal_each_change_is_one_line() {
        let mut changes = Changes::default();
        let mut shown = |state: &StatusWord, percent, status: &str| {
            let draft = DraftStatus {
                path: "/rawmodels/chair".into(),
                state: state.clone(),
                percent,
                status: status.into(),
                ..DraftStatus::default()
            };
            let status = MountStatus {
                drafts: vec![draft],
                ..MountStatus::default()
            };
            changes.lines(Path::new("/mnt"), &status, |_| {
                unreachable!("nothing is gone")
            })
        };
        let is_told = |text: &str| vec![format!("/mnt/rawmodels/chair: {text}")];
        let nothing: Vec<String> = Vec::new();
        let settling = StatusWord::Settling;
        assert_eq!(
            shown(&settling, None, "settling 34 s"),
            is_told("settling 34 s")
        );
        assert_eq!(shown(&settling, None, "settling 33 s"), nothing);
        let uploading = StatusWord::Uploading;
        for (percent, told) in [(41, true), (44, false), (50, true)] {
            let text = format!("uploading {percent}%");
            let expected = if told {
                is_told(&text)
            } else {
                nothing.clone()
            };
            assert_eq!(shown(&uploading, Some(percent), &text), expected);
        }
        let idle = MountStatus::default();
        let lines = changes.lines(Path::new("/mnt"), &idle, |_| "complete".to_owned());
        assert_eq!(lines, is_told("complete"));
    }

    #[test]
    fn a_failure_is_named_with_its_reason_once() {
        let mut changes = Changes::default();
        let failure = |why: &str| FailureLine {
            path: "/rawmodels/pair".into(),
            why: why.into(),
            at: None,
        };
        let status = MountStatus {
            failures: vec![failure("sent without wood.png")],
            refused: vec![failure("it is in a zip")],
            ..MountStatus::default()
        };
        let mut lines = || changes.lines(Path::new("/mnt"), &status, |_| String::new());
        let told = [
            "/mnt/rawmodels/pair: failed: sent without wood.png",
            "/mnt/rawmodels/pair: refused: it is in a zip",
        ];
        assert_eq!(lines(), told);
        assert_eq!(lines(), Vec::<String>::new());
    }

    #[test]
    fn the_rate_of_a_download_is_what_came_between_two_looks() {
        let mut rates = Rates::default();
        let mut status = MountStatus::default();
        let start = Instant::now();
        let mut download = |done, at: u64| {
            status.transfers = vec![TransferStatus {
                path: "a".into(),
                direction: Direction::Down,
                done_bytes: done,
                total_bytes: 1000,
                ..TransferStatus::default()
            }];
            status.traffic.fetched_bytes = done;
            rates.fill_in(&mut status, start + Duration::from_secs(at));
            (
                status.transfers[0].bytes_per_second,
                status.transfers[0].seconds_left,
                rates.down,
            )
        };
        assert_eq!(download(100, 0), (None, None, 0));
        assert_eq!(download(300, 2), (Some(100), Some(7), 100));
    }
}
