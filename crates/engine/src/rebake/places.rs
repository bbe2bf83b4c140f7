//! Numbers the places of a mesh: vertices at one place are split by their normals and coordinates.

use glam::Vec3;

use super::super::alike::{bits_of, distinct};
use super::super::scene::Geometry;

/// The place of each vertex, and the positions of the places.
pub(super) fn numbered_places(mesh: &Geometry) -> (Vec<usize>, Vec<Vec3>) {
    let vertices = mesh.positions().as_chunks::<3>().0;
    let (places, of_vertex) = distinct(vertices.iter().map(|vertex| bits_of(*vertex)));
    let positions = places
        .into_iter()
        .map(|bits| Vec3::from(bits.map(f32::from_bits)));
    let of_vertex = of_vertex.into_iter().map(|place| place as usize);
    (of_vertex.collect(), positions.collect())
}
