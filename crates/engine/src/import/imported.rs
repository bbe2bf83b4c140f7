//! What an importer returns.

use std::path::PathBuf;

use super::super::scene::Scene;
use super::super::settings::MeshCompression;
use assetfs_formats::warnings::Warning;

/// An imported model.
#[derive(Debug)]
pub struct Imported {
    pub scene: Scene,
    /// The model's own file, relative to the input folder.
    pub model: PathBuf,
    /// `glb`, `gltf`, …
    pub format: &'static str,
    /// How the geometry is packed in the file.
    pub packing: MeshCompression,
    /// Bytes of the model's file and all that it refers to.
    pub size_bytes: u64,
    /// Parts of the model that were left out or changed.
    pub warnings: Vec<Warning>,
}
