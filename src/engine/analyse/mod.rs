//! What is in a model: true counts for `rpd_info.json`, run data for `metrics.json`, and the logs.

mod info;
mod metrics;

pub use info::{counts, rpd_info};
pub use metrics::Metrics;

/// The three logs of a job.
#[derive(Debug, Clone, Default)]
pub struct Logs {
    /// What was done.
    pub info: Vec<String>,
    /// What was not done as requested, or may be unexpected.
    pub warnings: Vec<String>,
    /// Why it failed.
    pub errors: Vec<String>,
}

/// Lines beyond this are counted instead of written.
const MAX_LINES: usize = 500;

impl Logs {
    /// The text of a log: a line for each entry.
    pub fn text(lines: &[String]) -> String {
        let mut text = String::new();
        for line in lines.iter().take(MAX_LINES) {
            text.push_str(&line.replace(['\n', '\r'], " "));
            text.push('\n');
        }
        if lines.len() > MAX_LINES {
            text.push_str(&format!("… and {} more\n", lines.len() - MAX_LINES));
        }
        text
    }
}
