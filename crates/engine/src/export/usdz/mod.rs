//! USDZ: a USD stage as text and its images in an aligned, uncompressed archive.
//!
//! The stage holds the hierarchy, meshes, materials, skins and the first animation of the default scene. A mesh that is drawn
//! more than once is written once and referenced. Morph targets are written as they are at rest; the warnings say so.

mod arkit;
mod geometry;
mod identifiers;
mod images;
mod lines;
mod material;
mod shared;
mod skeleton;
mod stage;
mod texture;

use std::io::{Cursor, Write};

use zip::CompressionMethod;
use zip::write::SimpleFileOptions;

use super::super::scene::Scene;
use super::error::ExportError;
use super::format_limits::{FormatLimits, Loss, ScenePart};
use super::motion::thinned_animations;
pub use arkit::arkit_issues;
use assetfs_formats::warnings::{Warning, WarningKind};
use identifiers::identifier;

pub fn write_usdz(scene: &Scene, stem: &str) -> Result<Vec<u8>, ExportError> {
    let stage = stage::write_stage(scene);
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .with_alignment(arkit::ALIGNMENT);
    let main = (
        format!("{}.usda", identifier(stem)),
        stage.text.into_bytes().into(),
    );
    for (name, bytes) in std::iter::once(main).chain(stage.images) {
        archive
            .start_file(name, options)
            .and_then(|()| Ok(archive.write_all(&bytes)?))
            .map_err(|error| ExportError::Archive(error.to_string()))?;
    }
    let file = archive
        .finish()
        .map_err(|error| ExportError::Archive(error.to_string()))?;
    Ok(file.into_inner())
}

/// What is lost of a scene in USDZ.
pub(super) const LIMITS: FormatLimits = FormatLimits {
    loss: |part| match part {
        ScenePart::MorphTargets => Loss::Changed("they are written as they are at rest"),
        ScenePart::TexturedVertexColors => {
            Loss::Changed("they are left out where the base colour has a texture")
        }
        ScenePart::Unlit => Loss::Changed("they emit their colours"),
        ScenePart::OtherScenes
        | ScenePart::Cameras
        | ScenePart::Lights
        | ScenePart::Variants
        | ScenePart::PointsAndLines
        | ScenePart::VertexAlpha
        | ScenePart::ClearcoatTextures => Loss::Total,
        ScenePart::Animations
        | ScenePart::Skins
        | ScenePart::Coordinates
        | ScenePart::MoreCoordinates
        | ScenePart::VertexColors
        | ScenePart::Materials
        | ScenePart::SurfaceTextures
        | ScenePart::OcclusionTextures
        | ScenePart::NormalStrength
        | ScenePart::TextureTransforms
        | ScenePart::ClampedTextures
        | ScenePart::MirroredTextures
        | ScenePart::AlphaCutoffs
        | ScenePart::StrongEmission
        | ScenePart::DoubleSided
        // Named with the morph targets.
        | ScenePart::MorphAnimations => Loss::Nothing,
    },
    coordinate_sets: None,
    material_extensions: &["KHR_materials_clearcoat", "KHR_materials_ior"],
    others: animation_losses,
};

fn animation_losses(scene: &Scene) -> Vec<Warning> {
    let animations = scene.list("animations");
    let mut lost = Vec::new();
    if animations.len() > 1 {
        let name = animations[0]["name"].as_str().unwrap_or("the first");
        let text = format!(
            "usdz holds one animation: \"{name}\" is written, {} others are left out",
            animations.len() - 1
        );
        lost.push(Warning::new(WarningKind::NotHeld, text));
    }
    let written = &animations[..animations.len().min(1)];
    lost.extend(thinned_animations(scene, written, None, "usdz"));
    lost
}
