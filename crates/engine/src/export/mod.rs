//! Export: from a scene to the bytes of files.
//!
//! Writers return files in memory; only the job writes them to disk. A warning names everything that a format cannot
//! hold.

mod accessor_content;
mod draco;
mod encoding;
mod error;
pub mod fbx;
mod flat;
mod format_limits;
pub mod gltf;
mod grey;
mod lit;
mod losses;
mod meshopt_views;
mod motion;
mod names;
pub mod obj;
mod out_file;
pub mod ply;
mod rounding;
pub mod stl;
mod texture_places;
pub mod usdz;
mod view_layout;
mod view_use;
mod views;

use super::scene::Scene;
use super::settings::ExportSettings;
use assetfs_formats::FileFormat;
use assetfs_formats::warnings::Warning;
pub use error::ExportError;
use format_limits::FormatLimits;
pub use names::{Names, safe};
pub use out_file::OutFile;

/// The files of a scene in the format that `export` names; `stem` becomes the name of the main file.
///
/// # Errors
/// When the format cannot hold the scene at all.
pub fn write(
    scene: &Scene,
    export: &ExportSettings,
    stem: &str,
    names: &mut Names,
) -> Result<Vec<OutFile>, ExportError> {
    let format = export.format;
    if !format.holds_whole_scene() && !flat::draws_triangles(scene) {
        let format = format.name();
        return Err(ExportError::NoTriangles { format });
    }
    let bytes = match format {
        FileFormat::Gltf => return gltf::write_gltf(scene, stem, names, export.compression),
        FileFormat::Obj => return Ok(obj::write_obj(scene, stem, names)),
        FileFormat::Glb => gltf::write_glb(scene, export.compression)?,
        FileFormat::Fbx => fbx::write_fbx(scene)?,
        FileFormat::Ply => ply::write_ply(scene),
        FileFormat::Stl => stl::write_stl(scene),
        FileFormat::Usdz => usdz::write_usdz(scene, stem)?,
    };
    Ok(vec![OutFile {
        name: names.take(stem, format.name()),
        bytes: bytes.into(),
    }])
}

/// Warnings about the parts of this scene that `format` cannot hold.
pub fn losses(scene: &Scene, format: FileFormat) -> Vec<Warning> {
    let limits: &FormatLimits = match format {
        FileFormat::Glb | FileFormat::Gltf => return Vec::new(),
        FileFormat::Fbx => &fbx::LIMITS,
        FileFormat::Usdz => &usdz::LIMITS,
        FileFormat::Obj => &obj::LIMITS,
        FileFormat::Ply => &ply::LIMITS,
        FileFormat::Stl => &stl::LIMITS,
    };
    losses::losses(scene, format.name(), limits)
}
