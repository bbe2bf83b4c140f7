//! Why a scene cannot be written.

use assetfs_formats::number_text::grouped;

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
    #[error(
        "the result has no geometry left, so no file is written; relax the settings that remove parts"
    )]
    Empty,
}
