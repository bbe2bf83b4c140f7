//! Export: from a scene to the bytes of files.
//!
//! Writers return files in memory; only the job puts them on disk. What a format cannot hold is said
//! as a warning, never dropped in silence.

pub mod gltf;
mod names;
mod views;

use bytes::Bytes;

pub use names::{Names, safe};

use super::words::grouped;

/// A file to be written.
#[derive(Debug, Clone)]
pub struct OutFile {
    /// Its name in the export folder.
    pub name: String,
    /// Its content.
    pub bytes: Bytes,
}

/// Why a scene cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The format cannot hold so much.
    #[error("the result is too large for a {format} file ({} bytes)", grouped(*bytes))]
    TooLarge {
        /// The format.
        format: &'static str,
        /// What it would need.
        bytes: u64,
    },
    /// The format is known and not written yet.
    #[error("exporting {format} is not supported")]
    NotYet {
        /// The format.
        format: &'static str,
    },
    /// Nothing is left to write.
    #[error("the result holds no geometry, so there is nothing to export")]
    Empty,
}
