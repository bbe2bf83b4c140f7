//! What the files of drop folders look like from outside.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::outbox::status::ItemStatus;
use crate::wire::{EmbedId, RapidId};

/// How far a job is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// A text that has not been submitted: empty, a temporary name, or just written.
    Editing,
    /// Submitted; goes out when the asset is complete or the service answers again.
    Waiting,
    /// The service has it, or is being asked.
    Queued,
    /// The service works on it.
    Running {
        /// How far, from 0 to 100.
        percent: u8,
    },
    /// What it asked for is there.
    Done,
    /// Refused, or it failed on the service.
    Failed {
        /// Why, as a sentence.
        reason: String,
    },
    /// It cannot be found out whether the service has it; it is not sent again by itself.
    Unknown,
}

/// A file of a drop folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobInfo {
    /// Its name, with the extension.
    pub name: String,
    /// The text that was written.
    pub text: Vec<u8>,
    /// How far it is.
    pub state: JobState,
    /// The same for its status file, with what it waits for.
    pub status: ItemStatus,
    /// The last failure, as a sentence.
    pub failure: Option<String>,
    /// The rapid model, as soon as it is known.
    pub rapid: Option<RapidId>,
    /// All rapid models of a job for several assets, as far as they are known.
    pub rapids: Vec<RapidId>,
    /// The embed, as soon as it is known.
    pub embed: Option<EmbedId>,
    /// When the text was written.
    pub mtime: SystemTime,
}
