//! Rooms: enclosed space that is meant to be seen from inside, such as the rooms of a building.
//!
//! A point is in a room if nearly all rays from it end at a side of the model that is drawn: a front face, or either
//! face of a double-sided material. Inside a closed body rays end at back faces, so it is no room. Only opaque triangles
//! stop a ray.

use glam::{Vec3, Vec3A};
use rayon::prelude::*;

use super::super::surface::{Hit, Tree};
use super::prepare::PreparedScene;
use super::prepared_part::PreparedPart;
use super::scene::{BoundingBox, RenderAlpha};
use super::visibility::sphere_direction;

/// Points on each side of the grid that looks for rooms.
pub(super) const GRID: usize = 12;
/// Rays from each point.
const RAYS: usize = 96;
/// Of the rays of a point in a room, the fraction that ends at a side that is drawn.
const ENCLOSED: f32 = 0.9;
/// A model of which so much of the box is in rooms is made to be entered.
const MIN_SHARE: f32 = 0.15;
/// Points of rooms that each triangle is looked at from.
const EYES: usize = 64;

impl PreparedScene {
    /// Marks as seen what is seen from inside the rooms of the model. `seen` is what
    /// [`PreparedScene::seen_triangles`] returns. Returns whether the model has rooms.
    pub fn add_seen_from_rooms(&self, bounds: &BoundingBox, seen: &mut [Vec<bool>]) -> bool {
        let walls = Walls::new(self);
        let points = walls.points_in_rooms(bounds);
        if points.is_empty() {
            return false;
        }
        let step = points.len().div_ceil(EYES);
        let eyes: Vec<Vec3A> = points.into_iter().step_by(step).collect();
        for (part, seen) in self.parts.iter().zip(seen) {
            let is_double_sided = self.is_double_sided(part);
            let is_seen: Vec<bool> = (0..part.triangle_count())
                .into_par_iter()
                .map(|at| {
                    let corners = part.corners(at).map(Vec3A::from);
                    seen[part.number_in_mesh(at)] || walls.sees(&eyes, corners, is_double_sided)
                })
                .collect();
            for (at, is_seen) in is_seen.into_iter().enumerate() {
                seen[part.number_in_mesh(at)] = is_seen;
            }
        }
        true
    }

    /// Points of a grid that are in the rooms of the model; none if it is not made to be entered.
    pub(super) fn room_points(&self, bounds: &BoundingBox) -> Vec<Vec3A> {
        Walls::new(self).points_in_rooms(bounds)
    }

    fn is_double_sided(&self, part: &PreparedPart) -> bool {
        self.materials[part.mesh.material as usize]
            .plain
            .double_sided
    }
}

/// The opaque triangles of a scene, for rays.
struct Walls {
    tree: Tree,
    /// For each triangle of the tree, whether both its sides are drawn.
    double_sided: Vec<bool>,
}

impl Walls {
    fn new(scene: &PreparedScene) -> Walls {
        let is_opaque = |part: &&PreparedPart| {
            let material = &scene.materials[part.mesh.material as usize];
            material.plain.alpha == RenderAlpha::Opaque && !part.is_repeated
        };
        let (corners, double_sided): (Vec<[Vec3A; 3]>, Vec<bool>) = scene
            .parts
            .iter()
            .filter(is_opaque)
            .flat_map(|part| {
                let is_double_sided = scene.is_double_sided(part);
                let triangles = 0..part.triangle_count();
                triangles.map(move |at| (part.corners(at).map(Vec3A::from), is_double_sided))
            })
            .unzip();
        Walls {
            tree: Tree::new(&corners),
            double_sided,
        }
    }

    /// The points of a grid over the box that are in rooms; none if they are too few for a model that is made to be
    /// entered.
    fn points_in_rooms(&self, bounds: &BoundingBox) -> Vec<Vec3A> {
        let (low, size) = (bounds.low, bounds.high - bounds.low);
        let points: Vec<Vec3A> = (0..GRID * GRID * GRID)
            .into_par_iter()
            .map(|number| {
                let at = [number % GRID, number / GRID % GRID, number / GRID / GRID];
                let part = Vec3::from_array(at.map(|step| (step as f32 + 0.5) / GRID as f32));
                Vec3A::from(low + size * part)
            })
            .filter(|point| self.is_in_room(*point))
            .collect();
        if (points.len() as f32) < MIN_SHARE * (GRID * GRID * GRID) as f32 {
            return Vec::new();
        }
        points
    }

    fn is_in_room(&self, point: Vec3A) -> bool {
        let allowed = (RAYS as f32 * (1.0 - ENCLOSED)) as usize;
        let mut missed = 0;
        for number in 0..RAYS {
            let direction = Vec3A::from(sphere_direction(number, RAYS));
            let hit = self.tree.first_hit(point, direction, f32::INFINITY);
            if !hit.is_some_and(|hit| self.is_drawn(&hit)) {
                missed += 1;
            }
            if missed > allowed {
                return false;
            }
        }
        true
    }

    fn is_drawn(&self, hit: &Hit) -> bool {
        hit.is_front || self.double_sided[hit.triangle as usize]
    }

    /// Whether a triangle is seen from one of the eyes, at its middle or next to one of its corners.
    fn sees(&self, eyes: &[Vec3A], [a, b, c]: [Vec3A; 3], is_double_sided: bool) -> bool {
        let normal = (b - a).cross(c - a);
        let middle = (a + b + c) / 3.0;
        let near = |corner: Vec3A| corner + (middle - corner) * 0.1;
        [middle, near(a), near(b), near(c)].iter().any(|spot| {
            eyes.iter().any(|eye| {
                let way = *spot - *eye;
                let faces = is_double_sided || way.dot(normal) <= 0.0;
                // The triangle itself ends the ray at 1.
                faces && self.tree.first_hit(*eye, way, 1.0 - 1e-3).is_none()
            })
        })
    }
}
