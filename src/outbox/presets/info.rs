//! The files of the presets folder as other layers see them.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::wire::{OptimizerConfig, PresetId};

/// The state of the text of a preset file.
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
    pub state: PresetState,
    /// Its description, if one was set through the drive.
    pub description: Option<String>,
    /// When the text was written.
    pub mtime: SystemTime,
}

/// The written text of a preset that this outbox saved on the service.
#[derive(Debug, Clone, PartialEq)]
pub struct SavedPreset {
    /// The file, with the extension.
    pub name: String,
    pub preset: PresetId,
    /// The value of the text.
    pub config: OptimizerConfig,
    /// The text as it is shown: as it was written, or the configuration in a file of another kind (`.rpdx`).
    pub text: String,
    /// Its description, from the text or set through the drive.
    pub description: Option<String>,
    /// When the text was written.
    pub mtime: SystemTime,
    /// A later list of presets had this value. Until then the text replaces what lists say.
    pub is_listed: bool,
}

/// The differences between the presets folder and the service's list of presets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PresetOverlay {
    /// How often a preset was changed on the service in this run.
    pub saves: u64,
    /// Files held here. One of the same name as a preset of the service is shown in its place.
    pub files: Vec<PresetFile>,
    /// Presets whose file was renamed to a backup name: not shown under their own.
    pub hidden: Vec<PresetId>,
}
