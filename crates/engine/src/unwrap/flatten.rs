//! Lays a patch into the plane with as little stretch as possible: as rigid as possible, by local and global steps (Liu et
//! al., "A Local/Global Approach to Mesh Parameterization", 2008).
//!
//! The local step turns the true shape of each triangle as it lies now; the global step finds the vertices that fit the
//! turned shapes best, a sparse least squares problem that conjugate gradients solve. Both steps have fixed limits, so the
//! work is bounded by the size of the patch.

use glam::DVec2;

use super::patch::Patch;
use super::topology::WeldedMesh;

/// Weights of edges are cotangents of the opposite angles, within these limits: no weight is negative, so the problem
/// stays solvable, and thin triangles do not outweigh all others.
const WEIGHTS: (f64, f64) = (0.05, 10.0);

/// The remaining error, as a fraction of the first, at which the solver stops.
const TOLERANCE: f64 = 1e-3;

/// The equations of a patch; they stay the same for every step.
pub(super) struct Equations {
    /// For each triangle, the weight of the edge that starts at each corner.
    weights: Vec<[f64; 3]>,
    edges: Vec<(u32, u32, f64)>,
    /// The sum of the weights at each vertex.
    diagonal: Vec<f64>,
}

impl Equations {
    pub(super) fn new(mesh: &WeldedMesh, patch: &Patch) -> Equations {
        let mut weights = Vec::with_capacity(patch.triangles.len());
        let mut edges = Vec::with_capacity(patch.triangles.len() * 3);
        let mut diagonal = vec![0.0; patch.vertex_count];
        for (triangle, corners) in patch.triangles.iter().zip(&patch.corners) {
            let shape = &mesh.shapes[*triangle as usize];
            let of_edges = [0, 1, 2].map(|at| {
                let opposite = shape[(at + 2) % 3];
                let (one, other) = (shape[at] - opposite, shape[(at + 1) % 3] - opposite);
                (one.dot(other) / one.perp_dot(other)).clamp(WEIGHTS.0, WEIGHTS.1)
            });
            for (at, weight) in of_edges.iter().enumerate() {
                let (from, to) = (corners[at], corners[(at + 1) % 3]);
                edges.push((from.min(to), from.max(to), *weight));
                diagonal[from as usize] += weight;
                diagonal[to as usize] += weight;
            }
            weights.push(of_edges);
        }
        edges.sort_unstable_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2)));
        edges.dedup_by(|next, kept| {
            let same = (next.0, next.1) == (kept.0, kept.1);
            if same {
                kept.2 += next.2;
            }
            same
        });
        Equations {
            weights,
            edges,
            diagonal,
        }
    }

    /// Improves `uvs` by a number of local and global steps.
    pub(super) fn relax(&self, mesh: &WeldedMesh, patch: &Patch, uvs: &mut [DVec2], steps: usize) {
        let rounds = 12 + (patch.vertex_count as f64).sqrt() as usize * 2;
        for _ in 0..steps {
            let target = self.turned_shapes(mesh, patch, uvs);
            self.solve(&target, uvs, rounds);
        }
    }

    /// The local step: the right-hand side for the shapes of all triangles, each turned as it lies in the plane.
    fn turned_shapes(&self, mesh: &WeldedMesh, patch: &Patch, uvs: &[DVec2]) -> Vec<DVec2> {
        let mut target = vec![DVec2::ZERO; uvs.len()];
        for (at, corners) in patch.corners.iter().enumerate() {
            let shape = &mesh.shapes[patch.triangles[at] as usize];
            let weights = &self.weights[at];
            let places = corners.map(|corner| uvs[corner as usize]);
            let mut turn = DVec2::ZERO;
            for side in 0..3 {
                let next = (side + 1) % 3;
                let (now, true_edge) = (places[next] - places[side], shape[next] - shape[side]);
                turn += weights[side] * DVec2::new(true_edge.dot(now), true_edge.perp_dot(now));
            }
            let turn = turn.try_normalize().unwrap_or(DVec2::X);
            for side in 0..3 {
                let next = (side + 1) % 3;
                let edge = weights[side] * turn.rotate(shape[next] - shape[side]);
                target[corners[next] as usize] += edge;
                target[corners[side] as usize] -= edge;
            }
        }
        target
    }

    /// The global step, by conjugate gradients with the diagonal as preconditioner. Starts at `uvs`.
    fn solve(&self, target: &[DVec2], uvs: &mut [DVec2], rounds: usize) {
        let count = uvs.len();
        let mut product = vec![DVec2::ZERO; count];
        self.multiply(uvs, &mut product);
        let mut residual: Vec<DVec2> = target.iter().zip(&product).map(|(t, p)| t - p).collect();
        let mut step: Vec<DVec2> = self.preconditioned(&residual).collect();
        let mut size = dot(&residual, &step);
        // The error is measured by the target, not by the first residual: near the solution little remains to do.
        let goal =
            TOLERANCE * TOLERANCE * dot(target, &self.preconditioned(target).collect::<Vec<_>>());
        for _ in 0..rounds {
            if size <= goal || !size.is_normal() {
                return;
            }
            self.multiply(&step, &mut product);
            let curvature = dot(&step, &product);
            if curvature <= 0.0 || !curvature.is_normal() {
                return;
            }
            let length = size / curvature;
            for at in 0..count {
                uvs[at] += length * step[at];
                residual[at] -= length * product[at];
            }
            let next: f64 = (residual.iter().zip(&self.diagonal))
                .map(|(rest, diagonal)| rest.length_squared() / diagonal)
                .sum();
            let keep = next / size;
            for (at, better) in self.preconditioned(&residual).enumerate() {
                step[at] = better + keep * step[at];
            }
            size = next;
        }
    }

    fn multiply(&self, values: &[DVec2], product: &mut [DVec2]) {
        product.fill(DVec2::ZERO);
        for (from, to, weight) in &self.edges {
            let flow = *weight * (values[*from as usize] - values[*to as usize]);
            product[*from as usize] += flow;
            product[*to as usize] -= flow;
        }
    }

    fn preconditioned<'a>(&'a self, values: &'a [DVec2]) -> impl Iterator<Item = DVec2> + 'a {
        (values.iter().zip(&self.diagonal)).map(|(value, diagonal)| value / *diagonal)
    }
}

fn dot(one: &[DVec2], other: &[DVec2]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a.dot(*b)).sum()
}
