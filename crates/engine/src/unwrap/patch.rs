//! A set of triangles with the edges along which they hang together, and its vertices: what is laid into the plane at once.
//!
//! A vertex of a patch is a set of corners that glued edges connect. Two corners at one position that no glued edge connects
//! are two vertices, so a patch can have slits, and a non-manifold vertex falls apart.

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
                let corner = at * 3 + side;
                let next = at * 3 + (side + 1) % 3;
                let (Ok(other), true) = (there, is_glued(half_edge)) else {
                    open.push([corner, next]);
                    continue;
                };
                let side = twin as usize % 3;
                sets.join(corner, other * 3 + (side + 1) % 3);
                sets.join(next, other * 3 + side);
            }
        }
        let mut numbers = vec![u32::MAX; triangles.len() * 3];
        let mut vertex_count = 0;
        for corner in 0..numbers.len() {
            let root = sets.root(corner);
            if numbers[root] == u32::MAX {
                numbers[root] = vertex_count;
                vertex_count += 1;
            }
            numbers[corner] = numbers[root];
        }
        let corners = numbers
            .chunks_exact(3)
            .map(|corners| [corners[0], corners[1], corners[2]])
            .collect();
        let border = open.iter().map(|ends| ends.map(|at| numbers[at])).collect();
        Patch {
            triangles,
            corners,
            vertex_count: vertex_count as usize,
            border,
        }
    }
}

/// Disjoint sets of numbers. The smallest number of a set is its root.
pub(super) struct Sets(Vec<usize>);

impl Sets {
    pub(super) fn new(count: usize) -> Sets {
        Sets((0..count).collect())
    }

    pub(super) fn root(&mut self, mut at: usize) -> usize {
        while self.0[at] != at {
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    pub(super) fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        self.0[one.max(other)] = one.min(other);
    }
}
