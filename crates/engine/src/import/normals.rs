//! Computes missing normals: smooth, except across sharp edges.

use glam::Vec3;

use super::super::alike::{distinct, firsts_at_places};
use super::super::scene::{Attribute, Geometry};

/// Faces that meet at less than 50 degrees are shaded smoothly.
const CREASE_COSINE: f32 = 0.642_787;

/// Adds normals to a geometry of triangles; vertices on sharp edges are split.
pub(super) fn add_creased(geometry: &mut Geometry) {
    let faces: Vec<Vec3> = geometry
        .indices
        .chunks_exact(3)
        .map(|corners| {
            let [a, b, c] = [corners[0], corners[1], corners[2]].map(|at| geometry.position(at));
            (b - a).cross(c - a)
        })
        .collect();
    let directions: Vec<Vec3> = faces.iter().map(|face| face.normalize_or_zero()).collect();
    let places = firsts_at_places(geometry.positions().as_chunks().0);
    let mut around: Vec<Vec<u32>> = vec![Vec::new(); places.len()];
    for (corner, index) in geometry.indices.iter().enumerate() {
        around[places[*index as usize] as usize].push(corner as u32 / 3);
    }
    let corners = geometry.indices.iter().enumerate().map(|(corner, index)| {
        let around = &around[places[*index as usize] as usize];
        let normal = corner_normal((&faces, &directions), corner / 3, around);
        (*index, normal.to_array().map(f32::to_bits))
    });
    let (vertices, indices) = distinct(corners);
    let kept: Vec<u32> = vertices.iter().map(|(index, _)| *index).collect();
    let normals = vertices
        .iter()
        .flat_map(|(_, bits)| bits.map(f32::from_bits));
    geometry.keep_vertices(&kept);
    geometry.indices = indices;
    geometry
        .attributes
        .insert(1, Attribute::new("NORMAL", 3, normals.collect()));
}

/// The area-weighted mean normal of the faces around a corner that meet its own face at less than the crease angle. Of each
/// face there is the normal with the length of its area, and the direction.
fn corner_normal((faces, directions): (&[Vec3], &[Vec3]), own: usize, around: &[u32]) -> Vec3 {
    let direction = directions[own];
    // The number of faces is limited, because a fan of very many faces (the pole of a dense cone) would take quadratic
    // time.
    let sum: Vec3 = around
        .iter()
        .take(256)
        .filter(|face| directions[**face as usize].dot(direction) >= CREASE_COSINE)
        .map(|face| faces[*face as usize])
        .sum();
    sum.try_normalize()
        .or_else(|| direction.try_normalize())
        .unwrap_or(Vec3::Y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fold_stays_sharp_and_a_bend_becomes_smooth() {
        // Two triangles that share an edge and meet at the given height.
        let folded = |height: f32| {
            let positions = vec![
                0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, -1.0, 1.0, height, 1.0,
            ];
            let mut geometry = Geometry {
                indices: vec![0, 1, 2, 0, 3, 1],
                attributes: vec![Attribute::new("POSITION", 3, positions)],
                ..Geometry::default()
            };
            add_creased(&mut geometry);
            geometry.vertex_count()
        };
        assert_eq!(folded(0.1), 4);
        assert_eq!(folded(5.0), 6);
    }
}
