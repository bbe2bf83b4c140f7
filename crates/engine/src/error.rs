//! The error of a job, which joins the error types of the engine's modules.
//!
//! A message is one sentence for the user who made the model. It names the file and the place in it, no internals.

use std::path::PathBuf;

use super::export::ExportError;
use super::import::ImportError;
use super::manipulate::NothingLeft;
use super::render::PictureError;
use super::settings::SettingsError;

/// Why a job failed.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The upload cannot be read as a model.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The configuration has a value that cannot be read.
    #[error("the configuration is not valid: {0}")]
    Settings(#[from] SettingsError),
    /// The settings leave no triangle of the model.
    #[error("nothing is left of the model: {0}")]
    NothingLeft(#[from] NothingLeft),
    /// A picture of it would be empty.
    #[error("{0} has no triangles, so there is nothing to draw")]
    NothingToDraw(String),
    /// The result cannot be written in the requested format.
    #[error("{0}")]
    Export(String),
    /// An allocation failed, most likely at the limit of the process.
    #[error(
        "the model needs more memory than the limit of this job; reduce the model, or raise the memory limit"
    )]
    OutOfMemory,
    #[error(
        "internal error of the engine on this model ({0}); please report it, because the model is not at fault"
    )]
    Internal(String),
    #[error("{path}: {source}", path = path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
}

impl From<ExportError> for EngineError {
    fn from(error: ExportError) -> Self {
        EngineError::Export(error.to_string())
    }
}

impl From<PictureError> for EngineError {
    fn from(error: PictureError) -> Self {
        EngineError::Io {
            path: error.path,
            source: error.source,
        }
    }
}
