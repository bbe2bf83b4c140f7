//! Which models can be rebaked, and why others cannot.

use serde_json::Value;

use super::super::render::UV_SETS;
use super::super::scene::{Mode, Scene, index_in};

/// Models that draw more triangles are not rebaked: all of them are placed in the world at once.
const MAX_TRIANGLES: u64 = 5_000_000;

/// Extensions of materials that change how light goes through a surface; a texture of colours cannot replace them.
const GLASSY: [&str; 3] = [
    "KHR_materials_transmission",
    "KHR_materials_volume",
    "KHR_materials_diffuse_transmission",
];

/// Extensions of materials whose effect is baked, or has none on the surface.
const BAKED: [&str; 2] = ["KHR_materials_unlit", "KHR_materials_emissive_strength"];

/// Why a model is not rebaked.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NotRebaked {
    #[error("no face limit removes triangles")]
    WithinLimit,
    #[error("the model has skins, and baked parts cannot follow their joints")]
    Skinned,
    #[error("the model has morph targets, and baked parts cannot change their shape")]
    Morphing,
    #[error("animations move parts of the model, and rebaking joins them to one")]
    Animated,
    #[error("no material has a texture; set bakeNormalMap or bakeAOMap to bake the shape")]
    NoTextures,
    #[error("the model has material variants, and a baked texture holds one of them")]
    Variants,
    #[error("the model has parts that its scene does not draw")]
    Undrawn,
    #[error("the model has points or lines")]
    NotOnlyTriangles,
    #[error(
        "a texture uses the third or a later set of texture coordinates, which cannot be baked"
    )]
    LateCoordinates,
    #[error("{0} cannot be baked into textures")]
    Glass(&'static str),
    #[error("it draws {0} triangles, more than {MAX_TRIANGLES}")]
    TooLarge(u64),
    #[error("the rebaked mesh has more triangles than the limit, and the simplified one does not")]
    OverLimit,
    #[error("no triangle of the rebaked mesh has an area")]
    Empty,
    #[error("its coordinates are too large or too small to be measured")]
    NotMeasurable,
    #[error("the textures could not be written: {0}")]
    NotEncoded(String),
    #[error(
        "the plain simplification looks more like the source (difference {plain:.4} against {baked:.4})"
    )]
    PlainIsBetter {
        /// The mean differences from the source.
        plain: f64,
        baked: f64,
        /// The bytes of the rebaked result as a part of those of the plain one.
        bytes: f64,
    },
}

/// Returns why the model cannot be rebaked, whatever the limits; `bakes_shape` says whether the shape itself is baked.
pub(super) fn obstacle(scene: &Scene, bakes_shape: bool) -> Option<NotRebaked> {
    let is_skinned = |node: &Value| node.get("skin").is_some() && node.get("mesh").is_some();
    let has_targets = scene
        .geometries
        .iter()
        .any(|known| !known.targets.is_empty());
    let primitives = || scene.meshes.iter().flat_map(|mesh| &mesh.primitives);
    let triangles = scene.drawn_triangles();
    let is_textured = scene
        .texturings()
        .iter()
        .any(|known| known.coordinate_sets > 0);
    if scene.list("nodes").iter().any(is_skinned) {
        Some(NotRebaked::Skinned)
    } else if has_targets {
        Some(NotRebaked::Morphing)
    } else if moves_parts(scene) {
        Some(NotRebaked::Animated)
    } else if scene.uses_extension("KHR_materials_variants") {
        Some(NotRebaked::Variants)
    } else if primitives().any(|known| scene.geometries[known.geometry].mode != Mode::Triangles) {
        Some(NotRebaked::NotOnlyTriangles)
    } else if has_undrawn_meshes(scene) {
        Some(NotRebaked::Undrawn)
    } else if let Some(name) = GLASSY.into_iter().find(|name| scene.uses_extension(name)) {
        Some(NotRebaked::Glass(name))
    } else if has_late_coordinates(scene) {
        Some(NotRebaked::LateCoordinates)
    } else if !is_textured && !bakes_shape {
        Some(NotRebaked::NoTextures)
    } else if triangles > MAX_TRIANGLES {
        Some(NotRebaked::TooLarge(triangles))
    } else {
        None
    }
}

/// Whether a texture needs a set of coordinates that the renderer, by which textures are baked, does not know.
fn has_late_coordinates(scene: &Scene) -> bool {
    (0..scene.list("materials").len()).any(|number| {
        let material = scene.material(Some(number));
        material.textures().any(|known| known.tex_coord >= UV_SETS)
    })
}

/// Extensions of materials that baking leaves out.
pub(super) fn extensions_left_out(scene: &Scene) -> Vec<String> {
    let mut names = Vec::new();
    for material in scene.list("materials") {
        let extensions = material["extensions"].as_object();
        for (name, _) in extensions.into_iter().flatten() {
            if !BAKED.contains(&name.as_str()) && !names.contains(name) {
                names.push(name.clone());
            }
        }
    }
    names
}

/// Whether an animation moves a node that draws something, or one above it. A channel without a node may move anything.
fn moves_parts(scene: &Scene) -> bool {
    let nodes = scene.list("nodes");
    let parents = scene.parents();
    let mut above_mesh = vec![false; nodes.len()];
    for (node, _) in nodes
        .iter()
        .enumerate()
        .filter(|(_, node)| node.get("mesh").is_some())
    {
        let mut at = Some(node);
        while let Some(node) = at.filter(|node| !above_mesh[*node]) {
            above_mesh[node] = true;
            at = parents[node];
        }
    }
    let animations = scene.list("animations").iter();
    animations
        .flat_map(|animation| animation["channels"].as_array().into_iter().flatten())
        .any(|channel| index_in(&channel["target"], "node").is_none_or(|node| above_mesh[node]))
}

/// Whether a mesh is in the file that the default scene does not draw.
fn has_undrawn_meshes(scene: &Scene) -> bool {
    let mut drawn = vec![false; scene.meshes.len()];
    let draws = scene.draws();
    draws.iter().for_each(|draw| drawn[draw.mesh] = true);
    let shown: Vec<usize> = draws.iter().map(|draw| draw.node).collect();
    let hides = |(number, node): (usize, &Value)| {
        node.get("mesh").is_some() && shown.binary_search(&number).is_err()
    };
    drawn.contains(&false) || scene.list("nodes").iter().enumerate().any(hides)
}
