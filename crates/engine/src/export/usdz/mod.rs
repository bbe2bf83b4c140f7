//! USDZ: a USD stage as text and its images in an aligned, uncompressed archive.
//!
//! The stage holds the hierarchy, meshes, materials, skins and the first animation of the default scene. A mesh that is drawn
//! more than once is written once and referenced. Morph targets are written as they are at rest; the warnings say so.

mod arkit;
mod geometry;
mod images;
mod lines;
mod material;
mod shared;
mod skeleton;
mod stage;
mod texture;

use std::collections::BTreeSet;
use std::io::{Cursor, Write};

pub use arkit::arkit_issues;

use zip::CompressionMethod;
use zip::write::SimpleFileOptions;

use super::super::scene::Scene;
use super::ExportError;
use super::losses::{FormatLimits, Loss, ScenePart};
use super::motion::thinned_animations;

/// Every file in the archive starts at a multiple of this, so that it can be mapped into memory.
const ALIGNMENT: u16 = 64;

pub fn write_usdz(scene: &Scene, stem: &str) -> Result<Vec<u8>, ExportError> {
    let stage = stage::write_stage(scene);
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .with_alignment(ALIGNMENT);
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

fn animation_losses(scene: &Scene) -> Vec<String> {
    let animations = scene.list("animations");
    let mut lost = Vec::new();
    if animations.len() > 1 {
        let name = animations[0]["name"].as_str().unwrap_or("the first");
        lost.push(format!(
            "usdz holds one animation: \"{name}\" is written, {} others are left out",
            animations.len() - 1
        ));
    }
    let written = &animations[..animations.len().min(1)];
    lost.extend(thinned_animations(scene, written, None, "usdz"));
    lost
}

/// The name as an identifier that is not taken yet.
fn unique(name: &str, taken: &mut BTreeSet<String>) -> String {
    let base = identifier(name);
    let mut name = base.clone();
    let mut number = 2;
    while !taken.insert(name.clone()) {
        name = format!("{base}_{number}");
        number += 1;
    }
    name
}

/// A number as USD reads it, with no more digits than it needs: most come from 32-bit floats.
fn number(value: f64) -> String {
    let short = value as f32;
    match f64::from(short) == value {
        true => short.to_string(),
        false if value.is_finite() => value.to_string(),
        false => "0".to_owned(),
    }
}

/// A name as USD allows it: letters, digits and underscores of ASCII, no digit first.
fn identifier(name: &str) -> String {
    let mut plain: String = name
        .chars()
        .map(|letter| {
            if letter.is_ascii_alphanumeric() {
                letter
            } else {
                '_'
            }
        })
        .collect();
    if plain.is_empty() || plain.starts_with(|letter: char| letter.is_ascii_digit()) {
        plain.insert(0, '_');
    }
    plain
}
