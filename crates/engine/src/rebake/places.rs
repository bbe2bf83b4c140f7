//! Numbers the places of a mesh: vertices at one place are split by their normals and coordinates.

use std::collections::HashMap;

use glam::Vec3;

use super::super::scene::Geometry;

/// The place of each vertex, and the positions of the places.
pub(super) fn numbered_places(mesh: &Geometry) -> (Vec<usize>, Vec<Vec3>) {
    let mut known: HashMap<[u32; 3], usize> = HashMap::new();
    let mut positions = Vec::new();
    let of_vertex = (0..mesh.vertex_count() as u32)
        .map(|vertex| {
            // Adding zero makes one zero of the two.
            let position = mesh.position(vertex) + Vec3::ZERO;
            *known
                .entry(position.to_array().map(f32::to_bits))
                .or_insert_with(|| {
                    positions.push(position);
                    positions.len() - 1
                })
        })
        .collect();
    (of_vertex, positions)
}
