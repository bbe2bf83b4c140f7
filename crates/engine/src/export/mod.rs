//! Export: from a scene to the bytes of files.
//!
//! Writers return files in memory; only the job writes them to disk. A warning names everything that a format cannot
//! hold.

mod accessor_content;
mod draco;
mod encoding;
pub mod fbx;
mod flat;
pub mod gltf;
mod grey;
mod lit;
mod losses;
mod meshopt_views;
mod motion;
mod names;
pub mod obj;
pub mod ply;
pub mod stl;
mod texture_places;
pub mod usdz;
mod view_use;
mod views;

use bytes::Bytes;

pub use flat::draws_triangles;
pub use losses::losses;
pub use names::{Names, safe};

use assetfs_formats::number_text::grouped;

/// A file to be written.
#[derive(Debug, Clone)]
pub struct OutFile {
    /// Its name in the export folder.
    pub name: String,
    pub bytes: Bytes,
}

/// Why a scene cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The file would exceed the maximum size of its format.
    #[error("the result is too large for a {format} file ({} bytes)", grouped(*bytes))]
    TooLarge { format: &'static str, bytes: u64 },
    /// The archive of a USDZ file cannot be written.
    #[error("the USDZ archive cannot be written: {0}")]
    Archive(String),
    /// The scene draws no triangles, only points, lines or nothing.
    #[error(
        "a {format} file holds triangles only, and the model draws none; export it as glb or gltf"
    )]
    NoTriangles { format: &'static str },
    /// The scene has no geometry.
    #[error("the result holds no geometry, so there is nothing to export")]
    Empty,
}
