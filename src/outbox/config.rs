//! How the outbox is opened.

use std::path::PathBuf;
use std::time::Duration;

/// Settings of one outbox.
#[derive(Debug, Clone)]
pub struct OutboxConfig {
    /// The private directory of one account: journal and staged bytes live below it.
    pub dir: PathBuf,
    /// How long a whole, well-referenced copy has to be quiet; scales the other waiting times.
    pub settle: Duration,
    /// How many files are sent at once, over all drafts.
    pub parallel_puts: usize,
    /// How long a lost optimize reply is looked for.
    pub look_for_lost: Duration,
    /// How long `submit_job` and the preset calls wait for an answer.
    pub answer_within: Duration,
    /// The first pause between two looks at running work; later ones grow.
    pub first_poll: Duration,
    /// Nothing goes out by itself: drafts can be made and read.
    pub paused: bool,
}

impl OutboxConfig {
    /// The defaults, for the given private directory.
    pub fn new(dir: impl Into<PathBuf>) -> OutboxConfig {
        OutboxConfig {
            dir: dir.into(),
            settle: Duration::from_secs(2),
            parallel_puts: 6,
            look_for_lost: Duration::from_secs(60),
            answer_within: Duration::from_secs(10),
            first_poll: Duration::from_millis(500),
            paused: false,
        }
    }
}
