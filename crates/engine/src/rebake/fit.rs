//! Moves the vertices of a low mesh so that its triangles lie nearer to the source.
//!
//! The simplifier places each vertex by the planes of the triangles that it replaces. Between such vertices, the triangles of
//! a bent surface still lie mostly on one side of it. Here each triangle is sampled, and vertices move until the squares
//! of the samples' distances from the planes of the source below them (Chen and Medioni, "Object modelling by registration
//! of multiple range images", 1992) have the least sum. Vertices of open borders and of edges with more than two triangles
//! stay where they are.

use std::collections::HashMap;

use glam::{Mat3A, Vec3, Vec3A};
use rayon::prelude::*;

use super::super::scene::Geometry;
use super::caster::{Caster, LowPoint, mixed};
use super::places::numbered_places;

/// Passes over all vertices.
const PASSES: usize = 8;
/// Samples on a side of a triangle.
const STEPS: u32 = 4;
/// How much a vertex is held where it is, as a part of the weight of its samples.
const HELD: f32 = 0.1;
/// The cosine of the largest angle between a triangle and the source that counts for it.
const ALIKE: f32 = 0.5;
/// The cosine of the largest angle by which a triangle may turn.
const TURNS: f32 = 0.95;

/// A point of a low triangle, and the plane of the source that it should lie on.
struct Sample {
    /// The weights of the triangle's corners.
    weights: [f32; 3],
    normal: Vec3A,
    /// How far the plane is in the direction of the normal.
    distance: f32,
    /// The area of the triangle that it stands for.
    area: f32,
}

/// Vertices at the same place, which move together.
struct Places {
    /// The place of each vertex.
    of_vertex: Vec<usize>,
    positions: Vec<Vec3A>,
    /// Whether each place stays.
    is_fixed: Vec<bool>,
    /// The triangles at each place.
    triangles: Vec<Vec<u32>>,
    /// The places of each triangle.
    corners: Vec<[usize; 3]>,
}

/// Moves the vertices of a mesh nearer to the source of a caster, by this share of the way to the least squares.
pub(super) fn fit(mesh: &mut Geometry, caster: &Caster<'_>, share: f32) {
    let mut places = Places::new(mesh);
    let samples = places.samples(caster);
    let moves = places.solve(&samples);
    places.apply(moves.into_iter().map(|step| step * share).collect());
    let Some(positions) = mesh.attribute_mut("POSITION") else {
        return;
    };
    let vertices = positions.values.chunks_exact_mut(3);
    for (vertex, place) in vertices.zip(&places.of_vertex) {
        vertex.copy_from_slice(&places.positions[*place].to_array());
    }
}

impl Places {
    fn new(mesh: &Geometry) -> Places {
        let (of_vertex, positions) = numbered_places(mesh);
        let positions: Vec<Vec3A> = positions.into_iter().map(Vec3A::from).collect();
        let corners: Vec<[usize; 3]> = mesh
            .indices
            .as_chunks::<3>()
            .0
            .iter()
            .map(|corners| corners.map(|vertex| of_vertex[vertex as usize]))
            .collect();
        let mut triangles = vec![Vec::new(); positions.len()];
        let mut edges: HashMap<(usize, usize), u32> = HashMap::new();
        for (number, places) in corners.iter().enumerate() {
            for at in 0..3 {
                let (one, other) = (places[at], places[(at + 1) % 3]);
                triangles[one].push(number as u32);
                *edges.entry((one.min(other), one.max(other))).or_default() += 1;
            }
        }
        let mut is_fixed = vec![false; positions.len()];
        for ((one, other), count) in edges {
            if count != 2 {
                is_fixed[one] = true;
                is_fixed[other] = true;
            }
        }
        Places {
            of_vertex,
            positions,
            is_fixed,
            triangles,
            corners,
        }
    }

    fn places(&self, triangle: usize) -> [Vec3A; 3] {
        self.corners[triangle].map(|place| self.positions[place])
    }

    /// The samples of each triangle.
    fn samples(&self, caster: &Caster<'_>) -> Vec<Vec<Sample>> {
        (0..self.corners.len())
            .into_par_iter()
            .map(|triangle| samples_of(self.places(triangle), caster))
            .collect()
    }

    /// How far each place should move: the least squares, place by place (Gauss–Seidel).
    fn solve(&self, samples: &[Vec<Sample>]) -> Vec<Vec3A> {
        let mut moves = vec![Vec3A::ZERO; self.positions.len()];
        for _ in 0..PASSES {
            for place in (0..moves.len()).filter(|place| !self.is_fixed[*place]) {
                moves[place] = self.best_move(place, samples, &moves);
            }
        }
        moves
    }

    /// The best move of one place while the others stay.
    fn best_move(&self, place: usize, samples: &[Vec<Sample>], moves: &[Vec3A]) -> Vec3A {
        let (mut left, mut right, mut total) = (Mat3A::ZERO, Vec3A::ZERO, 0.0);
        for triangle in &self.triangles[place] {
            let corners = self.corners[*triangle as usize];
            for sample in &samples[*triangle as usize] {
                let (mut own, mut rest) = (0.0, sample.distance);
                for (corner, weight) in corners.into_iter().zip(sample.weights) {
                    match corner == place {
                        true => own += weight,
                        false => rest -= weight * sample.normal.dot(moves[corner]),
                    }
                }
                let along = sample.normal * own;
                left += Mat3A::from_cols(along * along.x, along * along.y, along * along.z)
                    * sample.area;
                right += along * rest * sample.area;
                total += own * own * sample.area;
            }
        }
        if total <= 0.0 {
            return Vec3A::ZERO;
        }
        let held = Mat3A::from_diagonal(Vec3::splat(total * HELD));
        let moved = (left + held).inverse() * right;
        match moved.is_finite() {
            true => moved,
            false => Vec3A::ZERO,
        }
    }

    /// Moves the places, but for those whose triangles would turn too far.
    fn apply(&mut self, mut moves: Vec<Vec3A>) {
        loop {
            let mut is_changed = false;
            for triangle in 0..self.corners.len() {
                let corners = self.corners[triangle];
                if corners.iter().all(|place| moves[*place] == Vec3A::ZERO) {
                    continue;
                }
                let moved = corners.map(|place| self.positions[place] + moves[place]);
                let before = across(self.places(triangle)).normalize_or_zero();
                if across(moved).normalize_or_zero().dot(before) < TURNS {
                    is_changed = true;
                    for place in corners {
                        moves[place] = Vec3A::ZERO;
                    }
                }
            }
            if !is_changed {
                break;
            }
        }
        for (position, step) in self.positions.iter_mut().zip(moves) {
            *position += step;
        }
    }
}

/// Twice the area of a triangle, as a vector along its normal.
fn across([a, b, c]: [Vec3A; 3]) -> Vec3A {
    (b - a).cross(c - a)
}

fn samples_of(corners: [Vec3A; 3], caster: &Caster<'_>) -> Vec<Sample> {
    let area = across(corners).length();
    let Some(face) = across(corners).try_normalize() else {
        return Vec::new();
    };
    let parts = caster.parts_below(corners, face);
    let mut guess = None;
    let mut samples = Vec::with_capacity((STEPS * STEPS) as usize);
    for weights in grid() {
        let point = LowPoint {
            position: mixed(corners, weights),
            normal: face,
            face,
            parts: &parts,
            guess,
        };
        let Some(found) = caster.find(&point) else {
            continue;
        };
        // Where no ray met the source, a gap of it is above or below.
        if !found.is_met {
            continue;
        }
        guess = Some(found.leaf);
        let source = caster.corners(found.triangle);
        let normal = across(source).normalize_or_zero();
        if normal.dot(face) < ALIKE {
            continue;
        }
        samples.push(Sample {
            weights,
            normal,
            distance: normal.dot(mixed(source, found.weights) - point.position),
            area: area / (STEPS * STEPS) as f32,
        });
    }
    samples
}

/// The middles of the small triangles that a triangle is divided into, as weights of its corners.
fn grid() -> impl Iterator<Item = [f32; 3]> {
    let at = |one: f32, other: f32| {
        let [one, other] = [one, other].map(|step| step / (3 * STEPS) as f32);
        [one, other, 1.0 - one - other]
    };
    (0..STEPS).flat_map(move |row| {
        (0..STEPS - row).flat_map(move |column| {
            let (row, column, last) = (row * 3, column * 3, STEPS * 3 - 3);
            let lower = at(row as f32 + 1.0, column as f32 + 1.0);
            let upper = (row + column < last).then(|| at(row as f32 + 2.0, column as f32 + 2.0));
            [Some(lower), upper].into_iter().flatten()
        })
    })
}

#[cfg(test)]
mod tests {
    use glam::Mat4;

    use super::super::super::render::{PreparedScene, RenderInstance, RenderMesh, RenderScene};
    use super::super::super::scene::Attribute;
    use super::super::caster::{Covers, SearchRange, SourceSurface};
    use super::*;

    /// A part of a sphere of radius 1 around the origin: rings from pole to pole, or down to the equator.
    fn sphere(rings: u32, columns: u32, is_whole: bool) -> (Vec<Vec3>, Vec<u32>) {
        let down = if is_whole { 1.0 } else { 0.5 };
        let point = |ring: u32, column: u32| {
            let polar = ring as f32 / rings as f32 * std::f32::consts::PI * down;
            let around = (column % columns) as f32 / columns as f32 * std::f32::consts::TAU;
            Vec3::new(
                polar.sin() * around.cos(),
                polar.cos(),
                -polar.sin() * around.sin(),
            )
        };
        let corners = (0..=rings).flat_map(|ring| (0..columns).map(move |column| (ring, column)));
        let positions = corners.map(|(ring, column)| point(ring, column)).collect();
        let mut indices = Vec::new();
        for ring in 0..rings {
            for column in 0..columns {
                let at = |ring: u32, column: u32| ring * columns + column % columns;
                let [a, b] = [at(ring, column), at(ring, column + 1)];
                let [c, d] = [at(ring + 1, column), at(ring + 1, column + 1)];
                if ring > 0 {
                    indices.extend([a, c, b]);
                }
                if ring + 1 < rings || !is_whole {
                    indices.extend([b, c, d]);
                }
            }
        }
        (positions, indices)
    }

    fn geometry((positions, indices): (Vec<Vec3>, Vec<u32>)) -> Geometry {
        let values = positions.iter().flat_map(|position| position.to_array());
        Geometry {
            attributes: vec![Attribute::new("POSITION", 3, values.collect())],
            indices,
            ..Geometry::default()
        }
    }

    fn fitted(low: (Vec<Vec3>, Vec<u32>), share: f32, is_whole: bool) -> Geometry {
        let (positions, indices) = sphere(64, 96, is_whole);
        let source = PreparedScene::new(&RenderScene {
            meshes: vec![RenderMesh {
                positions,
                indices,
                ..RenderMesh::default()
            }],
            instances: vec![RenderInstance {
                mesh: 0,
                world: Mat4::IDENTITY,
                name: "sphere".to_owned(),
            }],
            ..RenderScene::default()
        });
        let triangles: Vec<u32> = (0..source.triangle_count() as u32).collect();
        let surface = SourceSurface::new(&source, &triangles);
        let search = SearchRange {
            size: 2.0,
            reach: 0.5,
            covers: Covers::Nearest,
        };
        let caster = Caster::new(&source, &surface, search);
        let mut mesh = geometry(low);
        fit(&mut mesh, &caster, share);
        mesh
    }

    /// The mean distance of the middles of triangles from the sphere.
    fn distance(mesh: &Geometry) -> f32 {
        let middles = mesh.indices.chunks_exact(3).filter_map(|corners| {
            let [a, b, c] = [0, 1, 2].map(|at| mesh.position(corners[at]));
            let has_area = (b - a).cross(c - a).length() > 1e-6;
            has_area.then(|| ((a + b + c) / 3.0).length())
        });
        let distances: Vec<f32> = middles.map(|radius| (radius - 1.0).abs()).collect();
        distances.iter().sum::<f32>() / distances.len() as f32
    }

    #[test]
    fn triangles_of_a_coarse_sphere_come_nearer_to_the_fine_one() {
        let low = sphere(8, 12, true);
        let before = distance(&geometry(low.clone()));
        let half = distance(&fitted(low.clone(), 0.5, true));
        let whole = distance(&fitted(low, 1.0, true));
        assert!(half < before * 0.8, "{before} {half}");
        assert!(whole < before * 0.5, "{before} {whole}");
    }

    #[test]
    fn open_borders_stay_where_they_are() {
        let low = sphere(4, 12, false);
        let mesh = fitted(low.clone(), 1.0, false);
        let border = low.0.len() as u32 - 12;
        for (vertex, before) in low.0.iter().enumerate() {
            let after = mesh.position(vertex as u32);
            match vertex as u32 >= border {
                true => assert_eq!(after, *before),
                false => assert!(after.length() > 1.0, "{vertex} lies outside now: {after}"),
            }
        }
    }

    #[test]
    fn broken_triangles_are_borne() {
        let mut low = sphere(4, 6, true);
        low.0[8] = Vec3::splat(1e30);
        low.0[9] = low.0[10];
        let mesh = fitted(low, 1.0, true);
        assert!(mesh.positions().iter().all(|value| value.is_finite()));
    }
}
