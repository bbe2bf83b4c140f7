//! Writes binary PLY: triangles in world space with normals, texture coordinates and colours.

use glam::DVec3;

use super::super::scene::Scene;
use super::flat::{FlatPart, flatten};
use super::format_limits::{FormatLimits, Loss, ScenePart};
use assetfs_render::srgb_of_linear;

pub fn write_ply(scene: &Scene) -> Vec<u8> {
    let parts = flatten(scene);
    // PLY stores a property for all vertices or for none.
    let has = |wanted: fn(&FlatPart) -> bool| parts.iter().any(wanted);
    let with_normals = !parts.is_empty() && parts.iter().all(|part| !part.normals.is_empty());
    let with_coords = has(|part| !part.coords.is_empty());
    let with_colors = has(|part| !part.colors.is_empty());
    let vertices: usize = parts.iter().map(|part| part.positions.len()).sum();
    let faces: usize = parts.iter().map(|part| part.indices.len() / 3).sum();
    let is_far = scene.origin != DVec3::ZERO;
    let scalar = if is_far { "double" } else { "float" };
    let mut header = format!(
        "ply\nformat binary_little_endian 1.0\ncomment assetfs\nelement vertex {vertices}\n\
         property {scalar} x\nproperty {scalar} y\nproperty {scalar} z\n"
    );
    if with_normals {
        header.push_str("property float nx\nproperty float ny\nproperty float nz\n");
    }
    if with_coords {
        header.push_str("property float s\nproperty float t\n");
    }
    if with_colors {
        for name in ["red", "green", "blue", "alpha"] {
            header.push_str(&format!("property uchar {name}\n"));
        }
    }
    header.push_str(&format!(
        "element face {faces}\nproperty list uchar int vertex_indices\nend_header\n"
    ));
    let mut bytes = header.into_bytes();
    for part in &parts {
        for (vertex, position) in part.positions.iter().enumerate() {
            match is_far {
                true => {
                    let place = scene.origin + position.as_dvec3();
                    bytes.extend(place.to_array().iter().flat_map(|it| it.to_le_bytes()));
                }
                false => floats(&mut bytes, &position.to_array()),
            }
            if with_normals {
                floats(&mut bytes, &part.normals[vertex].to_array());
            }
            if with_coords {
                let [u, v] = part.coords.get(vertex).copied().unwrap_or_default();
                floats(&mut bytes, &[u, 1.0 - v]);
            }
            if with_colors {
                let [red, green, blue, alpha] =
                    part.colors.get(vertex).copied().unwrap_or([1.0; 4]);
                let byte = |part: f32| (part * 255.0).round() as u8;
                bytes.extend([red, green, blue].map(|part| byte(srgb_of_linear(part))));
                bytes.push(byte(alpha.clamp(0.0, 1.0)));
            }
        }
    }
    let mut first = 0;
    for part in &parts {
        for corners in part.indices.chunks_exact(3) {
            bytes.push(3);
            for corner in corners {
                bytes.extend_from_slice(&(corner + first).to_le_bytes());
            }
        }
        first += part.positions.len() as u32;
    }
    bytes
}

fn floats(bytes: &mut Vec<u8>, numbers: &[f32]) {
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

/// What is lost of a scene in PLY.
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
        | ScenePart::MoreCoordinates
        | ScenePart::Materials => Loss::Total,
        ScenePart::Coordinates
        | ScenePart::VertexColors
        | ScenePart::TexturedVertexColors
        | ScenePart::VertexAlpha
        // Named with the animations.
        | ScenePart::MorphAnimations => Loss::Nothing,
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
    others: |_| Vec::new(),
};
