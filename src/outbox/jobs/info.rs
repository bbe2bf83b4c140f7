//! The files of drop folders as callers see them.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::outbox::ids::Maker;
use crate::outbox::status::ItemStatus;
use crate::wire::{EmbedId, RapidId};

/// The state of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// Not submitted: empty, a temporary name, or just written.
    Editing,
    /// Submitted; sent when the asset is complete or the service answers again.
    Waiting,
    /// The service has it, or it is being sent.
    Queued,
    /// The service works on it.
    Running { percent: u8 },
    /// Its result exists.
    Done,
    /// It was refused, or failed on the service.
    Failed {
        /// Why, as a sentence.
        reason: String,
    },
    /// It is unknown whether the service has it. It is not sent again automatically.
    Unknown,
}

impl JobState {
    /// True from the wish to send it until its outcome is known. If it is unknown whether the service has it, it counts too,
    /// because sending it again could pay twice.
    pub fn is_under_way(&self) -> bool {
        match self {
            JobState::Waiting | JobState::Queued | JobState::Running { .. } | JobState::Unknown => {
                true
            }
            JobState::Editing | JobState::Done | JobState::Failed { .. } => false,
        }
    }
}

/// A file of a drop folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobInfo {
    /// Its name, with the extension.
    pub name: String,
    /// The text that was written.
    pub text: Vec<u8>,
    pub state: JobState,
    /// The status, with the obstacle that it waits for.
    pub status: ItemStatus,
    /// The last failure, as a sentence.
    pub failure: Option<String>,
    /// The rapid model, once it is known.
    pub rapid: Option<RapidId>,
    /// The known rapid models of a job for several assets.
    pub rapids: Vec<RapidId>,
    /// The embed, once it is known.
    pub embed: Option<EmbedId>,
    /// When the text was written.
    pub mtime: SystemTime,
    /// Who made the file, if not the owner of the drive.
    pub maker: Option<Maker>,
}
