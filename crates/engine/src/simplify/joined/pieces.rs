//! Loose pieces: sets of triangles of a part that share no vertex position with the rest of it.
//!
//! Pieces of about one size, such as the leaves of a tree, are taken in an order that is spread evenly over the space that
//! they fill. So whatever is done to some of them first (removing them, collapsing their edges) is done everywhere.

use std::collections::BTreeMap;

use glam::DVec3;

use super::super::super::alike::{Sets, firsts_at_places};
use super::JoinedMesh;

/// Pieces whose areas differ by less than this factor are of about one size.
const SAME_SIZE: f64 = 2.0;
/// From this number of equal pieces on, their order of collapse is spread evenly over space.
const MANY: usize = 64;

/// A loose piece that stays has at least about this number of triangles.
pub(in super::super) const MIN_PIECE_TRIANGLES: u64 = 2;
/// All pieces have room if, in their coarsest form, they need at most the budget divided by this number.
const ROOMY: u64 = 4;

/// The loose pieces of a mesh.
pub(in super::super) struct Pieces {
    /// For each vertex, the number of its piece.
    of_vertex: Vec<u32>,
    all: Vec<Piece>,
}

#[derive(Debug, Clone, Copy)]
struct Piece {
    /// The part that it belongs to.
    part: usize,
    /// In the joined space.
    area: f64,
    /// The mean of its corners.
    middle: DVec3,
    /// Stored triangles.
    triangles: u64,
}

impl JoinedMesh {
    /// Finds the loose pieces.
    pub(in super::super) fn pieces(&self) -> Pieces {
        let firsts = firsts_at_places(&self.positions);
        let mut sets = Sets::new(self.positions.len());
        for (vertex, first) in (0..).zip(&firsts) {
            if self.part_of(vertex) == self.part_of(*first) {
                sets.join(vertex, *first);
            }
        }
        sets.join_triangles(&self.indices, 0);
        let mut numbers = vec![u32::MAX; self.positions.len()];
        let mut pieces = Pieces {
            of_vertex: vec![u32::MAX; self.positions.len()],
            all: Vec::new(),
        };
        for corners in self.indices.chunks_exact(3) {
            let root = sets.root(corners[0]) as usize;
            if numbers[root] == u32::MAX {
                numbers[root] = pieces.all.len() as u32;
                pieces.all.push(Piece {
                    part: self.part_of(corners[0]),
                    area: 0.0,
                    middle: DVec3::ZERO,
                    triangles: 0,
                });
            }
            let number = numbers[root];
            for corner in corners {
                pieces.of_vertex[*corner as usize] = number;
            }
            let [a, b, c] = [0, 1, 2]
                .map(|at| DVec3::from(self.positions[corners[at] as usize].map(f64::from)));
            let piece = &mut pieces.all[number as usize];
            piece.area += (b - a).cross(c - a).length() / 2.0;
            piece.middle += (a + b + c) / 3.0;
            piece.triangles += 1;
        }
        for piece in &mut pieces.all {
            piece.middle /= piece.triangles as f64;
        }
        pieces
    }

    /// Sorts the triangles of many equal pieces such that neighbours are far apart in the list. Of collapses with equal
    /// errors, those of the first triangles come first; so some pieces in every place collapse, not all in one place.
    pub(super) fn spread_equal_pieces(&mut self) {
        let pieces = self.pieces();
        if pieces.all.len() < MANY {
            return;
        }
        let mut order: Vec<usize> = (0..pieces.all.len()).collect();
        let mut by_triangles: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (number, piece) in pieces.all.iter().enumerate() {
            by_triangles
                .entry(piece.triangles)
                .or_default()
                .push(number);
        }
        for equal in by_triangles.into_values() {
            for mut class in pieces.classes(equal) {
                if class.len() >= MANY {
                    let spread = pieces.spread(&class);
                    class.sort_unstable();
                    for (place, piece) in class.into_iter().zip(spread) {
                        order[place] = piece;
                    }
                }
            }
        }
        let mut triangles: Vec<Vec<u32>> = vec![Vec::new(); pieces.all.len()];
        for corners in self.indices.chunks_exact(3) {
            triangles[pieces.of(corners[0])].extend(corners);
        }
        self.indices = order
            .into_iter()
            .flat_map(|piece| std::mem::take(&mut triangles[piece]))
            .collect();
    }
}

impl Pieces {
    /// The number of the piece that a vertex belongs to.
    pub(in super::super) fn of(&self, vertex: u32) -> usize {
        self.of_vertex[vertex as usize] as usize
    }

    /// Whether enough of the budget is left for the shape of the large pieces of `mesh` if all pieces stay.
    pub(in super::super) fn have_room_in(&self, mesh: &JoinedMesh, budget: u64) -> bool {
        let drawn = self.drawn_in(mesh);
        let least: u64 = drawn
            .iter()
            .map(|drawn| (*drawn).min(MIN_PIECE_TRIANGLES))
            .sum();
        least * ROOMY <= budget
    }

    /// The triangles of each piece, as a viewer counts them, that `mesh` has. It has the vertices of the mesh that the
    /// pieces were found in.
    pub(in super::super) fn drawn_in(&self, mesh: &JoinedMesh) -> Vec<u64> {
        let mut drawn = vec![0; self.all.len()];
        for corners in mesh.indices.chunks_exact(3) {
            let piece = self.of(corners[0]);
            drawn[piece] += mesh.parts[self.all[piece].part].uses;
        }
        drawn
    }

    /// The largest piece of each part: a part does not vanish.
    pub(in super::super) fn largest_of_parts(&self) -> Vec<usize> {
        let mut largest = vec![
            None;
            self.all
                .iter()
                .map(|piece| piece.part + 1)
                .max()
                .unwrap_or(0)
        ];
        for (number, piece) in self.all.iter().enumerate() {
            let known: &mut Option<usize> = &mut largest[piece.part];
            if known.is_none_or(|known| self.all[known].area < piece.area) {
                *known = Some(number);
            }
        }
        largest.into_iter().flatten().collect()
    }

    /// All pieces, the most important first: larger ones before smaller ones, and those of about one size in an order that
    /// is spread evenly over space.
    pub(in super::super) fn by_importance(&self) -> Vec<usize> {
        let classes = self.classes((0..self.all.len()).collect());
        let spread = classes.iter().flat_map(|class| self.spread(class));
        spread.collect()
    }

    /// Pieces sorted into classes of about equal areas, the largest first.
    fn classes(&self, mut pieces: Vec<usize>) -> Vec<Vec<usize>> {
        let area = |piece: usize| self.all[piece].area;
        pieces.sort_by(|one, other| area(*other).total_cmp(&area(*one)));
        let mut classes: Vec<Vec<usize>> = Vec::new();
        for piece in pieces {
            match classes.last_mut() {
                Some(class) if area(class[0]) < area(piece) * SAME_SIZE => class.push(piece),
                _ => classes.push(vec![piece]),
            }
        }
        classes
    }

    /// The pieces in an order such that the first N, for any N, are spread evenly over the space that all fill.
    fn spread(&self, pieces: &[usize]) -> Vec<usize> {
        let middle = |piece: &usize| self.all[*piece].middle;
        let low = pieces.iter().map(middle).fold(DVec3::INFINITY, DVec3::min);
        let high = pieces
            .iter()
            .map(middle)
            .fold(DVec3::NEG_INFINITY, DVec3::max);
        let size = (high - low).max_element().max(f64::MIN_POSITIVE);
        let mut along: Vec<(u32, usize)> = pieces
            .iter()
            .map(|piece| (place_on_curve((middle(piece) - low) / size), *piece))
            .collect();
        along.sort_unstable();
        // The van der Corput sequence: numbers with their bits reversed.
        let bits = usize::BITS - pieces.len().next_power_of_two().leading_zeros() - 1;
        let places = (0..1usize << bits).map(|number| match bits {
            0 => 0,
            _ => number.reverse_bits() >> (usize::BITS - bits),
        });
        places
            .filter_map(|place| along.get(place))
            .map(|(_, piece)| *piece)
            .collect()
    }
}

/// The position of a point of the unit cube on a space-filling curve (Morton order).
fn place_on_curve(point: DVec3) -> u32 {
    let spaced = |number: f64| {
        let steps = (number * 1023.0) as u32;
        (0..10).fold(0, |spaced, bit| spaced | (steps >> bit & 1) << (bit * 3))
    };
    spaced(point.x) | spaced(point.y) << 1 | spaced(point.z) << 2
}
