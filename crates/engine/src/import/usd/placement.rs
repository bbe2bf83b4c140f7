//! Nodes at places: matrices as the members of a node.

use glam::{DMat4, DQuat, DVec3};
use serde_json::{Value as Json, json};

use super::super::super::scene::Scene;
use super::super::scene_builder::SceneBuilder;
use super::shear::{is_sheared, two_parts};
use assetfs_formats::number_text::counted_were;
use assetfs_formats::warnings::{Warning, WarningKind};

/// Adds a node with these members of its place.
pub(super) fn add_at(mut node: Json, place: Json, builder: &mut SceneBuilder) -> usize {
    if let (Some(node), Json::Object(place)) = (node.as_object_mut(), place) {
        node.extend(place);
    }
    builder.add_node(node)
}

/// Adds a node that does not move; returns it and the one to put into the tree, which differs if the matrix is sheared.
pub(super) fn add_still(node: Json, matrix: DMat4, builder: &mut SceneBuilder) -> (usize, usize) {
    if !is_sheared(matrix) {
        let node = add_at(node, matrix_of(matrix), builder);
        return (node, node);
    }
    let [outer, inner] = two_parts(matrix);
    let node = add_at(node, placed(inner), builder);
    let shear = json!({ "children": [node], "name": "shear" });
    (node, add_at(shear, placed(outer), builder))
}

/// A node's place as a matrix, or nothing.
fn matrix_of(matrix: DMat4) -> Json {
    match matrix == DMat4::IDENTITY {
        true => json!({}),
        false => json!({ "matrix": matrix.to_cols_array() }),
    }
}

/// A node's place as translation, rotation and scale.
pub(super) fn placed(matrix: DMat4) -> Json {
    let (scale, turn, place) = split(matrix);
    let mut json = json!({});
    if place != DVec3::ZERO {
        json["translation"] = json!(place.to_array());
    }
    if turn != DQuat::IDENTITY {
        json["rotation"] = json!(turn.to_array());
    }
    if scale != DVec3::ONE {
        json["scale"] = json!(scale.to_array());
    }
    json
}

/// Scale, rotation and translation of a matrix without its shear.
pub(super) fn split(matrix: DMat4) -> (DVec3, DQuat, DVec3) {
    let (scale, turn, place) = matrix.to_scale_rotation_translation();
    match turn.is_finite() && scale.is_finite() && place.is_finite() {
        true => (scale, turn.normalize(), place),
        false => (DVec3::ZERO, DQuat::IDENTITY, matrix.w_axis.truncate()),
    }
}

/// Removes transforms of nodes whose numbers are not finite or too large for 32-bit floats, which draw them. Returns a
/// warning if there are any.
pub(super) fn without_endless_places(scene: &mut Scene) -> Option<Warning> {
    let mut count = 0;
    for node in scene.list_mut("nodes").into_iter().flatten() {
        let Some(members) = node.as_object_mut() else {
            continue;
        };
        let before = members.len();
        for key in ["translation", "rotation", "scale", "matrix"] {
            // What is not finite becomes null in JSON.
            let is_too_large = |number: &Json| {
                number
                    .as_f64()
                    .is_none_or(|number| number.abs() > f64::from(f32::MAX))
            };
            let numbers = members.get(key).and_then(Json::as_array);
            if numbers.is_some_and(|numbers| numbers.iter().any(is_too_large)) {
                members.shift_remove(key);
            }
        }
        count += usize::from(members.len() != before);
    }
    (count > 0).then(|| {
        let text = format!(
            "{} placed by numbers that are infinite, too large or missing; these places are left out",
            counted_were(count as u64, "prim")
        );
        Warning::new(WarningKind::Damaged, text)
    })
}
