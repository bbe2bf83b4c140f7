//! The calls of drafts and presets that jobs need. The owner of the three machines implements them.

use futures_util::future::BoxFuture;

use crate::client::ClientError;
use crate::outbox::error::OutboxResult;
use crate::outbox::ids::DraftId;
use crate::wire::AssetId;

/// The model of a draft's drop folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DraftModel {
    /// The service has not accepted the draft yet.
    Expected,
    Asset(AssetId),
    /// The draft was removed before it was sent.
    Removed,
}

/// What this machine knows of an asset that it has uploaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportState {
    /// The service imports it; its end is announced by [`Events::assets`](crate::outbox::events::Events::assets).
    Importing,
    /// The service has just imported it.
    Imported,
    /// Only the service knows.
    Unknown,
}

/// The outcome of saving a preset that a job names.
#[derive(Debug)]
pub enum PresetSaved {
    Saved,
    Refused(String),
    /// The service cannot be reached.
    Trouble(ClientError),
}

pub trait JobDeps: Send + Sync {
    /// May be called while jobs are locked, so it must not lock them.
    fn model_of(&self, draft: DraftId) -> DraftModel;

    /// How far the import of an asset is, as far as this machine knows; sends no request.
    fn import_of(&self, asset: AssetId) -> ImportState;

    /// The file whose text is not saved as this preset yet, was refused, or is empty.
    fn unsaved_preset(&self, preset: &str) -> Option<String>;

    /// Saves the text of a preset file.
    fn save_preset<'a>(&'a self, file: &'a str) -> BoxFuture<'a, OutboxResult<PresetSaved>>;
}
