//! The texts of the presets folder that are held here, as the journal has them. Pure.
//!
//! A text stays in the book after the service took it. Until a list of presets that was requested later has arrived,
//! it replaces what the service lists: earlier answers, and what an earlier mount knew, have the old text. After that it
//! is kept as the form in which the service's value is shown, until another value is listed. A preset whose file was
//! renamed to a backup name is parked, so that the file that then appears under the old name updates the same preset.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::outbox::ids::Maker;
use crate::outbox::journal::Journaled;
use crate::outbox::journal::forms::Blob;
use crate::outbox::moment::Moment;
use crate::wire::PresetId;

/// A text held here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeldPreset {
    pub text: Blob,
    pub at: Moment,
    /// Who made the file, if not the owner of the drive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maker: Option<Maker>,
    /// The description to send with the preset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// It is to be saved on the service.
    #[serde(default)]
    pub wanted: bool,
    /// A request to save it went out, and its outcome is not known.
    #[serde(default)]
    pub in_doubt: bool,
    /// Why it was refused.
    #[serde(default)]
    pub failure: Option<String>,
    /// The preset that has the text on the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<PresetId>,
    /// A list of presets that was requested after the text was saved had its value.
    #[serde(default)]
    pub listed: bool,
}

impl HeldPreset {
    /// True while the service does not have the text.
    pub fn is_local(&self) -> bool {
        self.saved.is_none()
    }

    fn mark_saved(&mut self, preset: PresetId) {
        self.saved = Some(preset);
        self.wanted = false;
        self.in_doubt = false;
        self.failure = None;
    }
}

/// A preset whose file has a backup name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackedUpPreset {
    pub preset: PresetId,
    /// The backup's name.
    pub backup: String,
}

/// A change of the presets folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PresetRecord {
    /// A text was written.
    TextKept {
        name: String,
        text: Blob,
        at: Moment,
        /// It is to be saved on the service.
        wanted: bool,
        /// Who made the file, if it is new.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        maker: Option<Maker>,
    },
    /// It was said what the preset of a held text is for.
    Described { name: String, description: String },
    /// A held text has another name; one at the target is gone.
    Renamed { from: String, to: String },
    /// A held text is dropped.
    Dropped { name: String },
    /// A preset's file was renamed to a backup name.
    Parked {
        /// The file's old name.
        name: String,
        preset: PresetId,
        /// The backup's name.
        backup: String,
        /// The preset's text.
        text: Blob,
        at: Moment,
    },
    /// A parked preset shows under its own name again.
    Unparked {
        /// The file's old name.
        name: String,
    },
    /// A request to save a text is about to go out.
    Sent { name: String },
    /// The service has the text.
    Saved {
        name: String,
        /// The preset that has it. Earlier versions did not record it and dropped the text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        preset: Option<PresetId>,
    },
    /// The service gave a preset another name.
    RenamedThere {
        /// The file's new name.
        name: String,
        preset: PresetId,
        text: Blob,
        at: Moment,
    },
    /// A list of presets that was requested after the text was saved had its value. Earlier versions wrote
    /// this for any value, and dropped the text.
    Listed { name: String },
    /// It was refused.
    Refused { name: String, reason: String },
    /// What was written last found no room in the journal, so its `close` failed: the file is again what it was before.
    PutBack {
        name: String,
        before: Option<HeldPreset>,
    },
}

impl Journaled for PresetRecord {
    const KIND: &'static str = "preset";

    fn adds_data(&self) -> bool {
        matches!(self, PresetRecord::TextKept { .. })
    }
}

/// All that is held of the presets folder.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PresetBook {
    /// Texts by file name.
    pub held: BTreeMap<String, HeldPreset>,
    /// Parked presets by their file's old name.
    pub parked: BTreeMap<String, BackedUpPreset>,
}

impl PresetBook {
    pub fn apply(&mut self, record: &PresetRecord) {
        match record {
            PresetRecord::TextKept {
                name,
                text,
                at,
                wanted,
                maker,
            } => {
                let is_new = !self.held.contains_key(name);
                let held = self.hold(name, text, *at, *wanted);
                held.maker = if is_new { *maker } else { held.maker };
            }
            PresetRecord::Described { name, description } => {
                if let Some(held) = self.held.get_mut(name) {
                    held.description = Some(description.clone());
                }
            }
            PresetRecord::Renamed { from, to } => {
                if let Some(held) = self.held.remove(from) {
                    self.held.insert(to.clone(), held);
                }
                for parked in self.parked.values_mut().filter(|it| it.backup == *from) {
                    parked.backup.clone_from(to);
                }
            }
            PresetRecord::Dropped { name } => {
                self.held.remove(name);
                self.parked.retain(|_, parked| parked.backup != *name);
            }
            PresetRecord::Parked {
                name,
                preset,
                backup,
                text,
                at,
            } => {
                self.hold(backup, text, *at, false);
                let parked = BackedUpPreset {
                    preset: *preset,
                    backup: backup.clone(),
                };
                self.parked.insert(name.clone(), parked);
            }
            PresetRecord::Unparked { name } => drop(self.parked.remove(name)),
            PresetRecord::PutBack { name, before } => {
                self.held.remove(name);
                let before = before.iter().map(|held| (name.clone(), held.clone()));
                self.held.extend(before);
            }
            _ => self.apply_outcome(record),
        }
    }

    /// The records about what the service was asked.
    fn apply_outcome(&mut self, record: &PresetRecord) {
        match record {
            PresetRecord::Sent { name } => {
                if let Some(held) = self.held.get_mut(name) {
                    held.in_doubt = true;
                }
            }
            PresetRecord::Saved { name, preset: None } => {
                self.held.remove(name);
                self.parked.remove(name);
            }
            PresetRecord::Saved {
                name,
                preset: Some(preset),
            } => {
                // A text that was written under another name is not the preset's any more.
                self.held
                    .retain(|other, held| other == name || held.saved != Some(*preset));
                if let Some(held) = self.held.get_mut(name) {
                    held.mark_saved(*preset);
                }
                self.parked.remove(name);
            }
            PresetRecord::RenamedThere {
                name,
                preset,
                text,
                at,
            } => {
                self.held.retain(|_, held| held.saved != Some(*preset));
                self.hold(name, text, *at, false).mark_saved(*preset);
                self.parked.remove(name);
                self.parked.retain(|_, parked| parked.preset != *preset);
            }
            PresetRecord::Listed { name } => {
                if let Some(held) = self.held.get_mut(name) {
                    held.listed = !held.is_local();
                }
            }
            PresetRecord::Refused { name, reason } => {
                if let Some(held) = self.held.get_mut(name) {
                    held.wanted = false;
                    held.in_doubt = false;
                    held.failure = Some(reason.clone());
                }
            }
            PresetRecord::TextKept { .. }
            | PresetRecord::Described { .. }
            | PresetRecord::Renamed { .. }
            | PresetRecord::Dropped { .. }
            | PresetRecord::Parked { .. }
            | PresetRecord::Unparked { .. }
            | PresetRecord::PutBack { .. } => unreachable!("is about a file"),
        }
    }

    fn hold(&mut self, name: &str, text: &Blob, at: Moment, wanted: bool) -> &mut HeldPreset {
        let before = self.held.remove(name);
        let held = HeldPreset {
            text: text.clone(),
            at,
            maker: before.as_ref().and_then(|held| held.maker),
            description: before.and_then(|held| held.description),
            wanted,
            in_doubt: false,
            failure: None,
            saved: None,
            listed: false,
        };
        self.held
            .entry(name.to_owned())
            .insert_entry(held)
            .into_mut()
    }
}
