//! What jobs need to know of drafts and presets. The owner of the three machines answers.

use futures_util::future::BoxFuture;

use crate::client::ClientError;
use crate::outbox::error::OutboxResult;
use crate::outbox::ids::DraftId;
use crate::wire::AssetId;

/// How far the model is whose drop folder a job is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DraftModel {
    /// The draft was not accepted by the service yet.
    Expected,
    Asset(AssetId),
    /// The draft was removed before it was sent.
    Removed,
}

/// The outcome of saving a preset that a job names.
#[derive(Debug)]
pub enum PresetSaved {
    /// Saved, or there was nothing to save.
    Saved,
    Refused(String),
    /// The service could not be asked.
    Trouble(ClientError),
}

pub trait JobNeeds: Send + Sync {
    /// May be called while jobs are locked, so it must not lock them.
    fn model_of(&self, draft: DraftId) -> DraftModel;

    /// The file whose text is to become the preset of this name, or was refused as such.
    fn unsaved_preset(&self, preset: &str) -> Option<String>;

    /// Saves the text of a preset file.
    fn save_preset<'a>(&'a self, file: &'a str) -> BoxFuture<'a, OutboxResult<PresetSaved>>;
}
