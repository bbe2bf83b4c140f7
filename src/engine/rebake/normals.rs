//! Mends the normals of the low mesh. The simplifier moves normals like any attribute; where it merges the two sides of a
//! thin part, they may point into the surface. Rays along such normals hit what is behind, and a normal map cannot hold a
//! direction below its surface, so it shows black strokes. Corners whose normal leans too far from their triangle get one
//! from the triangles around them.

use std::collections::HashMap;

use glam::Vec3;

use super::super::clean::weld_by;
use super::super::scene::Geometry;

/// The cosine of the largest angle between the normal of a corner and its triangle.
const LEANS_LEAST: f32 = 0.2;
/// The cosine of the largest angle between triangles whose normals are mixed.
const ALIKE: f32 = 0.5;

/// Replaces normals that lean too far from a triangle. Vertices are split where their corners differ then.
pub(super) fn mend(mesh: &mut Geometry) {
    let faces: Vec<Option<Vec3>> = mesh
        .indices
        .chunks_exact(3)
        .map(|corners| {
            let [a, b, c] = [0, 1, 2].map(|at| mesh.position(corners[at]));
            (b - a).cross(c - a).try_normalize()
        })
        .collect();
    let normal_of = |vertex: u32| {
        let normals = mesh.attribute("NORMAL");
        normals.map_or(Vec3::ZERO, |found| {
            Vec3::from_slice(found.at(vertex as usize))
        })
    };
    let mut leaning = Vec::new();
    for (corner, vertex) in mesh.indices.iter().enumerate() {
        if let Some(face) = faces[corner / 3]
            && normal_of(*vertex).dot(face) < LEANS_LEAST
        {
            leaning.push(corner);
        }
    }
    if leaning.is_empty() {
        return;
    }
    let around = Neighbours::new(mesh, &faces);
    let mended: Vec<(usize, Vec3)> = leaning
        .into_iter()
        .filter_map(|corner| Some((corner, around.normal(corner, faces[corner / 3]?))))
        .collect();
    let corners = std::mem::take(&mut mesh.indices);
    mesh.keep_vertices(&corners);
    mesh.indices = (0..corners.len() as u32).collect();
    if let Some(normals) = mesh.attribute_mut("NORMAL") {
        for (corner, normal) in mended {
            normals.values[corner * 3..corner * 3 + 3].copy_from_slice(&normal.to_array());
        }
    }
    weld_by(mesh, |_| true);
    mesh.compact();
}

/// The triangles at each place of a mesh.
struct Neighbours {
    /// For each corner, the place that it is at.
    places: Vec<usize>,
    /// For each place, the normals of the triangles there, and their angles.
    triangles: Vec<Vec<(Vec3, f32)>>,
}

impl Neighbours {
    fn new(mesh: &Geometry, faces: &[Option<Vec3>]) -> Neighbours {
        let mut known: HashMap<[u32; 3], usize> = HashMap::new();
        let mut triangles: Vec<Vec<(Vec3, f32)>> = Vec::new();
        let mut places = Vec::with_capacity(mesh.indices.len());
        for (corner, vertex) in mesh.indices.iter().enumerate() {
            // Adding zero makes one zero of the two.
            let key = (mesh.position(*vertex) + Vec3::ZERO)
                .to_array()
                .map(f32::to_bits);
            let place = *known.entry(key).or_insert(triangles.len());
            if place == triangles.len() {
                triangles.push(Vec::new());
            }
            places.push(place);
            if let Some(face) = faces[corner / 3] {
                let first = corner / 3 * 3;
                let at = |step: usize| mesh.position(mesh.indices[first + (corner + step) % 3]);
                let here = at(0);
                let angle = (at(1) - here).angle_between(at(2) - here);
                triangles[place].push((face, if angle.is_finite() { angle } else { 0.0 }));
            }
        }
        Neighbours { places, triangles }
    }

    /// The mean normal of the triangles at a corner that face nearly as its own, whose normal is `face`.
    fn normal(&self, corner: usize, face: Vec3) -> Vec3 {
        let near = self.triangles[self.places[corner]].iter();
        let sum: Vec3 = near
            .filter(|(other, _)| other.dot(face) >= ALIKE)
            .map(|(other, angle)| *other * *angle)
            .sum();
        sum.normalize_or(face)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::scene::Attribute;
    use super::*;

    #[test]
    fn normals_that_point_into_the_surface_are_replaced_and_others_stay() {
        // Two triangles in a plane; at one shared corner the normal points down.
        let positions = vec![0., 0., 0., 1., 0., 0., 0., 1., 0., 1., 1., 0.];
        let tilted = Vec3::new(0.3, 0.0, 1.0).normalize().to_array();
        let mut normals = [tilted, [0., 0., -1.], [0., 0., 1.], [0., 0., 1.]].concat();
        let mut mesh = Geometry {
            indices: vec![0, 1, 2, 2, 1, 3],
            attributes: vec![
                Attribute::new("POSITION", 3, positions),
                Attribute::new("NORMAL", 3, normals.clone()),
            ],
            ..Geometry::default()
        };
        mend(&mut mesh);
        normals[3..6].copy_from_slice(&[0., 0., 1.]);
        assert_eq!(mesh.vertex_count(), 4);
        assert_eq!(mesh.attribute("NORMAL").unwrap().values, normals);
        let mended = mesh.clone();
        mend(&mut mesh);
        assert_eq!(mesh.indices, mended.indices);
    }
}
