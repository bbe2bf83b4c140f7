//! Blend shapes of the meshes of an FBX file.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::super::super::scene::Attribute;

/// The blend shapes of a mesh, each with its channel, in the order of the morph targets.
pub(super) fn channels(
    found: &ufbx::Mesh,
) -> impl Iterator<Item = (&ufbx::BlendChannel, &ufbx::BlendShape)> {
    found
        .blend_deformers
        .iter()
        .flat_map(|deformer| deformer.channels.iter())
        .filter_map(|channel| Some((&**channel, &**channel.target_shape.as_ref()?)))
}

/// The morph targets of a geometry: how far each vertex moves at full weight. `places` has the index of each vertex in the
/// mesh of the file.
pub(super) fn targets(found: &ufbx::Mesh, places: &[u32]) -> Vec<Vec<Attribute>> {
    channels(found)
        .map(|(_, shape)| {
            let moved: HashMap<u32, usize> = shape
                .offset_vertices
                .iter()
                .enumerate()
                .map(|(place, vertex)| (*vertex, place))
                .collect();
            let deltas = places.iter().flat_map(|place| {
                let offset = moved
                    .get(place)
                    .and_then(|place| shape.position_offsets.get(*place));
                offset.map_or([0.0; 3], |at| [at.x as f32, at.y as f32, at.z as f32])
            });
            vec![Attribute::new("POSITION", 3, deltas.collect())]
        })
        .collect()
}

/// The names and weights of the shapes, for the mesh.
pub(super) fn targets_json(found: &ufbx::Mesh) -> Option<Value> {
    let names: Vec<String> = channels(found)
        .map(|(channel, _)| channel.element.name.to_string())
        .collect();
    if names.is_empty() {
        return None;
    }
    let weights: Vec<f64> = channels(found).map(|(channel, _)| channel.weight).collect();
    Some(json!({ "weights": weights, "extras": { "targetNames": names } }))
}
