//! Finds the point of the source that a point of the low mesh stands for.
//!
//! Rays go out and in along the normal; the nearer hit counts, first within the source's parts that the low triangle
//! replaces, then within all. Where no ray hits, the nearest point of the surface counts. Only sides that face as the low
//! triangle does are hit, so that the other side of a thin sheet is never taken.

use glam::{Vec3, Vec3A};

use super::super::render::PreparedScene;
use super::super::surface::{Hit, LeafPlace, Tree};

/// Points of a low triangle at which the parts below it are looked up, as weights of its corners.
const LOOK_UPS: [[f32; 3]; 7] = [
    [0.34, 0.33, 0.33],
    [0.8, 0.1, 0.1],
    [0.1, 0.8, 0.1],
    [0.1, 0.1, 0.8],
    [0.45, 0.45, 0.1],
    [0.1, 0.45, 0.45],
    [0.45, 0.1, 0.45],
];
/// The cosine of the angle up to which the source may face another way than the low triangle.
const FACES_ALIKE: f32 = 0.1;

/// A point of the source.
#[derive(Debug, Clone, Copy)]
pub(super) struct SourcePoint {
    pub(super) triangle: u32,
    /// The weights of the triangle's corners.
    pub(super) weights: [f32; 3],
    /// What a ray met; `None` if the nearest point was taken.
    pub(super) leaf: Option<LeafPlace>,
}

/// A point of a low mesh.
#[derive(Debug, Clone, Copy)]
pub(super) struct LowPoint<'l> {
    pub(super) position: Vec3A,
    /// The unit normal, interpolated.
    pub(super) normal: Vec3A,
    /// The unit normal of its triangle.
    pub(super) face: Vec3A,
    /// The parts of the source that its triangle replaces.
    pub(super) parts: &'l [u32],
    /// What was found for a point beside it, if that is known: only for speed.
    pub(super) guess: Option<LeafPlace>,
}

/// The triangles of one class, for rays.
pub(super) struct Caster<'s> {
    source: &'s PreparedScene,
    tree: Tree,
    /// For each triangle of the tree its number in the scene, its part and its unit normal.
    triangles: Vec<(u32, u32, Vec3A)>,
    /// The length of the rays.
    reach: f32,
    /// Rays start so far on the other side, so that a surface at the point itself is hit.
    slack: f32,
}

impl<'s> Caster<'s> {
    /// `reach` is how far the low mesh may lie from the source, and `size` the size of the model.
    pub(super) fn new(
        source: &'s PreparedScene,
        triangles: &[u32],
        reach: f32,
        size: f32,
    ) -> Caster<'s> {
        let corners: Vec<[Vec3A; 3]> = triangles
            .iter()
            .map(|triangle| source.corners(*triangle).map(Vec3A::from))
            .collect();
        let known = triangles.iter().zip(&corners);
        Caster {
            triangles: known
                .map(|(triangle, [a, b, c])| {
                    let normal = (*b - *a).cross(*c - *a).normalize_or_zero();
                    (*triangle, source.part_of(*triangle), normal)
                })
                .collect(),
            tree: Tree::new(&corners),
            source,
            reach,
            slack: size * 1e-5,
        }
    }

    /// The parts of the source that a low triangle replaces.
    pub(super) fn parts_below(&self, corners: [Vec3A; 3], face: Vec3A) -> Vec<u32> {
        let mut parts = Vec::new();
        for weights in LOOK_UPS {
            let point = mixed(corners, weights);
            let alike = |at: u32| self.triangles[at as usize].2.dot(face) > FACES_ALIKE;
            if let Some(found) = self.tree.nearest_of(point, f32::INFINITY, alike) {
                let part = self.triangles[found.triangle as usize].1;
                if !parts.contains(&part) {
                    parts.push(part);
                }
            }
        }
        parts
    }

    /// The point of the source for a point of the low mesh; `None` only if the source has no triangles.
    pub(super) fn find(&self, point: &LowPoint<'_>) -> Option<SourcePoint> {
        let within = |hit: &Hit| {
            point
                .parts
                .contains(&self.triangles[hit.triangle as usize].1)
        };
        let hit = self
            .along_normal(point, within)
            .or_else(|| self.along_normal(point, |_| true));
        let leaf = hit.map(|(hit, _)| hit.leaf);
        let (at, place) = hit.map(|(hit, place)| (hit.triangle, place)).or_else(|| {
            let alike = |at: u32| self.triangles[at as usize].2.dot(point.face) > FACES_ALIKE;
            let nearest = self.tree.nearest_of(point.position, f32::INFINITY, alike);
            let nearest = nearest.or_else(|| self.tree.nearest(point.position, f32::INFINITY));
            nearest.map(|nearest| (nearest.triangle, nearest.point))
        })?;
        let triangle = self.triangles[at as usize].0;
        let corners = self.source.corners(triangle).map(Vec3A::from);
        Some(SourcePoint {
            triangle,
            weights: weights_at(corners, place),
            leaf,
        })
    }

    /// The nearer hit of the rays out and in, with its place.
    fn along_normal(
        &self,
        point: &LowPoint<'_>,
        counts: impl Fn(&Hit) -> bool,
    ) -> Option<(Hit, Vec3A)> {
        let cast = |direction: Vec3A, from_front: bool, reach: f32| {
            let origin = point.position - direction * self.slack;
            let side = |hit: &Hit| hit.is_front == from_front && counts(hit);
            let within = reach + self.slack;
            let hit = self
                .tree
                .first_hit_of(origin, direction, within, point.guess, side)?;
            Some((hit, origin + direction * hit.distance))
        };
        let inwards = cast(-point.normal, true, self.reach);
        // A ray out of the body meets the surface from behind.
        let reach = inwards.map_or(self.reach, |(hit, _)| hit.distance.min(self.reach));
        let outwards = cast(point.normal, false, reach);
        match (inwards, outwards) {
            (Some(one), Some(other)) if one.0.distance <= other.0.distance => Some(one),
            (one, None) => one,
            (_, other) => other,
        }
    }
}

/// The point of a triangle at `weights` of its corners.
pub(super) fn mixed([a, b, c]: [Vec3A; 3], weights: [f32; 3]) -> Vec3A {
    a * weights[0] + b * weights[1] + c * weights[2]
}

/// The weights of a triangle's corners at a point on it.
fn weights_at([a, b, c]: [Vec3A; 3], point: Vec3A) -> [f32; 3] {
    let (ab, ac, ap) = (Vec3::from(b - a), Vec3::from(c - a), Vec3::from(point - a));
    let across = ab.cross(ac);
    let area = across.length_squared();
    if area <= 0.0 {
        return [1.0, 0.0, 0.0];
    }
    let second = (ap.cross(ac).dot(across) / area).clamp(0.0, 1.0);
    let third = (ab.cross(ap).dot(across) / area).clamp(0.0, 1.0 - second);
    if second.is_finite() && third.is_finite() {
        [1.0 - second - third, second, third]
    } else {
        [1.0, 0.0, 0.0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_name_the_point() {
        let corners = [Vec3A::ZERO, Vec3A::X * 2.0, Vec3A::Y * 3.0];
        for wanted in LOOK_UPS {
            let found = weights_at(corners, mixed(corners, wanted));
            for (found, wanted) in found.iter().zip(wanted) {
                assert!((found - wanted).abs() < 1e-5, "{found} {wanted}");
            }
        }
        assert_eq!(weights_at([Vec3A::ONE; 3], Vec3A::ZERO), [1.0, 0.0, 0.0]);
    }
}
