//! How the outbox is opened.

use std::path::PathBuf;
use std::time::Duration;

/// Settings of one outbox.
#[derive(Debug, Clone)]
pub struct OutboxConfig {
    /// The private directory of one account, with the journal and the staged bytes.
    pub dir: PathBuf,
    /// Uid of the user of the drive. Files that another user makes belong to that user. With `None` all files belong to
    /// the user of the drive.
    pub owner: Option<u32>,
    /// How long nothing may change before a complete draft is sent. The other waiting times scale with it.
    pub settle: Duration,
    /// The same for a loose file to which nobody appends, once its writer has ended; `None` as for others.
    pub settle_loose: Option<Duration>,
    /// Files that are sent in parallel, over all drafts.
    pub parallel_puts: usize,
    /// How long to search for an optimization whose reply was lost.
    pub look_for_lost: Duration,
    /// How long submitting a job and saving a preset wait for the reply.
    pub answer_within: Duration,
    /// The first pause between two polls of running work; later pauses grow.
    pub first_poll: Duration,
    /// Sends nothing: drafts can only be made and read.
    pub paused: bool,
    /// Deletes no old version of a model, although it was asked for; a later run does.
    pub keep_old_versions: bool,
    /// Who sends, as noted on what is sent. With `None` nothing is noted.
    pub made_by: Option<String>,
}

impl OutboxConfig {
    /// The defaults, for the given private directory.
    pub fn new(dir: impl Into<PathBuf>) -> OutboxConfig {
        OutboxConfig {
            dir: dir.into(),
            owner: None,
            settle: Duration::from_secs(2),
            settle_loose: None,
            parallel_puts: 6,
            look_for_lost: Duration::from_secs(60),
            answer_within: Duration::from_secs(10),
            first_poll: Duration::from_millis(500),
            paused: false,
            keep_old_versions: false,
            made_by: None,
        }
    }
}
