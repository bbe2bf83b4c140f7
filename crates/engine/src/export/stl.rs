//! Writes binary STL: triangles in world space.

use glam::{DVec3, Vec3};

use super::super::scene::{Scene, float_step};
use super::flat::flatten;
use super::format_limits::{FormatLimits, Loss, ScenePart};
use assetfs_formats::warnings::{Warning, WarningKind};

pub fn write_stl(scene: &Scene) -> Vec<u8> {
    let parts = flatten(scene);
    let count: usize = parts.iter().map(|part| part.indices.len() / 3).sum();
    let mut bytes = Vec::with_capacity(84 + count * 50);
    let mut header = [b' '; 80];
    let text = b"assetfs binary STL";
    header[..text.len()].copy_from_slice(text);
    bytes.extend_from_slice(&header);
    bytes.extend_from_slice(&(count as u32).to_le_bytes());
    for part in &parts {
        for corners in part.indices.chunks_exact(3) {
            let [a, b, c] =
                [corners[0], corners[1], corners[2]].map(|corner| part.positions[corner as usize]);
            let normal = (b - a).cross(c - a).normalize_or_zero();
            push(&mut bytes, normal);
            for corner in [a, b, c] {
                push(&mut bytes, (scene.origin + corner.as_dvec3()).as_vec3());
            }
            bytes.extend_from_slice(&[0, 0]);
        }
    }
    bytes
}

fn push(bytes: &mut Vec<u8>, vector: Vec3) {
    for number in vector.to_array() {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
}

/// What is lost of a scene in STL.
pub(super) const LIMITS: FormatLimits = FormatLimits {
    loss: |part| match part {
        ScenePart::Skins => Loss::Changed("the rest pose is written"),
        ScenePart::OtherScenes
        | ScenePart::Cameras
        | ScenePart::Lights
        | ScenePart::Variants
        | ScenePart::Animations
        | ScenePart::MorphTargets
        | ScenePart::PointsAndLines
        | ScenePart::Coordinates
        | ScenePart::VertexColors
        | ScenePart::Materials => Loss::Total,
        // Named with the animations, coordinates and colours.
        ScenePart::MorphAnimations
        | ScenePart::MoreCoordinates
        | ScenePart::TexturedVertexColors
        | ScenePart::VertexAlpha => Loss::Nothing,
        // Named with the materials.
        ScenePart::SurfaceTextures
        | ScenePart::OcclusionTextures
        | ScenePart::NormalStrength
        | ScenePart::TextureTransforms
        | ScenePart::ClampedTextures
        | ScenePart::MirroredTextures
        | ScenePart::AlphaCutoffs
        | ScenePart::StrongEmission
        | ScenePart::DoubleSided
        | ScenePart::Unlit
        | ScenePart::ClearcoatTextures => Loss::Nothing,
    },
    coordinate_sets: None,
    material_extensions: &[],
    others: rounded_positions,
};

/// Says how much positions far from the origin are rounded, as all numbers of the format have 32 bits.
fn rounded_positions(scene: &Scene) -> Vec<Warning> {
    if scene.origin == DVec3::ZERO {
        return Vec::new();
    }
    let far = scene.origin.abs().max_element();
    let [x, y, z] = scene.origin.to_array();
    let text = format!(
        "stl: the model is at ({x}, {y}, {z}), where the numbers of the format have steps of {}; all positions are rounded to these. Centre the model (sceneManipulation.centerModel) to keep them",
        float_step(far.log2().floor().exp2())
    );
    vec![Warning::new(WarningKind::NotHeld, text)]
}
