//! Loose pieces: sets of triangles of a part that share no vertex position with the rest of it.

use std::cmp::Ordering;

use glam::DVec3;

use super::JoinedMesh;
use super::seams::firsts_at_places;

/// The loose pieces of a mesh.
pub(in super::super) struct Pieces {
    /// For each vertex, the number of its piece.
    of_vertex: Vec<u32>,
    /// The area of each piece in the joined space.
    areas: Vec<f64>,
    /// The part that each piece belongs to.
    parts: Vec<usize>,
}

impl JoinedMesh {
    /// Finds the loose pieces.
    pub(in super::super) fn pieces(&self) -> Pieces {
        let firsts = firsts_at_places(&self.positions);
        let mut roots: Vec<u32> = (0..self.positions.len() as u32).collect();
        for (vertex, first) in (0..).zip(&firsts) {
            if self.part_of(vertex) == self.part_of(*first) {
                join(&mut roots, vertex, *first);
            }
        }
        for corners in self.indices.chunks_exact(3) {
            join(&mut roots, corners[0], corners[1]);
            join(&mut roots, corners[0], corners[2]);
        }
        let mut numbers = vec![u32::MAX; roots.len()];
        let mut pieces = Pieces {
            of_vertex: vec![u32::MAX; roots.len()],
            areas: Vec::new(),
            parts: Vec::new(),
        };
        for corners in self.indices.chunks_exact(3) {
            let root = root_of(&mut roots, corners[0]) as usize;
            if numbers[root] == u32::MAX {
                numbers[root] = pieces.areas.len() as u32;
                pieces.areas.push(0.0);
                pieces.parts.push(self.part_of(corners[0]));
            }
            let piece = numbers[root];
            for corner in corners {
                pieces.of_vertex[*corner as usize] = piece;
            }
            let [a, b, c] = [0, 1, 2]
                .map(|at| DVec3::from(self.positions[corners[at] as usize].map(f64::from)));
            pieces.areas[piece as usize] += (b - a).cross(c - a).length() / 2.0;
        }
        pieces
    }
}

impl Pieces {
    /// Pieces to leave out so that at most `budget` drawn triangles remain of `coarse`, the smallest first.
    /// `coarse` has the vertices of the mesh that the pieces were found in. The largest piece of each part stays.
    /// Returns for each piece whether it is left out, or `None` if the budget cannot be met so.
    pub(in super::super) fn to_leave_out(
        &self,
        coarse: &JoinedMesh,
        budget: u64,
    ) -> Option<Vec<bool>> {
        let mut drawn = vec![0; self.areas.len()];
        for corners in coarse.indices.chunks_exact(3) {
            let piece = self.of_vertex[corners[0] as usize] as usize;
            drawn[piece] += coarse.parts[self.parts[piece]].uses;
        }
        let mut left: u64 = drawn.iter().sum();
        let mut left_out = vec![false; self.areas.len()];
        for piece in self.smallest_first() {
            if left <= budget {
                break;
            }
            left -= drawn[piece];
            left_out[piece] = true;
        }
        (left <= budget).then_some(left_out)
    }

    /// Whether the piece of a vertex is marked.
    pub(in super::super) fn is_marked(&self, vertex: u32, marks: &[bool]) -> bool {
        marks[self.of_vertex[vertex as usize] as usize]
    }

    /// All pieces but the largest of each part, by area.
    fn smallest_first(&self) -> Vec<usize> {
        let by_area = |one: &usize, other: &usize| -> Ordering {
            self.areas[*one].total_cmp(&self.areas[*other])
        };
        let mut largest = vec![None; self.parts.iter().max().map_or(0, |part| part + 1)];
        for (piece, part) in self.parts.iter().enumerate() {
            let known: &mut Option<usize> = &mut largest[*part];
            if known.is_none_or(|known| by_area(&known, &piece).is_lt()) {
                *known = Some(piece);
            }
        }
        let mut pieces: Vec<usize> = (0..self.areas.len())
            .filter(|piece| largest[self.parts[*piece]] != Some(*piece))
            .collect();
        pieces.sort_by(by_area);
        pieces
    }
}

fn root_of(roots: &mut [u32], mut vertex: u32) -> u32 {
    while roots[vertex as usize] != vertex {
        let above = roots[roots[vertex as usize] as usize];
        roots[vertex as usize] = above;
        vertex = above;
    }
    vertex
}

/// Joins the sets of two vertices (union-find with path halving; the lower root stays).
fn join(roots: &mut [u32], one: u32, other: u32) {
    let (one, other) = (root_of(roots, one), root_of(roots, other));
    roots[one.max(other) as usize] = one.min(other);
}
