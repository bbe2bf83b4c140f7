//! Progress on standard error: a bar at a terminal, a line for each change elsewhere.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use assetfs_formats::printable::printable;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::table::cut_inside;

/// How often a percentage is written if the output is not a terminal, but a file or the journal of systemd.
const LINE_PERIOD: Duration = Duration::from_secs(10);

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
    said: String,
    /// When the last percentage was written.
    counted: Option<Instant>,
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
            counted: self.is_of_many.then(Instant::now),
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
        let is_due = self.is_due(status);
        match &self.bar {
            Some(bar) => {
                if let Some(percent) = percent_in(status) {
                    bar.set_position(percent);
                }
                bar.set_message(status.to_owned());
            }
            None if !self.quiet && self.said != status && is_due => {
                eprintln!("{}: {status}", self.name);
            }
            None => {}
        }
        status.clone_into(&mut self.said);
    }

    /// A percentage may change several times a second; every other status is written at once.
    fn is_due(&mut self, status: &str) -> bool {
        if percent_in(status).is_none() {
            self.counted = None;
            return true;
        }
        let is_due = self
            .counted
            .is_none_or(|counted| counted.elapsed() >= LINE_PERIOD);
        if is_due {
            self.counted = Some(Instant::now());
        }
        is_due
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
            None => self.show(status),
        }
    }
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
        let mut task = Progress::new(false).task("sending");
        task.bar = None;
        assert!(task.is_due("uploading 1%"));
        assert!(!task.is_due("uploading 2%"));
        assert!(task.is_due("importing"));
        assert!(task.is_due("running 3%") && !task.is_due("running 4%"));
        task.counted = Instant::now().checked_sub(LINE_PERIOD);
        assert!(task.is_due("running 5%"));
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
