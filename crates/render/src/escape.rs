//! Finds visible triangles that pictures from outside do not show: those at the bottom of deep holes and narrow gaps. A
//! triangle is visible if a ray from it leaves the model.
//!
//! Many rays from every triangle would take too long. So a few rays go from each triangle, and many only from those that
//! have a visible triangle in sight.

use glam::{Quat, Vec3A};
use rayon::prelude::*;

use super::prepare::PreparedScene;
use super::visibility::sphere_direction;
use super::walls::Walls;

/// The number of rays from each unseen triangle; fewer in debug builds, which are slow.
const FIRST: Rays = match cfg!(debug_assertions) {
    true => Rays {
        in_all: 200_000,
        least: 16,
        most: 64,
    },
    false => Rays {
        in_all: 16_000_000,
        least: 32,
        most: 256,
    },
};
/// The number of rays from each unseen triangle that has a visible triangle in sight.
const MORE: Rays = match cfg!(debug_assertions) {
    true => Rays {
        in_all: 2_000_000,
        least: 64,
        most: 4096,
    },
    false => Rays {
        in_all: 32_000_000,
        least: 64,
        most: 8192,
    },
};
/// How often triangles are looked at again after others were found to be visible.
const ROUNDS: usize = 3;
/// Hits nearer than this part of the model's size are hits of the triangle's own surface.
const NEAR: f32 = 1e-5;
/// A ray that leaves the model counts if one turned by this angle leaves it as well: two triangles that share an edge
/// leave no gap, but rounding may let a ray through.
const TURN: f32 = 1e-3;

/// How many rays are sent: `in_all` divided by the number of triangles, but from `least` to `most` for each.
#[derive(Debug, Clone, Copy)]
struct Rays {
    in_all: usize,
    least: usize,
    most: usize,
}

impl Rays {
    fn for_each_of(&self, triangles: usize) -> usize {
        (self.in_all / triangles.max(1)).clamp(self.least, self.most)
    }
}

/// A triangle that no picture shows.
#[derive(Debug, Clone, Copy)]
struct Unseen {
    part: usize,
    /// In its part, and in the mesh of its part.
    at: usize,
    in_mesh: usize,
    /// Its number among all triangles.
    number: usize,
}

impl PreparedScene {
    /// Marks as seen the triangles from which a ray leaves the model. `seen` is what
    /// [`PreparedScene::seen_triangles`] returns.
    pub fn add_seen_by_rays(&self, seen: &mut [Vec<bool>]) {
        let mut unseen = self.unseen(seen);
        if unseen.is_empty() {
            return;
        }
        let walls = Walls::new(self);
        let near = walls.size() * NEAR;
        for round in 0..ROUNDS {
            let is_seen: Vec<bool> = walls
                .places()
                .iter()
                .map(|(part, in_mesh)| seen[*part as usize][*in_mesh as usize])
                .collect();
            let spray = |known: &Unseen| {
                let part = &self.parts[known.part];
                let corners = part.corners(known.at).map(Vec3A::from);
                Spray::new(corners, self.is_double_sided(part), known.number)
            };
            let rays = FIRST.for_each_of(unseen.len());
            let first = |known: &Unseen| match spray(known) {
                spray if spray.escapes(rays, near, &walls) => Chance::Seen,
                spray if spray.meets_seen(rays, near, &walls, &is_seen) => Chance::Good,
                _ => Chance::Bad,
            };
            let chances: Vec<Chance> = unseen.par_iter().map(first).collect();
            let good = chances.iter().filter(|chance| **chance == Chance::Good);
            let rays = MORE.for_each_of(good.count());
            let escapes: Vec<bool> = unseen
                .par_iter()
                .zip(chances)
                .map(|(known, chance)| match chance {
                    Chance::Seen => true,
                    Chance::Good => spray(known).escapes(rays, near, &walls),
                    Chance::Bad => false,
                })
                .collect();
            let before = unseen.len();
            unseen = unseen
                .into_iter()
                .zip(escapes)
                .filter(|(known, escapes)| {
                    seen[known.part][known.in_mesh] |= *escapes;
                    !escapes
                })
                .map(|(known, _)| known)
                .collect();
            if unseen.len() == before || unseen.is_empty() || round + 1 == ROUNDS {
                break;
            }
        }
    }

    fn unseen(&self, seen: &[Vec<bool>]) -> Vec<Unseen> {
        let parts = self.parts.iter().zip(seen).enumerate();
        parts
            .flat_map(|(part, (known, seen))| {
                (0..known.triangle_count()).filter_map(move |at| {
                    let in_mesh = known.number_in_mesh(at);
                    (!seen[in_mesh]).then_some(Unseen {
                        part,
                        at,
                        in_mesh,
                        number: known.first_triangle as usize + at,
                    })
                })
            })
            .collect()
    }
}

/// A direction that differs from another one by about [`TURN`].
fn turned(direction: Vec3A) -> Vec3A {
    (direction + direction.any_orthonormal_vector() * TURN).normalize()
}

/// Whether it is worth sending many rays from a triangle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chance {
    Seen,
    Good,
    Bad,
}

/// Rays from all over a triangle in all directions from which its drawn sides are seen.
struct Spray {
    corners: [Vec3A; 3],
    normal: Vec3A,
    is_double_sided: bool,
    /// Rotates the directions, so that the rays of neighbouring triangles differ.
    turn: Quat,
}

impl Spray {
    fn new(corners: [Vec3A; 3], is_double_sided: bool, number: usize) -> Spray {
        let [a, b, c] = corners;
        Spray {
            corners,
            normal: (b - a).cross(c - a),
            is_double_sided,
            turn: Quat::from_rotation_y(number as f32 * 2.399_963_2)
                * Quat::from_rotation_x(number as f32 * 1.1),
        }
    }

    /// Whether one of so many rays leaves the model.
    fn escapes(&self, rays: usize, near: f32, walls: &Walls) -> bool {
        let leaves = |from, towards| walls.first_that_hides(from, towards, near).is_none();
        (0..rays).any(|number| {
            let (from, towards) = (self.place(number), self.direction(number, rays));
            leaves(from, towards) && leaves(from, turned(towards))
        })
    }

    /// Whether one of so many rays meets a side that is drawn of a visible triangle.
    fn meets_seen(&self, rays: usize, near: f32, walls: &Walls, is_seen: &[bool]) -> bool {
        (0..rays).any(|number| {
            let hit = walls.first_met(self.place(number), self.direction(number, rays), near);
            hit.is_some_and(|hit| is_seen[hit.triangle as usize] && walls.is_drawn(&hit))
        })
    }

    fn direction(&self, number: usize, rays: usize) -> Vec3A {
        let direction = self.turn * Vec3A::from(sphere_direction(number, rays));
        match !self.is_double_sided && direction.dot(self.normal) < 0.0 {
            true => -direction,
            false => direction,
        }
    }

    fn place(&self, number: usize) -> Vec3A {
        spread_in(&self.corners, number + 1)
    }
}

/// A point of a triangle; successive numbers fill it evenly.
pub fn spread_in([a, b, c]: &[Vec3A; 3], number: usize) -> Vec3A {
    // Multiples of these fractions are spread evenly (a low-discrepancy sequence).
    let part = |step: f64| (number as f64 * step).fract() as f32;
    let (mut u, mut v) = (part(0.754_877_666_246_69), part(0.569_840_290_998_05));
    if u + v > 1.0 {
        (u, v) = (1.0 - u, 1.0 - v);
    }
    *a + (*b - *a) * u + (*c - *a) * v
}
