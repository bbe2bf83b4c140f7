//! Describes a model and its job: counts for `rpd_info.json`, times and memory for `metrics.json`, and the logs.

mod info;
mod metrics;

use assetfs_formats::printable::printable;
use assetfs_formats::warnings::Warning;

pub use info::{ModelCounts, counts, rpd_info};
pub use metrics::Metrics;

/// The three logs of a job.
#[derive(Debug, Clone, Default)]
pub struct Logs {
    /// The steps that were done.
    pub info: Vec<String>,
    /// Requests that were not fulfilled, and results that may be unexpected.
    pub warnings: Vec<Warning>,
    /// Why the job failed; empty if it succeeded.
    pub errors: Vec<String>,
}

/// Maximum number of lines in a log; further lines are only counted.
const MAX_LINES: usize = 500;

impl Logs {
    /// The text of a log: a line for each entry, without control characters of names that it quotes.
    pub fn text(lines: &[impl ToString]) -> String {
        let mut text = String::new();
        for line in lines.iter().take(MAX_LINES) {
            text.push_str(&printable(&line.to_string()));
            text.push('\n');
        }
        if lines.len() > MAX_LINES {
            text.push_str(&format!("… and {} more\n", lines.len() - MAX_LINES));
        }
        text
    }
}
