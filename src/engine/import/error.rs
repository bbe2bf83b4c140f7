//! Why an upload cannot be imported, for the user who made it.

use super::super::document::DocumentError;
use super::super::intake::ZipError;

/// Why an upload cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A glTF or GLB file is damaged or refers to something that is not there.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// An archive is damaged or refused.
    #[error(transparent)]
    Zip(#[from] ZipError),
    /// Nothing in the upload is a model.
    #[error("no 3D model found: {0}")]
    NoModel(String),
    /// A kind of file that is known and not supported.
    #[error("{0}")]
    Unsupported(String),
    /// A file of another format is damaged.
    #[error("{file}: {what}")]
    Damaged { file: String, what: String },
    /// The model is beyond what one job may take.
    #[error("{file} is too large: {what}")]
    TooLarge { file: String, what: String },
}
