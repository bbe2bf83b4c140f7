//! A model of our own: a wooden chair of about 300,000 triangles, generated in code.
//!
//! The same detail gives the same bytes on every machine. Needs no outside data.

use std::path::{Path, PathBuf};

/// How much of the chair is generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChairDetail {
    /// About 300,000 triangles and 2048² textures.
    Full,
    /// The same chair with a few thousand triangles and 128² textures, for tests.
    Small,
}

/// What [`write_chair`] wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChairFiles {
    /// The folder that holds all files, side by side.
    pub dir: PathBuf,
    /// The names, the model first: `chair.gltf`, `chair.bin`, then the images.
    pub names: Vec<String>,
    /// Triangles of all meshes together.
    pub triangles: u64,
    /// Bytes of all files together.
    pub bytes: u64,
}

/// Why the chair was not written.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// A file or the folder could not be written.
    #[error("cannot write {path}")]
    Write {
        /// What could not be written.
        path: PathBuf,
        /// The reason of the system.
        #[source]
        source: std::io::Error,
    },
}

/// Writes the full chair as separate files into `dir`, which is made when missing.
pub fn write_chair(dir: &Path) -> Result<ChairFiles, SampleError> {
    write_chair_with(dir, ChairDetail::Full)
}

/// Writes the chair in the given detail.
#[expect(clippy::todo, reason = "the signature lands first")]
pub fn write_chair_with(_dir: &Path, _detail: ChairDetail) -> Result<ChairFiles, SampleError> {
    todo!()
}
