//! One event, as a line of JSON. Programs read it, so fields are added, never renamed.

use serde::{Deserialize, Serialize};

use crate::outbox::StatusWord;

/// One change on a drive.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DriveEvent {
    /// Number of the event since the drive was mounted; without gaps but for lost events.
    pub seq: u64,
    /// When the drive noticed it, in UTC.
    pub time: String,
    pub kind: EventKind,
    /// Path from the top of the drive. Only `lost` has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The path before a rename.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<ItemKind>,
    /// The service's id, once known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// The state of a draft, a model or a job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<StatusWord>,
    /// How much of the present step is done, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<u8>,
    /// The state as one line for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How many events a reader that was too slow has missed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
}

/// What happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// It is new.
    Created,
    /// Its content, or its tags, changed.
    #[default]
    Changed,
    /// It is gone.
    Removed,
    /// It has another path.
    Renamed,
    /// Its state, or the progress of it, changed.
    State,
    /// The reader was too slow and has missed events.
    Lost,
}

/// What changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    /// A source model, or its draft.
    Model,
    /// An optimized model.
    RapidModel,
    Embed,
    Preset,
    /// The text of an optimization or an embed in a drop folder.
    Job,
    /// A file of a model, or a folder of files.
    Files,
}
