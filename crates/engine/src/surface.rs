//! The surface of a model as one list of triangles in the world, and the distance of two surfaces.
//!
//! Materials do not count. The distance shows differences that a comparison of pictures misses, such as dents inside or
//! out of view.

use assetfs_render::{Tree, spread_in};
use glam::Vec3A;
use rayon::prelude::*;

use super::scene::Scene;

/// Number of sample points of each surface.
const SAMPLES: usize = 100_000;
/// Number of sample points for [`Surface::quick_distance`].
const QUICK_SAMPLES: usize = 3_000;

/// The triangles of a model in the world, in its rest pose.
#[derive(Debug)]
pub struct Surface {
    triangles: Vec<[Vec3A; 3]>,
    tree: Tree,
    diagonal: f32,
}

/// Distances of the points of one surface from another, in percent of the source's diagonal.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Distances {
    pub mean: f64,
    /// The 99th percentile.
    pub p99: f64,
    pub max: f64,
}

impl Surface {
    /// Everything that the scene draws.
    pub fn of(scene: &Scene) -> Surface {
        let mut triangles = Vec::new();
        for draw in scene.draws() {
            for primitive in &scene.meshes[draw.mesh].primitives {
                let geometry = &scene.geometries[primitive.geometry];
                if geometry.triangle_count() == 0 {
                    continue;
                }
                let positions = draw.world_positions(geometry);
                triangles.extend(geometry.indices.chunks_exact(3).filter_map(|corners| {
                    let corner = |at: usize| Vec3A::from(positions[corners[at] as usize]);
                    let triangle = [corner(0), corner(1), corner(2)];
                    triangle
                        .iter()
                        .all(|corner| corner.is_finite())
                        .then_some(triangle)
                }));
            }
        }
        Surface::from_triangles(triangles)
    }

    /// The surface of finite triangles.
    pub fn from_triangles(triangles: Vec<[Vec3A; 3]>) -> Surface {
        let low = triangles
            .iter()
            .flatten()
            .fold(Vec3A::INFINITY, |low, corner| low.min(*corner));
        let high = triangles
            .iter()
            .flatten()
            .fold(Vec3A::NEG_INFINITY, |high, corner| high.max(*corner));
        let diagonal = if triangles.is_empty() {
            1.0
        } else {
            (high - low).length()
        };
        Surface {
            tree: Tree::new(&triangles),
            triangles,
            diagonal,
        }
    }

    /// The distances of points of this surface from `other`, and of points of `other` from this one.
    pub fn distances(&self, other: &Surface) -> [Distances; 2] {
        [
            distances(&self.samples(SAMPLES), other, self.diagonal),
            distances(&other.samples(SAMPLES), self, self.diagonal),
        ]
    }

    /// The greater 99th percentile of both directions, from few points: fast, and accurate enough to choose among
    /// results.
    pub fn quick_distance(&self, other: &Surface) -> f64 {
        let [there, back] = self.quick_distances(other);
        there.max(back)
    }

    /// The 99th percentiles of [`Surface::distances`], from few points.
    pub fn quick_distances(&self, other: &Surface) -> [f64; 2] {
        let there = distances(&self.samples(QUICK_SAMPLES), other, self.diagonal);
        let back = distances(&other.samples(QUICK_SAMPLES), self, self.diagonal);
        [there.p99, back.p99]
    }

    /// About `count` points, spread evenly over the area; deterministic.
    fn samples(&self, count: usize) -> Vec<Vec3A> {
        let area = |[a, b, c]: &[Vec3A; 3]| f64::from((*b - *a).cross(*c - *a).length());
        let total: f64 = self.triangles.iter().map(area).sum();
        let mut points = Vec::with_capacity(count + 1);
        let mut sum = 0.0;
        for triangle in &self.triangles {
            sum += area(triangle);
            while total > 0.0 && (points.len() as f64 + 0.5) * total < sum * count as f64 {
                points.push(spread_in(triangle, points.len()));
            }
        }
        points
    }
}

fn distances(points: &[Vec3A], other: &Surface, diagonal: f32) -> Distances {
    let percent = |distance: f32| f64::from(distance.sqrt()) * 100.0 / f64::from(diagonal);
    let mut found: Vec<f64> = points
        .par_iter()
        .map(|point| {
            let nearest = other.tree.nearest(*point, f32::INFINITY);
            nearest.map_or(100.0, |nearest| percent(nearest.distance_squared))
        })
        .collect();
    found.sort_unstable_by(f64::total_cmp);
    if found.is_empty() {
        return Distances {
            mean: 0.0,
            p99: 0.0,
            max: 0.0,
        };
    }
    Distances {
        mean: found.iter().sum::<f64>() / found.len() as f64,
        p99: found[(found.len() - 1) * 99 / 100],
        max: found[found.len() - 1],
    }
}
