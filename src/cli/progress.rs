//! Progress on standard error: a bar at a terminal, a line for each change elsewhere.

use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

/// Progress of several things at once.
pub(super) struct Progress {
    bars: Option<MultiProgress>,
    quiet: bool,
}

/// Progress of one thing.
pub(super) struct Task {
    name: String,
    bar: Option<ProgressBar>,
    quiet: bool,
    said: String,
}

impl Progress {
    /// `quiet` shows nothing at all.
    pub(super) fn new(quiet: bool) -> Progress {
        let watched = io::stderr().is_terminal() && !quiet;
        Progress {
            bars: watched.then(MultiProgress::new),
            quiet,
        }
    }

    pub(super) fn task(&self, name: impl Into<String>) -> Task {
        let name = name.into();
        let bar = self.bars.as_ref().map(|bars| {
            let style = ProgressStyle::with_template("{prefix} {bar:30.cyan/dim} {wide_msg}")
                .expect("the template is well-formed")
                .progress_chars("━━╌");
            let bar = bars.add(ProgressBar::new(100).with_style(style));
            bar.set_prefix(name.clone());
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        });
        Task {
            name,
            bar,
            quiet: self.quiet,
            said: String::new(),
        }
    }
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
            None if !self.quiet && self.said != status => eprintln!("{}: {status}", self.name),
            None => {}
        }
        status.clone_into(&mut self.said);
    }

    /// Shows the final status.
    pub(super) fn finish(mut self, status: &str) {
        self.show(status);
        if let Some(bar) = &self.bar {
            bar.set_position(100);
            bar.finish();
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
    fn the_percentage_is_found_in_a_status() {
        assert_eq!(percent_in("uploading 43%"), Some(43));
        assert_eq!(percent_in("running 40% (simplify)"), Some(40));
        assert_eq!(percent_in("analysing"), None);
        assert_eq!(percent_in("%"), None);
    }
}
