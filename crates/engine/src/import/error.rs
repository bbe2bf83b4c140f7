//! Errors of an import, for the user who made the upload.

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
    /// The file is a model without a triangle, line or point.
    #[error(
        "{0} has no geometry, so there is nothing to optimize; export it again with its meshes from the program that made it"
    )]
    NoGeometry(String),
    /// The format is known but not supported.
    #[error("{0}")]
    Unsupported(String),
    /// A file of another format is damaged.
    #[error("{file}: {what}")]
    Damaged { file: String, what: String },
    /// The model exceeds a limit of a job.
    #[error("{file} is too large: {what}")]
    TooLarge { file: String, what: String },
}

/// The reason to refuse a Gaussian splat: its points are no surface, so bare points would be a wrong result.
pub(super) fn gaussian_splat(file: &str) -> ImportError {
    ImportError::Unsupported(format!(
        "{file}: this is a Gaussian splat, which is not supported. Export a mesh (glTF, OBJ or PLY) from the program that made it"
    ))
}
