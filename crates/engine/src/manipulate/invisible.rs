//! Removes triangles that are invisible from everywhere outside of the model and from inside its rooms.
//!
//! Pictures from many directions show most visible triangles; rays find those at the bottom of deep holes and narrow gaps.
//!
//! In doubt a triangle is kept. Moving geometry (animations, skins, morph targets) is kept and hides nothing;
//! transparent materials hide nothing either. The neighbours of a visible triangle are kept, so that no crack opens
//! between two samples.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::super::alike::bits_of;
use super::super::render::{ConvertedModel, PreparedScene, RenderAlpha};
use super::super::scene::{Geometry, Scene, index_in, indices_in};
use super::discard::pointer_of;

/// Directions to look from, evenly around the model.
const DIRECTIONS: usize = if cfg!(debug_assertions) { 24 } else { 96 };
/// Samples on each side of each view.
const SIZE: usize = if cfg!(debug_assertions) { 192 } else { 640 };

/// Removes invisible triangles; returns their number, each counted once even if it is drawn several times.
pub(super) fn remove(scene: &mut Scene) -> usize {
    // A material of another variant may be transparent.
    if scene.uses_extension("KHR_materials_variants") {
        return 0;
    }
    let mut removed = 0;
    for (geometry, seen) in seen_by_geometry(scene) {
        removed += keep_seen(&mut scene.geometries[geometry], &seen);
    }
    removed
}

/// The visible triangles of each geometry that never moves.
fn seen_by_geometry(scene: &Scene) -> HashMap<usize, Vec<bool>> {
    let still = still_geometries(scene);
    let mut adapted = ConvertedModel::of(scene);
    let mut drawn = Vec::new();
    let mut instances = Vec::new();
    for (instance, geometry) in adapted.scene.instances.drain(..).zip(adapted.geometries) {
        if still[geometry] {
            instances.push(instance);
            drawn.push(geometry);
        }
    }
    adapted.scene.instances = instances;
    for (material, json) in adapted
        .scene
        .materials
        .iter_mut()
        .zip(scene.list("materials"))
    {
        if is_seen_through(json) {
            material.alpha = RenderAlpha::Blend;
        }
    }
    let Some(bounds) = adapted.scene.bounding_box() else {
        return HashMap::new();
    };
    let prepared = PreparedScene::new(&adapted.scene);
    let mut seen = prepared.seen_triangles(&bounds, DIRECTIONS, SIZE);
    prepared.add_seen_from_rooms(&bounds, &mut seen);
    prepared.add_seen_by_rays(&mut seen);
    let mut by_geometry: HashMap<usize, Vec<bool>> = HashMap::new();
    for (geometry, seen) in drawn.into_iter().zip(seen) {
        let known = by_geometry
            .entry(geometry)
            .or_insert_with(|| vec![false; seen.len()]);
        for (known, seen) in known.iter_mut().zip(seen) {
            *known |= seen;
        }
    }
    by_geometry
}

fn is_seen_through(material: &Value) -> bool {
    let extensions = &material["extensions"];
    [
        "KHR_materials_transmission",
        "KHR_materials_diffuse_transmission",
    ]
    .iter()
    .any(|name| extensions[name].is_object())
}

/// For each geometry, whether all nodes that draw it stay still.
fn still_geometries(scene: &Scene) -> Vec<bool> {
    let moving = moving_nodes(scene);
    let mut still: Vec<bool> = scene
        .geometries
        .iter()
        .map(|geometry| geometry.targets.is_empty())
        .collect();
    for (number, node) in scene.list("nodes").iter().enumerate() {
        let Some(mesh) = index_in(node, "mesh") else {
            continue;
        };
        if moving.contains(&number) || index_in(node, "skin").is_some() {
            for primitive in &scene.meshes[mesh].primitives {
                still[primitive.geometry] = false;
            }
        }
    }
    still
}

/// The nodes that an animation changes; some of them several times.
pub(crate) fn animated_nodes(scene: &Scene) -> impl Iterator<Item = usize> {
    let channels = scene
        .list("animations")
        .iter()
        .filter_map(|animation| animation["channels"].as_array())
        .flatten();
    channels.filter_map(|channel| {
        let target = &channel["target"];
        index_in(target, "node").or_else(|| node_in(pointer_of(target)?))
    })
}

/// The nodes that an animation changes, with all nodes below them.
fn moving_nodes(scene: &Scene) -> HashSet<usize> {
    let mut waiting: Vec<usize> = animated_nodes(scene).collect();
    let nodes = scene.list("nodes");
    let mut moving = HashSet::new();
    while let Some(node) = waiting.pop() {
        if moving.insert(node)
            && let Some(node) = nodes.get(node)
        {
            waiting.extend(indices_in(node, "children"));
        }
    }
    moving
}

/// The node of a pointer such as `/nodes/3/translation`.
fn node_in(pointer: &str) -> Option<usize> {
    pointer
        .strip_prefix("/nodes/")?
        .split('/')
        .next()?
        .parse()
        .ok()
}

/// Keeps the visible triangles and those that share a position with one; returns how many are removed.
fn keep_seen(geometry: &mut Geometry, seen: &[bool]) -> usize {
    let place = |vertex: u32| bits_of(geometry.position(vertex).to_array());
    let triangles = geometry.indices.chunks_exact(3);
    let places: HashSet<[u32; 3]> = triangles
        .clone()
        .zip(seen)
        .filter(|(_, seen)| **seen)
        .flat_map(|(corners, _)| corners.iter().map(|corner| place(*corner)))
        .collect();
    let kept: Vec<u32> = triangles
        .filter(|corners| {
            corners
                .iter()
                .any(|corner| places.contains(&place(*corner)))
        })
        .flatten()
        .copied()
        .collect();
    let removed = (geometry.indices.len() - kept.len()) / 3;
    if removed > 0 {
        geometry.indices = kept;
        geometry.compact();
    }
    removed
}
