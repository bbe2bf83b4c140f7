//! Open borders: edges of one triangle only. A part of their vertices is kept in place.
//!
//! Which vertices shape a border is found by removing them one by one, the one with the least effect first, as
//! M. Visvalingam and J. D. Whyatt do ("Line generalisation by repeated elimination of points", 1993). The vertices
//! that stay longest matter most. Vertices on straight borders do not matter.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use glam::Vec3;
use meshopt::SimplifyVertex;
use rayon::prelude::*;

use super::super::super::alike::firsts_at_places;
use super::super::recipe::BorderLock;
use super::JoinedMesh;

/// A vertex that bends a border by less, as a part of the model's size, is on a straight line.
const STRAIGHT: f32 = 1e-6;

impl JoinedMesh {
    /// Locks as many vertices of open borders as the recipe says, those that matter most first.
    pub(super) fn lock_borders(&mut self) {
        let BorderLock { part, most } = self.recipe.border;
        if part <= 0.0 {
            return;
        }
        let firsts = firsts_at_places(&self.positions);
        let ranked = self.ranked_border(&firsts);
        let count = (ranked.len() as f32 * part.min(1.0)).ceil() as usize;
        let mut is_locked = vec![false; self.positions.len()];
        // A vertex on a border needs about one triangle in each draw.
        let mut cost = 0;
        for vertex in ranked.into_iter().rev().take(count) {
            cost += self.parts[self.part_of(vertex)].uses;
            if cost > most {
                break;
            }
            is_locked[vertex as usize] = true;
        }
        for (flags, first) in self.protections.iter_mut().zip(firsts) {
            if is_locked[first as usize] {
                *flags |= SimplifyVertex::Lock;
            }
        }
    }

    /// The vertices that bend open borders, those that matter least first.
    fn ranked_border(&self, firsts: &[u32]) -> Vec<u32> {
        let place = |vertex: u32| Vec3::from_array(self.positions[vertex as usize]);
        let mut neighbours: HashMap<u32, Vec<u32>> = HashMap::new();
        for (one, other) in self.open_edges(firsts) {
            neighbours.entry(one).or_default().push(other);
            neighbours.entry(other).or_default().push(one);
        }
        let bend = |vertex: u32, neighbours: &[u32]| match neighbours {
            [one, other] => distance_to_line(place(vertex), place(*one), place(*other)),
            // The end of a border, or the meeting of several.
            _ => f32::INFINITY,
        };
        // Numbers that are not negative are in the order of their bits.
        let entry = |bend: f32, vertex: u32| Reverse((bend.to_bits(), vertex));
        let all = neighbours.iter();
        let mut waiting: BinaryHeap<_> = all
            .map(|(vertex, near)| entry(bend(*vertex, near), *vertex))
            .collect();
        let mut ranked = Vec::new();
        let mut most = 0.0_f32;
        while let Some(Reverse((bits, vertex))) = waiting.pop() {
            let Some(near) = neighbours.get(&vertex) else {
                continue;
            };
            // A neighbour was removed since this entry was made; a newer entry waits.
            if bend(vertex, near).to_bits() != bits {
                continue;
            }
            most = most.max(f32::from_bits(bits));
            if most > STRAIGHT {
                ranked.push(vertex);
            }
            let near = neighbours.remove(&vertex).expect("found above");
            let [one, other] = near[..] else {
                continue;
            };
            for (end, opposite) in [(one, other), (other, one)] {
                if let Some(near) = neighbours.get_mut(&end) {
                    for neighbour in near.iter_mut().filter(|near| **near == vertex) {
                        *neighbour = opposite;
                    }
                    waiting.push(entry(bend(end, near), end));
                }
            }
        }
        ranked
    }

    /// The edges of one triangle only, where vertices at the same position count as one.
    fn open_edges(&self, firsts: &[u32]) -> Vec<(u32, u32)> {
        let mut edges: Vec<(u32, u32)> = Vec::with_capacity(self.indices.len());
        for corners in self.indices.chunks_exact(3) {
            let [a, b, c] = [0, 1, 2].map(|at| firsts[corners[at] as usize]);
            edges.extend([(a, b), (b, c), (c, a)].map(|(a, b)| (a.min(b), a.max(b))));
        }
        edges.par_sort_unstable();
        let groups = edges.chunk_by(|one, other| one == other);
        let open = groups.filter(|group| group.len() == 1 && group[0].0 != group[0].1);
        open.map(|group| group[0]).collect()
    }
}

/// The distance of a point from the line between two others.
fn distance_to_line(point: Vec3, one: Vec3, other: Vec3) -> f32 {
    let along = other - one;
    let part = (point - one).dot(along) / along.length_squared().max(f32::MIN_POSITIVE);
    point.distance(one + along * part.clamp(0.0, 1.0))
}
