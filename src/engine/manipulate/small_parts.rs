//! Removes parts that are smaller than a given percentage of the model.
//!
//! A part is a set of triangles connected by shared positions. Its size is measured in the world, where its
//! geometry is drawn largest.

use std::collections::HashMap;

use glam::Mat4;

use super::super::scene::{Bounds, Geometry, Mode, Scene};

/// Removes parts whose diagonal is below `percent` of the model's; returns how many.
pub(super) fn remove(scene: &mut Scene, percent: f32) -> usize {
    let Some(whole) = scene.bounds() else {
        return 0;
    };
    let least = whole.diagonal() * percent / 100.0;
    let draws = scene.largest_draws();
    let mut removed = 0;
    for (geometry, draw) in scene.geometries.iter_mut().zip(draws) {
        if geometry.mode == Mode::Triangles && geometry.vertex_count() > 0 {
            let to_world = draw.map_or(Mat4::IDENTITY, |draw| draw.vertex_matrix(geometry, 0));
            removed += remove_in(geometry, to_world, least);
        }
    }
    removed
}

fn remove_in(geometry: &mut Geometry, to_world: Mat4, least: f32) -> usize {
    let parts = parts_of(geometry);
    let mut bounds: HashMap<u32, Option<Bounds>> = HashMap::new();
    for index in &geometry.indices {
        let position = to_world.transform_point3(geometry.position(*index));
        Bounds::grow(bounds.entry(parts[*index as usize]).or_default(), position);
    }
    let is_small = |part: &u32| bounds[part].is_none_or(|bounds| bounds.diagonal() < least);
    let removed = bounds.keys().filter(|part| is_small(part)).count();
    if removed > 0 {
        geometry.indices = geometry
            .indices
            .chunks_exact(3)
            .filter(|corners| !is_small(&parts[corners[0] as usize]))
            .flatten()
            .copied()
            .collect();
        geometry.compact();
    }
    removed
}

/// The part of each vertex, represented by one of its vertices.
fn parts_of(geometry: &Geometry) -> Vec<u32> {
    let count = geometry.vertex_count() as u32;
    let mut parents: Vec<u32> = (0..count).collect();
    let mut first_at: HashMap<[u32; 3], u32> = HashMap::new();
    for vertex in 0..count {
        let bits = geometry
            .position(vertex)
            .to_array()
            .map(|number| (number + 0.0).to_bits());
        let first = *first_at.entry(bits).or_insert(vertex);
        parents[vertex as usize] = first;
    }
    for corners in geometry.indices.chunks_exact(3) {
        let root = find(&mut parents, corners[0]);
        for corner in &corners[1..] {
            let other = find(&mut parents, *corner);
            parents[other as usize] = root;
        }
    }
    (0..count)
        .map(|vertex| find(&mut parents, vertex))
        .collect()
}

fn find(parents: &mut [u32], vertex: u32) -> u32 {
    let mut at = vertex;
    while parents[at as usize] != at {
        let above = parents[parents[at as usize] as usize];
        parents[at as usize] = above;
        at = above;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::super::super::scene::Attribute;
    use super::*;

    #[test]
    fn a_part_below_the_size_goes_as_a_whole() {
        let positions = vec![
            0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, // large
            2.0, 0.0, 0.0, 2.01, 0.0, 0.0, 2.0, 0.01, 0.0, // small
            2.01, 0.0, 0.0, 2.01, 0.01, 0.0, 2.0, 0.01, 0.0, // connected to it
        ];
        let mut geometry = Geometry {
            indices: (0..9).collect(),
            attributes: vec![Attribute::new("POSITION", 3, positions)],
            ..Geometry::default()
        };
        assert_eq!(remove_in(&mut geometry, Mat4::IDENTITY, 0.1), 1);
        assert_eq!(geometry.triangle_count(), 1);
    }
}
