//! Rooms: enclosed space that is meant to be seen from inside, such as the rooms of a building.
//!
//! A point is in a room if nearly all rays from it end at a side of the model that is drawn: a front face, or either
//! face of a double-sided material. Inside a closed body rays end at back faces, so it is no room. Only opaque triangles
//! stop a ray.

use glam::{Vec3, Vec3A};
use rayon::prelude::*;

use super::prepare::PreparedScene;
use super::scene::BoundingBox;
use super::visibility::sphere_direction;
use super::walls::Walls;

/// Points on each side of the grid that looks for rooms.
pub(super) const GRID: usize = 12;
/// Rays from each point.
const RAYS: usize = 96;
/// Of the rays of a point in a room, the fraction that ends at a side that is drawn.
const MIN_ENCLOSED_SHARE: f32 = 0.9;
/// Minimum part of the bounding box that is inside of rooms, for a model that is meant to be entered.
const MIN_ROOM_SHARE: f32 = 0.15;
/// Points of rooms that each triangle is looked at from.
const EYES: usize = 64;
/// Number of pairs of rays that distinguish walls from leaves.
const PAIRS: usize = 48;
/// Tangent of the angle between the two rays of a pair.
const PAIR_ANGLE_TANGENT: f32 = 0.55;
/// Minimum fraction of the pairs of a point in a room whose rays meet one flat or slightly curved surface.
const MIN_WALL_PAIRS: f32 = 0.35;
/// Two hits are on one surface if the cosine of the angle between their normals is at least this, and if the distance of
/// the second from the plane of the first is at most [`IN_PLANE`] times the distance between them.
const MIN_NORMAL_COSINE: f32 = 0.8;
const IN_PLANE: f32 = 0.3;
/// Minimum fraction of the rays of a point in a room that end at front faces. Inside of a closed body with a double-sided
/// material no ray does; where it touches another body, the front of that one does not count.
const MIN_FRONT_FACE_SHARE: f32 = 0.15;

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

    /// Points of a grid that are in rooms with walls, for views from inside; none if the model is not made to be entered.
    /// [`PreparedScene::add_seen_from_rooms`] does not ask for walls: rays alone take solid bodies with double-sided
    /// materials and the crowns of trees for rooms, and in doubt their triangles are kept.
    pub(super) fn room_points(&self, bounds: &BoundingBox) -> Vec<Vec3A> {
        let walls = Walls::new(self);
        let mut points = walls.points_in_rooms(bounds);
        let found: Vec<bool> = points
            .par_iter()
            .map(|point| walls.has_walls_around(*point))
            .collect();
        let mut found = found.into_iter();
        points.retain(|_| found.next() == Some(true));
        if is_small_part(points.len()) {
            points.clear();
        }
        points
    }
}

impl Walls {
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
        if is_small_part(points.len()) {
            return Vec::new();
        }
        points
    }

    fn is_in_room(&self, point: Vec3A) -> bool {
        let allowed = (RAYS as f32 * (1.0 - MIN_ENCLOSED_SHARE)) as usize;
        let mut missed = 0;
        for number in 0..RAYS {
            let direction = Vec3A::from(sphere_direction(number, RAYS));
            let hit = self.first_hit(point, direction, f32::INFINITY);
            if !hit.is_some_and(|hit| self.is_drawn(&hit)) {
                missed += 1;
            }
            if missed > allowed {
                return false;
            }
        }
        true
    }

    /// Whether a point is surrounded by walls: surfaces that both rays of a pair meet, some of them from the front.
    fn has_walls_around(&self, point: Vec3A) -> bool {
        let (mut fronts, mut on_one) = (0, 0);
        for number in 0..PAIRS {
            let direction = Vec3A::from(sphere_direction(number, PAIRS));
            let beside =
                (direction + direction.any_orthonormal_vector() * PAIR_ANGLE_TANGENT).normalize();
            let [hit, other] =
                [direction, beside].map(|towards| self.first_hit(point, towards, f32::INFINITY));
            let (Some(hit), Some(other)) = (hit, other) else {
                continue;
            };
            fronts += usize::from(hit.is_front && !self.is_back_at(point, direction, &hit));
            let between = beside * other.distance - direction * hit.distance;
            let [normal, of_other] = [hit, other].map(|hit| self.normal_at(&hit));
            let is_flat = between.dot(normal).abs() <= between.length() * IN_PLANE;
            on_one += usize::from(is_flat && normal.dot(of_other).abs() >= MIN_NORMAL_COSINE);
        }
        let part = |count: usize| count as f32 / PAIRS as f32;
        part(fronts) >= MIN_FRONT_FACE_SHARE && part(on_one) >= MIN_WALL_PAIRS
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
                faces && self.first_hit(*eye, way, 1.0 - 1e-3).is_none()
            })
        })
    }
}

/// Whether so many points of the grid are too few for a model that is made to be entered.
fn is_small_part(points: usize) -> bool {
    (points as f32) < MIN_ROOM_SHARE * (GRID * GRID * GRID) as f32
}
