//! What a scene has that a format may not hold, and the warnings about it.
//!
//! Each format says for every [`ScenePart`] what becomes of it. A format has one line for all parts that it cannot hold,
//! and lines of its own for what depends on numbers.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::scene::{
    AlphaMode, Geometry, Material, Mode, Scene, TextureUse, UvTransform, Wrap, index_in,
};
use super::format_limits::{FormatLimits, Loss, ScenePart};
use super::texture_places::with_transforms_applied;
use assetfs_formats::warnings::{Warning, WarningKind};

/// Warnings about the parts of this scene that the format called `name` cannot hold.
pub(super) fn losses(scene: &Scene, name: &str, limits: &FormatLimits) -> Vec<Warning> {
    let applied = limits
        .coordinate_sets
        .map(|sets| with_transforms_applied(scene, sets));
    let lost = lost_parts(applied.as_deref().unwrap_or(scene), limits);
    let mut lines = (limits.others)(scene);
    if !lost.is_empty() {
        let text = format!("{name} cannot hold: {}", lost.join(", "));
        lines.push(Warning::new(WarningKind::NotHeld, text));
    }
    lines
}

fn lost_parts(scene: &Scene, limits: &FormatLimits) -> Vec<String> {
    let mut parts = node_parts(scene);
    parts.extend(geometry_parts(scene));
    let holds_materials = matches!((limits.loss)(ScenePart::Materials), Loss::Nothing);
    if holds_materials {
        parts.extend(material_parts(scene));
    } else if !scene.list("materials").is_empty() {
        parts.push(ScenePart::Materials);
    }
    let mut lost: Vec<String> = parts
        .into_iter()
        .filter_map(|part| match (limits.loss)(part) {
            Loss::Nothing => None,
            Loss::Total => Some(part.name().to_owned()),
            Loss::Changed(how) => Some(format!("{} ({how})", part.name())),
        })
        .collect();
    if holds_materials {
        lost.extend(lost_extensions(scene, limits.material_extensions));
    }
    lost
}

/// The parts in the list that are there.
fn present(list: &[(ScenePart, bool)]) -> Vec<ScenePart> {
    let found = list.iter().filter(|(_, is_there)| *is_there);
    found.map(|(part, _)| *part).collect()
}

fn node_parts(scene: &Scene) -> Vec<ScenePart> {
    let nodes = scene.list("nodes");
    let has_light = |node: &Value| node["extensions"]["KHR_lights_punctual"].is_object();
    let default = scene.json.get("scene").and_then(Value::as_u64).unwrap_or(0);
    let mut scenes = scene.list("scenes").iter().enumerate();
    let has_nodes = |scene: &Value| scene["nodes"].as_array().is_some_and(|it| !it.is_empty());
    let has_other_scenes = scenes.any(|(index, scene)| index as u64 != default && has_nodes(scene));
    let animations = scene.list("animations");
    let moves_weights = |animation: &Value| {
        let mut channels = animation["channels"].as_array().into_iter().flatten();
        channels.any(|channel| channel["target"]["path"] == "weights")
    };
    present(&[
        (ScenePart::OtherScenes, has_other_scenes),
        (
            ScenePart::Cameras,
            nodes.iter().any(|node| index_in(node, "camera").is_some()),
        ),
        (
            ScenePart::Lights,
            nodes.iter().any(has_light) || scene.uses_extension("EXT_lights_image_based"),
        ),
        (
            ScenePart::Variants,
            scene.uses_extension("KHR_materials_variants"),
        ),
        (ScenePart::Animations, !animations.is_empty()),
        (
            ScenePart::MorphAnimations,
            animations.iter().any(moves_weights),
        ),
        (ScenePart::Skins, !scene.list("skins").is_empty()),
    ])
}

fn geometry_parts(scene: &Scene) -> Vec<ScenePart> {
    let any = |is_it: &dyn Fn(&Geometry) -> bool| scene.geometries.iter().any(is_it);
    let has = |name: &str| any(&|geometry| geometry.attribute(name).is_some());
    let has_alpha = |geometry: &Geometry| {
        let colors = geometry.attribute("COLOR_0");
        colors.is_some_and(|colors| {
            let mut vertices = (0..colors.count()).map(|vertex| colors.at(vertex));
            vertices.any(|color| color.get(3).is_some_and(|alpha| *alpha < 1.0))
        })
    };
    let mut primitives = scene.meshes.iter().flat_map(|mesh| &mesh.primitives);
    let has_textured_colors = primitives.any(|primitive| {
        let colors = scene.geometries[primitive.geometry].attribute("COLOR_0");
        let material = scene.material(primitive.material);
        colors.is_some() && material.base_color_texture.is_some()
    });
    present(&[
        (
            ScenePart::MorphTargets,
            any(&|geometry| !geometry.targets.is_empty()),
        ),
        (
            ScenePart::PointsAndLines,
            any(&|geometry| geometry.mode != Mode::Triangles),
        ),
        (ScenePart::Coordinates, has("TEXCOORD_0")),
        (ScenePart::MoreCoordinates, has("TEXCOORD_1")),
        (ScenePart::VertexColors, has("COLOR_0")),
        (ScenePart::TexturedVertexColors, has_textured_colors),
        (ScenePart::VertexAlpha, any(&has_alpha)),
    ])
}

fn material_parts(scene: &Scene) -> Vec<ScenePart> {
    let materials: Vec<Material> = (0..scene.list("materials").len())
        .map(|index| scene.material(Some(index)))
        .collect();
    let any = |is_it: &dyn Fn(&Material) -> bool| materials.iter().any(is_it);
    let any_texture =
        |is_it: &dyn Fn(&TextureUse) -> bool| any(&|material| material.textures().any(is_it));
    let wraps = |texture: &TextureUse| [texture.wrap_s, texture.wrap_t];
    let coat_keys = [
        "clearcoatTexture",
        "clearcoatRoughnessTexture",
        "clearcoatNormalTexture",
    ];
    let has_coat_texture = |material: &Value| {
        let coat = &material["extensions"]["KHR_materials_clearcoat"];
        coat_keys.iter().any(|key| coat[key].is_object())
    };
    present(&[
        (
            ScenePart::SurfaceTextures,
            any(&|it| it.metallic_roughness_texture.is_some()),
        ),
        (
            ScenePart::OcclusionTextures,
            any(&|it| it.occlusion_texture.is_some()),
        ),
        (
            ScenePart::NormalStrength,
            any(&|it| it.normal_texture.is_some() && it.normal_scale != 1.0),
        ),
        (
            ScenePart::TextureTransforms,
            any_texture(&|it| it.transform != UvTransform::default()),
        ),
        (
            ScenePart::ClampedTextures,
            any_texture(&|it| wraps(it).contains(&Wrap::ClampToEdge)),
        ),
        (
            ScenePart::MirroredTextures,
            any_texture(&|it| wraps(it).contains(&Wrap::MirroredRepeat)),
        ),
        (
            ScenePart::AlphaCutoffs,
            any(&|it| it.alpha_mode == AlphaMode::Mask),
        ),
        (
            ScenePart::StrongEmission,
            any(&|it| it.emissive.iter().any(|part| *part > 1.0)),
        ),
        (ScenePart::DoubleSided, any(&|it| it.double_sided)),
        (ScenePart::Unlit, any(&|it| it.unlit)),
        (
            ScenePart::ClearcoatTextures,
            scene.list("materials").iter().any(has_coat_texture),
        ),
    ])
}

/// The extensions of materials that are not held, as one part.
fn lost_extensions(scene: &Scene, held: &[&str]) -> Option<String> {
    let parts = ["KHR_materials_unlit", "KHR_materials_emissive_strength"];
    let extensions = scene
        .list("materials")
        .iter()
        .filter_map(|material| material["extensions"].as_object());
    let lost: BTreeSet<&str> = extensions
        .flat_map(|extensions| extensions.keys().map(String::as_str))
        .filter(|name| !held.contains(name) && !parts.contains(name))
        .collect();
    let names: Vec<&str> = lost.into_iter().collect();
    (!names.is_empty()).then(|| format!("material extensions ({})", names.join(", ")))
}
