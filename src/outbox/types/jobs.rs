//! What the files of drop folders and of the presets folder look like.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::DraftId;
use crate::wire::{AssetId, EmbedId, PresetId, RapidId};

/// Whose folder a job was dropped into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnerFolder {
    /// A draft that has been accepted; the same folder as its asset's.
    Draft(DraftId),
    /// An asset.
    Asset(AssetId),
}

/// A drop folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobFolder {
    /// `optimize/` of an asset.
    Optimize(OwnerFolder),
    /// `embeds/` of an asset.
    Embeds(OwnerFolder),
    /// `embeds/` of a rapid model.
    RapidEmbeds(RapidId),
    /// `jobs/`: optimizations of several assets in one request.
    Multi,
}

impl JobFolder {
    /// The draft or asset whose folder it is in.
    pub fn owner(self) -> Option<OwnerFolder> {
        match self {
            JobFolder::Optimize(owner) | JobFolder::Embeds(owner) => Some(owner),
            JobFolder::RapidEmbeds(_) | JobFolder::Multi => None,
        }
    }

    /// The same folder of another owner.
    pub fn of_owner(self, owner: OwnerFolder) -> JobFolder {
        match self {
            JobFolder::Optimize(_) => JobFolder::Optimize(owner),
            JobFolder::Embeds(_) => JobFolder::Embeds(owner),
            JobFolder::RapidEmbeds(_) | JobFolder::Multi => self,
        }
    }
}

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
    /// Nobody can tell whether the service has it; it is not sent again by itself.
    Unknown,
}

impl JobState {
    /// The one line of the job's status file.
    pub fn status_text(&self) -> String {
        match self {
            JobState::Editing => "not sent".to_owned(),
            JobState::Waiting => "waiting".to_owned(),
            JobState::Queued => "queued".to_owned(),
            JobState::Running { percent } => format!("running {percent}%"),
            JobState::Done => "done".to_owned(),
            JobState::Failed { reason } => format!("failed: {reason}"),
            JobState::Unknown => "unknown".to_owned(),
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
    /// How far it is.
    pub state: JobState,
    /// The one line of its status file: the state, and what it waits for.
    pub status_text: String,
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

/// How far the text of a preset file is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PresetState {
    /// Kept here alone: a temporary or backup name, or an empty file.
    Local,
    /// On its way to the service.
    Queued,
    /// The service has it.
    Saved {
        /// The preset on the service.
        preset: PresetId,
    },
    /// Refused.
    Failed {
        /// Why, as a sentence.
        reason: String,
    },
}

/// A file of the presets folder that is held here: temporary, on its way, or refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresetFile {
    /// Its name, with the extension.
    pub name: String,
    /// The text that was written.
    pub text: Vec<u8>,
    /// How far it is.
    pub state: PresetState,
    /// What it is for, as far as that was said here.
    pub description: Option<String>,
    /// When the text was written.
    pub mtime: SystemTime,
}

/// A preset that this outbox changed on the service, until a later list of presets shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedPreset {
    /// The file, with the extension.
    pub name: String,
    /// The preset.
    pub preset: PresetId,
    /// The text that the service has.
    pub text: Vec<u8>,
    /// What it is for, as far as that was said here.
    pub description: Option<String>,
    /// When the text was written.
    pub mtime: SystemTime,
}

/// What the outbox adds to, and takes from, the service's list of presets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PresetOverlay {
    /// How often a preset was changed on the service in this run: `saved` is news when it grows.
    pub saves: u64,
    /// What the service has since, in place of what earlier lists say.
    pub saved: Vec<SavedPreset>,
    /// Files held here. One with a service's preset of the same name stands for it.
    pub files: Vec<PresetFile>,
    /// Presets whose file was renamed to a backup name: not shown under their own.
    pub hidden: Vec<PresetId>,
}
