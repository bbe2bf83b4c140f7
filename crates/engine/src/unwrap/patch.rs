//! A set of triangles with the edges along which they hang together, and its vertices: what is laid into the plane at once.
//!
//! A vertex of a patch is a set of corners that glued edges connect. Two corners at one position that no glued edge connects
//! are two vertices, so a patch can have slits, and a non-manifold vertex falls apart.

use super::super::alike::{Sets, distinct};
use super::topology::WeldedMesh;

#[derive(Debug, Clone)]
pub(super) struct Patch {
    /// Numbers of triangles of the mesh, ascending.
    pub(super) triangles: Vec<u32>,
    /// The vertices of each triangle.
    pub(super) corners: Vec<[u32; 3]>,
    pub(super) vertex_count: usize,
    /// Edges with nothing glued to them, as vertices.
    pub(super) border: Vec<[u32; 2]>,
}

impl Patch {
    /// `is_glued` says for each half-edge of the triangles that has a twin in this patch whether both are joined there.
    pub(super) fn new(
        mesh: &WeldedMesh,
        triangles: Vec<u32>,
        is_glued: impl Fn(u32) -> bool,
    ) -> Patch {
        debug_assert!(triangles.is_sorted());
        let mut sets = Sets::new(triangles.len() * 3);
        let mut open = Vec::new();
        for (at, triangle) in triangles.iter().enumerate() {
            for side in 0..3 {
                let half_edge = triangle * 3 + side as u32;
                let twin = mesh.twins[half_edge as usize];
                let there = triangles.binary_search(&(twin / 3));
                let corner = (at * 3 + side) as u32;
                let next = (at * 3 + (side + 1) % 3) as u32;
                let (Ok(other), true) = (there, is_glued(half_edge)) else {
                    open.push([corner, next]);
                    continue;
                };
                let (other, side) = (other as u32 * 3, twin % 3);
                sets.join(corner, other + (side + 1) % 3);
                sets.join(next, other + side);
            }
        }
        let roots = (0..triangles.len() as u32 * 3).map(|corner| sets.root(corner));
        let (vertices, numbers) = distinct(roots);
        let border = open.iter().map(|ends| ends.map(|at| numbers[at as usize]));
        Patch {
            triangles,
            corners: numbers.as_chunks().0.to_vec(),
            vertex_count: vertices.len(),
            border: border.collect(),
        }
    }
}
