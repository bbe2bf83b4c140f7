//! The mesh as the unwrapper sees it: welded positions, the neighbours of each triangle, and its shape in a plane.
//!
//! Positions are welded by value, so seams of other attributes do not count. Invariant: twins point to each other, run in
//! opposite directions along one edge and belong to usable triangles. Lengths are scaled to a unit box, so no later step
//! depends on the unit of the model.

use glam::{DVec2, DVec3};

use super::super::alike::distinct;

/// No half-edge on the other side.
pub(super) const NONE: u32 = u32::MAX;

/// The height of a triangle, as a fraction of its longest edge, below which it counts as degenerate.
const THINNEST: f64 = 1e-5;

/// Edges with more triangles than this stay borders.
const MAX_EDGE_TRIANGLES: usize = 16;

/// Half-edge `3 * t + i` runs from corner `i` of triangle `t` to the next corner.
pub(super) struct WeldedMesh {
    /// The welded vertices of each triangle.
    pub(super) corners: Vec<[u32; 3]>,
    pub(super) points: Vec<DVec3>,
    /// The half-edge on the other side of each half-edge, or [`NONE`].
    pub(super) twins: Vec<u32>,
    pub(super) normals: Vec<DVec3>,
    pub(super) areas: Vec<f64>,
    /// Each triangle laid into a plane without distortion, counter-clockwise.
    pub(super) shapes: Vec<[DVec2; 3]>,
    /// Whether the triangle has an area; all others are left out of charts.
    pub(super) usable: Vec<bool>,
}

impl WeldedMesh {
    pub(super) fn new(positions: &[[f32; 3]], indices: &[u32]) -> WeldedMesh {
        let (welded, points) = weld(&scaled(positions));
        let corners: Vec<[u32; 3]> = indices
            .chunks_exact(3)
            .map(|corners| [0, 1, 2].map(|at| welded[corners[at] as usize]))
            .collect();
        let mut mesh = WeldedMesh {
            twins: vec![NONE; corners.len() * 3],
            normals: Vec::with_capacity(corners.len()),
            areas: Vec::with_capacity(corners.len()),
            shapes: Vec::with_capacity(corners.len()),
            usable: Vec::with_capacity(corners.len()),
            corners,
            points,
        };
        for triangle in 0..mesh.corners.len() {
            mesh.measure(triangle);
        }
        mesh.find_twins();
        mesh
    }

    /// The welded vertices at the start and the end of a half-edge.
    pub(super) fn ends(&self, half_edge: u32) -> [u32; 2] {
        let (triangle, at) = (half_edge as usize / 3, half_edge as usize % 3);
        [
            self.corners[triangle][at],
            self.corners[triangle][(at + 1) % 3],
        ]
    }

    pub(super) fn length(&self, half_edge: u32) -> f64 {
        let [from, to] = self.ends(half_edge);
        self.points[from as usize].distance(self.points[to as usize])
    }

    fn measure(&mut self, triangle: usize) {
        let [a, b, c] = self.corners[triangle].map(|at| self.points[at as usize]);
        let (along, across) = (b - a, c - a);
        let normal = along.cross(across);
        let double_area = normal.length();
        let longest = along.length().max(across.length()).max(b.distance(c));
        let usable = double_area > THINNEST * longest * longest && double_area.is_normal();
        self.usable.push(usable);
        if !usable {
            self.normals.push(DVec3::ZERO);
            self.areas.push(0.0);
            self.shapes.push([DVec2::ZERO; 3]);
            return;
        }
        let width = along.length();
        let apex = DVec2::new(along.dot(across) / width, double_area / width);
        self.normals.push(normal / double_area);
        self.areas.push(double_area / 2.0);
        self.shapes
            .push([DVec2::ZERO, DVec2::new(width, 0.0), apex]);
    }

    fn find_twins(&mut self) {
        let mut edges: Vec<(u32, u32, u32)> = (0..self.twins.len() as u32)
            .filter(|half_edge| self.usable[*half_edge as usize / 3])
            .map(|half_edge| {
                let [from, to] = self.ends(half_edge);
                (from.min(to), from.max(to), half_edge)
            })
            .collect();
        edges.sort_unstable();
        for group in edges.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let mut forward = Vec::new();
            let mut backward = Vec::new();
            for &(low, _, half_edge) in group {
                match self.ends(half_edge)[0] == low {
                    true => forward.push(half_edge),
                    false => backward.push(half_edge),
                }
            }
            if let ([one], [other]) = (&forward[..], &backward[..]) {
                self.join(*one, *other);
            } else if group.len() <= MAX_EDGE_TRIANGLES {
                self.join_flattest(&mut forward, &mut backward);
            }
        }
    }

    fn join(&mut self, one: u32, other: u32) {
        self.twins[one as usize] = other;
        self.twins[other as usize] = one;
    }

    /// Joins the half-edges of a non-manifold edge in pairs, the pair with the smallest bend first. So the two sides of a
    /// sheet that is modelled twice, once for each side, stay two whole sheets.
    fn join_flattest(&mut self, forward: &mut Vec<u32>, backward: &mut Vec<u32>) {
        loop {
            let normal = |half_edge: u32| self.normals[half_edge as usize / 3];
            let mut best: Option<(f64, usize, usize)> = None;
            for (at, one) in forward.iter().enumerate() {
                for (to, other) in backward.iter().enumerate() {
                    let flat = normal(*one).dot(normal(*other));
                    if flat > -0.5 && best.is_none_or(|(so_far, _, _)| flat > so_far) {
                        best = Some((flat, at, to));
                    }
                }
            }
            let Some((_, at, to)) = best else {
                return;
            };
            let (one, other) = (forward.remove(at), backward.remove(to));
            self.join(one, other);
        }
    }
}

/// The positions in a box of side 1 around the origin. Positions that are not finite stay so.
fn scaled(positions: &[[f32; 3]]) -> Vec<DVec3> {
    let points: Vec<DVec3> = positions
        .iter()
        .map(|position| DVec3::from_array(position.map(f64::from)))
        .collect();
    let finite = || points.iter().filter(|point| point.is_finite());
    let low = finite().fold(DVec3::INFINITY, |low, point| low.min(*point));
    let high = finite().fold(DVec3::NEG_INFINITY, |high, point| high.max(*point));
    let side = (high - low).max_element();
    let scale = if side > 0.0 { side.recip() } else { 1.0 };
    points.iter().map(|point| (*point - low) * scale).collect()
}

/// The number of each position among the different ones, and these.
fn weld(points: &[DVec3]) -> (Vec<u32>, Vec<DVec3>) {
    // Adding zero makes one zero of the two.
    let keys = points
        .iter()
        .map(|point| (*point + DVec3::ZERO).to_array().map(f64::to_bits));
    let (different, welded) = distinct(keys);
    let points = different
        .into_iter()
        .map(|bits| DVec3::from(bits.map(f64::from_bits)));
    (welded, points.collect())
}
