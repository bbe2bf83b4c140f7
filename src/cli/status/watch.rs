//! `assetfs status --watch`: bars of what is uploaded and downloaded, rates and the queue. On a terminal the picture is
//! redrawn in place; elsewhere each change is a line. Ctrl-C ends it.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};
use tokio_util::sync::CancellationToken;

use super::super::exit::Exit;
use super::super::interrupts::Interrupts;
use super::super::mounted::MountedDrive;
use super::frame::frame;
use crate::drive::{Direction, MountStatus, StatusWord};

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
    Interrupts::new()?.cancel(&stop);
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
        let mut status = drive.status()?;
        rates.fill_in(&mut status, Instant::now());
        match &mut screen {
            Some(screen) => screen.show(drive.root(), &status, rates.down),
            None => changes
                .lines(&status)
                .iter()
                .for_each(|line| println!("{line}")),
        }
    }
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
            self.lines[at].set_message(text);
            self.lines[at].tick();
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

/// The last line that was printed for each path.
#[derive(Default)]
struct Changes {
    told: BTreeMap<String, String>,
}

impl Changes {
    /// A line for each path of which there is something new to tell.
    fn lines(&mut self, status: &MountStatus) -> Vec<String> {
        let mut now: BTreeMap<String, String> = BTreeMap::new();
        for draft in &status.drafts {
            let text = match (draft.state.clone(), draft.percent) {
                (StatusWord::Uploading, Some(percent)) => {
                    format!("uploading {}%", step(percent.into()))
                }
                _ => draft.status.clone(),
            };
            now.insert(draft.path.clone(), text);
        }
        for job in &status.jobs {
            now.insert(job.path.clone(), job.status.clone());
        }
        let transfers = status.transfers.iter();
        for transfer in transfers.filter(|it| it.direction == Direction::Down) {
            let percent = transfer.done_bytes * 100 / transfer.total_bytes.max(1);
            let text = format!("downloading {}%", step(percent));
            now.insert(transfer.path.clone(), text);
        }
        let is_new = |(path, text): &(&String, &String)| self.told.get(*path) != Some(*text);
        let news = now.iter().filter(is_new);
        let news = news.map(|(path, text)| format!("{path}: {text}"));
        let gone = self.told.keys().filter(|path| !now.contains_key(*path));
        let gone = gone.map(|path| format!("{path}: over"));
        let lines = news.chain(gone).collect();
        self.told = now;
        lines
    }
}

fn step(percent: u64) -> u64 {
    percent / PERCENT_STEP * PERCENT_STEP
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::{DraftStatus, TransferStatus};

    #[test]
    fn without_a_terminal_each_change_is_one_line() {
        let mut changes = Changes::default();
        let mut status = MountStatus::default();
        let mut draft = DraftStatus {
            path: "/rawmodels/chair".into(),
            state: StatusWord::Uploading,
            percent: Some(41),
            ..DraftStatus::default()
        };
        status.drafts = vec![draft.clone()];
        assert_eq!(changes.lines(&status), ["/rawmodels/chair: uploading 40%"]);
        draft.percent = Some(44);
        status.drafts = vec![draft.clone()];
        assert_eq!(changes.lines(&status), [""; 0]);
        draft.percent = Some(50);
        status.drafts = vec![draft];
        assert_eq!(changes.lines(&status), ["/rawmodels/chair: uploading 50%"]);
        status.drafts.clear();
        assert_eq!(changes.lines(&status), ["/rawmodels/chair: over"]);
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
