//! Progress on standard error: a bar at a terminal, a line for each change elsewhere. There a status of which only the numbers
//! change is written again after growing pauses: a countdown would be a line a second.

use std::collections::HashMap;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use assetfs_formats::printable::printable;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::table::cut_inside;
use crate::backoff::Backoff;

/// How often a percentage is written if the output is not a terminal, but a file or the journal of systemd.
const LINE_PERIOD: Duration = Duration::from_secs(10);
/// The pauses before a status is written again whose percentage stands still: they double from the first to the second.
const REPEATS: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(3600));

/// Columns of a bar, as its template says.
const BAR_COLUMNS: usize = 20;
/// Columns that a status has at least, if the terminal is not very narrow.
const STATUS_COLUMNS: usize = 36;
const SHORTEST_NAME: usize = 16;
/// Columns of a terminal that does not say how many it has.
const USUAL_COLUMNS: usize = 80;

/// Progress of several things at once.
pub(super) struct Progress {
    bars: Option<MultiProgress>,
    quiet: bool,
    is_of_many: bool,
}

/// Progress of one thing.
pub(super) struct Task {
    name: String,
    bar: Option<ProgressBar>,
    quiet: bool,
    /// The last line.
    said: String,
    /// What was written, by its text without numbers.
    written: HashMap<String, WrittenStatus>,
    /// Earliest time of the next percentage.
    next_percentage_at: Instant,
}

/// A status that was written.
struct WrittenStatus {
    at: Instant,
    percent: Option<u64>,
    /// The pauses before it is written again.
    repeats: Backoff,
}

impl Progress {
    /// `quiet` shows nothing at all.
    pub(super) fn new(quiet: bool) -> Progress {
        let watched = io::stderr().is_terminal() && !quiet;
        Progress {
            bars: watched.then(MultiProgress::new),
            quiet,
            is_of_many: false,
        }
    }

    /// Progress of many short things: away from a terminal, one that takes no longer than [`LINE_PERIOD`] shows no percentage.
    pub(super) fn of_many(quiet: bool) -> Progress {
        Progress {
            is_of_many: true,
            ..Progress::new(quiet)
        }
    }

    /// Whether standard error is a terminal that shows it.
    pub(super) fn is_watched(&self) -> bool {
        self.bars.is_some()
    }

    pub(super) fn task(&self, name: impl Into<String>) -> Task {
        let name = printable(&name.into()).into_owned();
        let bar = self.bars.as_ref().map(|bars| {
            let style = ProgressStyle::with_template("{prefix} {bar:20.cyan/dim} {wide_msg}")
                .expect("the template is well-formed")
                .progress_chars("━━╌");
            let bar = bars.add(ProgressBar::new(100).with_style(style));
            bar.set_prefix(cut_inside(&name, name_columns()));
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        });
        Task {
            name,
            bar,
            quiet: self.quiet,
            said: String::new(),
            written: HashMap::new(),
            next_percentage_at: match self.is_of_many {
                true => Instant::now() + LINE_PERIOD,
                false => Instant::now(),
            },
        }
    }
}

/// The columns of a name: what the bar and a status of some words leave of the terminal.
fn name_columns() -> usize {
    let size = rustix::termios::tcgetwinsize(io::stderr());
    let width = size.map_or(0, |size| usize::from(size.ws_col));
    name_columns_of(width)
}

fn name_columns_of(width: usize) -> usize {
    let width = if width == 0 { USUAL_COLUMNS } else { width };
    let rest = width.saturating_sub(BAR_COLUMNS + STATUS_COLUMNS + 2);
    rest.max(SHORTEST_NAME)
}

impl Task {
    /// Whether standard error is a terminal.
    pub(super) fn is_watched(&self) -> bool {
        self.bar.is_some()
    }

    /// Shows `status`; a percentage in it moves the bar.
    pub(super) fn show(&mut self, status: &str) {
        match &self.bar {
            Some(bar) => {
                if let Some(percent) = percent_in(status) {
                    bar.set_position(percent);
                }
                bar.set_message(status.to_owned());
            }
            None => {
                if self.said != status && self.is_due(status, Instant::now()) {
                    self.say(status);
                }
            }
        }
    }

    fn say(&mut self, status: &str) {
        if !self.quiet {
            eprintln!("{}: {status}", self.name);
        }
        status.clone_into(&mut self.said);
    }

    /// Whether a status is written: at once if it has other words than all before it and no percentage, else once in a while. After
    /// progress, statuses from before it are new again: a wait that comes back is not the old one.
    fn is_due(&mut self, status: &str, now: Instant) -> bool {
        let percent = percent_in(status);
        if percent.is_none() {
            self.next_percentage_at = now;
        } else if now < self.next_percentage_at {
            return false;
        }
        let fresh = || Backoff::doubling(REPEATS.0, REPEATS.1);
        let words = without_numbers(status);
        let has_progress = self.written.get(&words).map(|it| it.percent) != Some(percent);
        let repeats = match self.written.get(&words) {
            None => fresh(),
            Some(before) => {
                let mut repeats = before.repeats;
                let pause = match has_progress {
                    true => LINE_PERIOD,
                    false => repeats.next_pause(),
                };
                if now < before.at + pause {
                    return false;
                }
                if has_progress { fresh() } else { repeats }
            }
        };
        if percent.is_some() && has_progress {
            self.written.clear();
        }
        let written = WrittenStatus {
            at: now,
            percent,
            repeats,
        };
        self.written.insert(words, written);
        if percent.is_some() {
            self.next_percentage_at = now + LINE_PERIOD;
        }
        true
    }

    /// Ends without a status, which the caller prints as an error.
    pub(super) fn fail(self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// Shows the final status: a line that stays, in the place of the bar.
    pub(super) fn finish(mut self, status: &str) {
        match &self.bar {
            Some(bar) => {
                bar.println(format!("{}: {status}", self.name));
                bar.finish_and_clear();
            }
            None if self.said != status => self.say(status),
            None => {}
        }
    }
}

fn without_numbers(status: &str) -> String {
    let mut words = String::new();
    for letter in status.chars() {
        match letter.is_ascii_digit() {
            true if words.ends_with('0') => {}
            true => words.push('0'),
            false => words.push(letter),
        }
    }
    words
}

/// The number before the first `%`.
fn percent_in(status: &str) -> Option<u64> {
    let before = &status[..status.find('%')?];
    let digits = before.rsplit(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_is_written_once_in_a_while_and_another_status_at_once() {
        let (mut task, now) = (Progress::new(false).task("sending"), Instant::now());
        assert!(task.is_due("uploading 1%", now));
        assert!(!task.is_due("uploading 12%", now));
        assert!(task.is_due("importing", now));
        assert!(task.is_due("running 3%", now) && !task.is_due("running 4%", now));
        assert!(task.is_due("running 5%", now + LINE_PERIOD));
        let mut short = Progress::of_many(false).task("one of many");
        assert!(!short.is_due("1% reading", now));
        assert!(short.is_due("2% reading", now + 2 * LINE_PERIOD));
        assert!(!short.is_due("3% drawing", now + 2 * LINE_PERIOD));
    }

    /// The lines of these statuses, one a second.
    fn lines(statuses: impl Iterator<Item = String>) -> Vec<String> {
        let (mut task, begun) = (Progress::new(false).task("waiting"), Instant::now());
        let seconds = statuses.enumerate();
        let written = seconds.filter(|(second, status)| {
            let now = begun + Duration::from_secs(*second as u64);
            task.is_due(status, now)
        });
        written.map(|(_, status)| status).collect()
    }

    #[test]
    fn a_day_without_the_service_is_some_lines_and_its_end_is_written() {
        // A minute's countdown, then a try of some seconds.
        let away = (0..86_400).map(|second| match second % 60 {
            left @ 0..55 => format!("waiting (it cannot be reached, next in {} s)", 55 - left),
            _ => "uploading 0% (it cannot be reached)".to_owned(),
        });
        let back = ["uploading 7%", "importing", "complete"].map(str::to_owned);
        let lines = lines(away.chain(back.clone()));
        assert!(lines[0].starts_with("waiting") && lines[1].starts_with("uploading 0%"));
        let (end, before) = (&lines[lines.len() - 3..], lines.len() - 3);
        assert_eq!(end, back);
        assert!(
            (10..=64).contains(&before),
            "{before} lines in a day: {lines:?}"
        );
    }

    #[test]
    fn another_reason_is_written_at_once() {
        let statuses = [
            "waiting (no route)",
            "waiting (refused)",
            "waiting (no route)",
        ];
        let lines = lines(statuses.map(str::to_owned).into_iter());
        assert_eq!(lines, statuses[..2]);
    }

    #[test]
    fn after_progress_a_status_that_comes_back_is_written_at_once() {
        let statuses = [
            "waiting (no route)",
            "uploading 4%",
            "waiting (no route)",
            "uploading 4%",
            "waiting (no route)",
        ];
        let lines = lines(statuses.map(str::to_owned).into_iter());
        assert_eq!(lines, statuses[..3], "the second time there is no progress");
    }

    #[test]
    fn a_status_has_room_beside_every_name() {
        for width in [0, 80, 100, 200] {
            let columns = if width == 0 { USUAL_COLUMNS } else { width };
            let used = name_columns_of(width) + BAR_COLUMNS + 2;
            assert!(columns - used >= STATUS_COLUMNS, "{width}");
        }
        assert_eq!(name_columns_of(40), SHORTEST_NAME);
    }

    #[test]
    fn the_percentage_is_found_in_a_status() {
        assert_eq!(percent_in("uploading 43%"), Some(43));
        assert_eq!(percent_in("running 40% (simplify)"), Some(40));
        assert_eq!(percent_in("importing"), None);
        assert_eq!(percent_in("%"), None);
    }
}
