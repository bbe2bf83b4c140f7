//! What the engine says when it cannot go on: one sentence for the person who made the model.
//!
//! Each part of the engine has its own error type; here they meet. The texts name the file and the
//! place in it, never a line of our code.

use std::path::PathBuf;

use super::export::ExportError;
use super::import::ImportError;
use super::manipulate::NothingLeft;
use super::settings::SettingsError;

/// Why a job failed.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The upload cannot be read as a model.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The configuration asks for something in a way we cannot read.
    #[error("the configuration is not valid: {0}")]
    Settings(#[from] SettingsError),
    /// The settings leave no triangle of the model.
    #[error("nothing is left of the model: {0}")]
    NothingLeft(#[from] NothingLeft),
    /// The result cannot be written in the format asked for.
    #[error("{0}")]
    Export(String),
    /// An allocation failed, most likely at the limit of the process.
    #[error("processing needs more memory than its limit")]
    OutOfMemory,
    /// A mistake of ours.
    #[error("the engine failed on this model ({0}); this is a bug in the engine, not in the model")]
    Internal(String),
    /// The disk said no.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

impl From<ExportError> for EngineError {
    fn from(error: ExportError) -> Self {
        EngineError::Export(error.to_string())
    }
}
