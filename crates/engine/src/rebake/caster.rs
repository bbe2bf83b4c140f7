//! Finds the point of the source that a point of the low mesh stands for.
//!
//! Rays go out and in along the normal; the nearer hit counts, first within the source's parts that the low triangle
//! replaces, then within all. For a surface around all parts, the outermost hit counts instead, because what lies below it
//! was not to be seen. Where no ray hits, the nearest point of the surface counts. Only sides that face as the low triangle
//! does are taken, so never the other side of a thin sheet.

use glam::{Vec3, Vec3A};
use rayon::prelude::*;

use super::super::render::PreparedScene;
use super::atlas::{Atlas, LowTriangle};
use super::options::LowSurface;
use assetfs_render::{Hit, LeafPlace, Nearest, Tree};

/// How far the low mesh may lie from the source at least and at most, as parts of the model's size.
const REACH: (f32, f32) = (0.01, 0.1);
/// The same, in multiples of the simplifier's error.
const REACH_OF_ERROR: f32 = 2.0;
/// Gaps that a new surface closes, in multiples of its distance from the source. Gaps of 0 and of 1 gave worse pictures.
const CLOSED_GAP: f32 = 0.25;

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
/// A ray outwards crosses so many surfaces at most.
const MAX_LAYERS: usize = 12;
/// The search for the nearest point ends at the squared distance of the guessed triangle, times this. It is a little more
/// than 1, so that rounding never excludes the guessed triangle itself.
const BEYOND_GUESS: f32 = 1.001;

/// A point of the source.
#[derive(Debug, Clone, Copy)]
pub(super) struct SourcePoint {
    pub(super) triangle: u32,
    /// The weights of the triangle's corners.
    pub(super) weights: [f32; 3],
    /// Where the tree of the surface stores the triangle.
    pub(super) leaf: LeafPlace,
    /// True if a ray hit the triangle; false if no ray hit anything and this is the nearest point of the surface.
    pub(super) is_met: bool,
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

/// What a low mesh stands for where the source has several layers.
#[derive(Debug, Clone, Copy)]
pub(super) enum Covers {
    /// The layer that is nearest.
    Nearest,
    /// The outermost layer, as a surface around all parts does. Gaps up to this width are taken as closed.
    Outermost(f32),
}

/// How far and where points of the source are looked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct SearchRange {
    /// The diagonal of the model.
    pub(super) size: f32,
    /// The length of the rays: how far the low mesh may lie from the source.
    pub(super) reach: f32,
    pub(super) covers: Covers,
}

impl SearchRange {
    /// The range for a low mesh that was made of `surface`. `error` is how far the simplifier moved it, as a length.
    pub(super) fn new(size: f32, surface: LowSurface, error: f32) -> SearchRange {
        let least = size * REACH.0.max(surface.distance());
        SearchRange {
            size,
            reach: (error * REACH_OF_ERROR).min(size * REACH.1).max(least),
            covers: match surface {
                LowSurface::Source => Covers::Nearest,
                surface => Covers::Outermost(size * surface.distance() * CLOSED_GAP),
            },
        }
    }
}

/// Triangles of the source, for rays.
pub(super) struct SourceSurface {
    tree: Tree,
    /// For each triangle of the tree its number in the scene, its part and its unit normal.
    triangles: Vec<(u32, u32, Vec3A)>,
}

impl SourceSurface {
    pub(super) fn new(source: &PreparedScene, triangles: &[u32]) -> SourceSurface {
        let corners: Vec<[Vec3A; 3]> = triangles
            .iter()
            .map(|triangle| source.corners(*triangle).map(Vec3A::from))
            .collect();
        let known = triangles.iter().zip(&corners);
        SourceSurface {
            triangles: known
                .map(|(triangle, [a, b, c])| {
                    let normal = (*b - *a).cross(*c - *a).normalize_or_zero();
                    (*triangle, source.part_of(*triangle), normal)
                })
                .collect(),
            tree: Tree::new(&corners),
        }
    }
}

/// Finds points of a surface of the source for a low mesh.
pub(super) struct Caster<'s> {
    source: &'s PreparedScene,
    tree: &'s Tree,
    triangles: &'s [(u32, u32, Vec3A)],
    /// The length of the rays.
    reach: f32,
    covers: Covers,
    /// Rays start so far on the other side, so that a surface at the point itself is hit.
    slack: f32,
}

impl<'s> Caster<'s> {
    pub(super) fn new(
        source: &'s PreparedScene,
        surface: &'s SourceSurface,
        search: SearchRange,
    ) -> Caster<'s> {
        Caster {
            source,
            tree: &surface.tree,
            triangles: &surface.triangles,
            reach: search.reach,
            covers: search.covers,
            slack: search.size * 1e-5,
        }
    }

    /// The corners of a triangle of the source in the world.
    pub(super) fn corners(&self, triangle: u32) -> [Vec3A; 3] {
        self.source.corners(triangle).map(Vec3A::from)
    }

    /// The parts of the source that a low triangle replaces; none where the outermost layer counts, whatever its part.
    pub(super) fn parts_below(&self, corners: [Vec3A; 3], face: Vec3A) -> Vec<u32> {
        let mut parts = Vec::new();
        if let Covers::Outermost(_) = self.covers {
            return parts;
        }
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
        let met = match self.covers {
            Covers::Nearest => {
                let is_below = |hit: &Hit| {
                    let (_, part, _) = self.triangles[hit.triangle as usize];
                    point.parts.contains(&part)
                };
                self.nearer_hit(point, is_below)
                    .or_else(|| self.nearer_hit(point, |_| true))
            }
            Covers::Outermost(gap) => self.outermost(point, gap),
        };
        let (at, place, leaf) = match met {
            Some((hit, place)) => (hit.triangle, place, hit.leaf),
            None => {
                let nearest = self.nearest(point)?;
                (nearest.triangle, nearest.point, nearest.leaf)
            }
        };
        let triangle = self.triangles[at as usize].0;
        Some(SourcePoint {
            triangle,
            weights: weights_at(self.corners(triangle), place),
            leaf,
            is_met: met.is_some(),
        })
    }

    /// The nearest point on the triangles that face the same way as the low triangle, or on all triangles if none does.
    fn nearest(&self, point: &LowPoint<'_>) -> Option<Nearest> {
        let alike = |at: u32| self.triangles[at as usize].2.dot(point.face) > FACES_ALIKE;
        let guessed = point
            .guess
            .map(|leaf| self.tree.nearest_in(leaf, point.position))
            .filter(|guessed| alike(guessed.triangle));
        let within = guessed.map_or(f32::INFINITY, |guessed| {
            (guessed.distance_squared * BEYOND_GUESS).max(f32::MIN_POSITIVE)
        });
        let nearest = self.tree.nearest_of(point.position, within, alike);
        nearest.or_else(|| self.tree.nearest(point.position, f32::INFINITY))
    }

    /// Casts a ray against the normal and one along it, and returns the nearer of their first hits, with its position.
    fn nearer_hit(
        &self,
        point: &LowPoint<'_>,
        counts: impl Fn(&Hit) -> bool,
    ) -> Option<(Hit, Vec3A)> {
        let inwards = self.first_hit(point, Side::Front, self.reach, &counts);
        let reach = inwards.map_or(self.reach, |(hit, _)| hit.distance.min(self.reach));
        let outwards = self.first_hit(point, Side::Back, reach, &counts);
        nearer(inwards, outwards)
    }

    /// The first hit on one side of the triangles, with its position. The ray against the normal looks for front sides, the
    /// ray along the normal for back sides, because it leaves the body there.
    fn first_hit(
        &self,
        point: &LowPoint<'_>,
        side: Side,
        reach: f32,
        counts: impl Fn(&Hit) -> bool,
    ) -> Option<(Hit, Vec3A)> {
        let (direction, from_front) = match side {
            Side::Front => (-point.normal, true),
            Side::Back => (point.normal, false),
        };
        let origin = point.position - direction * self.slack;
        let counts = |hit: &Hit| hit.is_front == from_front && counts(hit);
        let within = reach + self.slack;
        let hit = self
            .tree
            .first_hit_of(origin, direction, within, point.guess, counts)?;
        Some((hit, origin + direction * hit.distance))
    }

    /// The last surface that a ray along the normal leaves before it crosses a gap wider than `gap`. If it leaves none, the
    /// result is that of [`nearer_hit`](Caster::nearer_hit).
    fn outermost(&self, point: &LowPoint<'_>, gap: f32) -> Option<(Hit, Vec3A)> {
        let origin = point.position - point.normal * self.slack;
        let hits = self
            .tree
            .hits(origin, point.normal, self.reach + self.slack);
        let at_place = |hit: Hit| (hit, origin + point.normal * hit.distance);
        if let Some(hit) = last_left(&hits, gap, self.slack) {
            return Some(at_place(hit));
        }
        let inwards = self.first_hit(point, Side::Front, self.reach, |_| true);
        let outwards = hits.into_iter().find(|hit| !hit.is_front);
        nearer(inwards, outwards.map(at_place))
    }
}

/// The side of a triangle that a ray must hit.
#[derive(Debug, Clone, Copy)]
enum Side {
    Front,
    Back,
}

/// The nearer of two hits.
fn nearer(one: Option<(Hit, Vec3A)>, other: Option<(Hit, Vec3A)>) -> Option<(Hit, Vec3A)> {
    match (one, other) {
        (Some(one), Some(other)) if one.0.distance <= other.0.distance => Some(one),
        (one, None) => one,
        (_, other) => other,
    }
}

/// The last surface that a ray leaves before it crosses a gap wider than `gap`. `hits` are sorted by distance. The ray starts
/// at the distance `slack` behind the point of the low mesh. A hit within `slack` of the one before is the same surface.
fn last_left(hits: &[Hit], gap: f32, slack: f32) -> Option<Hit> {
    let (mut found, mut left, mut passed) = (None, slack, 0.0);
    let mut layers = 0;
    for hit in hits {
        if hit.distance <= passed {
            continue;
        }
        if !hit.is_front {
            found = Some(*hit);
            left = hit.distance;
        } else if hit.distance - left > gap {
            break;
        }
        layers += 1;
        if layers == MAX_LAYERS {
            break;
        }
        passed = hit.distance + slack;
    }
    found
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
    let second = ap.cross(ac).dot(across) / area;
    let third = ab.cross(ap).dot(across) / area;
    if !second.is_finite() || !third.is_finite() {
        return [1.0, 0.0, 0.0];
    }
    let second = second.clamp(0.0, 1.0);
    let third = third.clamp(0.0, 1.0 - second);
    [1.0 - second - third, second, third]
}

/// The point of a low triangle at `weights` of its corners.
pub(super) fn low_point<'p>(
    triangle: &LowTriangle,
    weights: [f32; 3],
    parts: &'p [u32],
) -> LowPoint<'p> {
    LowPoint {
        position: mixed(triangle.corners, weights),
        normal: Vec3A::from(triangle.frame(weights).normal),
        face: triangle.face,
        parts,
        guess: None,
    }
}

/// The parts of the source below each triangle of an atlas.
pub(super) fn parts_below(atlas: &Atlas, caster: &Caster<'_>) -> Vec<Vec<u32>> {
    let triangles = atlas.triangles.par_iter();
    triangles
        .map(|triangle| caster.parts_below(triangle.corners, triangle.face))
        .collect()
}

#[cfg(test)]
mod tests {
    use glam::Mat4;

    use super::super::super::render::{RenderInstance, RenderMesh, RenderScene};
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
        let huge = [Vec3A::ZERO, Vec3A::X * 1e30, Vec3A::Y * 1e30];
        assert_eq!(weights_at(huge, Vec3A::ONE), [1.0, 0.0, 0.0]);
    }

    /// Squares of 2 by 2 at these heights: they face up, or down where the height is negative.
    fn layers(heights: &[f32]) -> RenderScene {
        let mut scene = RenderScene::default();
        for (number, height) in heights.iter().enumerate() {
            let corners = [[-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [1.0, -1.0]];
            scene.meshes.push(RenderMesh {
                positions: corners.map(|[x, z]| Vec3::new(x, height.abs(), z)).to_vec(),
                indices: match *height >= 0.0 {
                    true => vec![0, 1, 2, 0, 2, 3],
                    false => vec![0, 2, 1, 0, 3, 2],
                },
                ..RenderMesh::default()
            });
            scene.instances.push(RenderInstance {
                mesh: number,
                world: Mat4::IDENTITY,
                name: height.to_string(),
            });
        }
        scene
    }

    #[test]
    fn a_surface_around_all_parts_stands_for_the_outermost_layer_up_to_a_gap() {
        // A cover lies on the ground, and a slab floats above both.
        let source = PreparedScene::new(&layers(&[0.0, 0.1, -0.3, 0.31]));
        let all = SourceSurface::new(&source, &[0, 1, 2, 3, 4, 5, 6, 7]);
        let height_at = |covers: Covers, height: f32| {
            let search = SearchRange {
                size: 2.0,
                reach: 1.0,
                covers,
            };
            let caster = Caster::new(&source, &all, search);
            let point = LowPoint {
                position: Vec3A::new(0.3, height, 0.2),
                normal: Vec3A::Y,
                face: Vec3A::Y,
                parts: &[0, 1, 2, 3],
                guess: None,
            };
            let found = caster.find(&point).unwrap();
            source.corners(found.triangle)[0].y
        };
        for (covers, low, found) in [
            (Covers::Nearest, 0.02, 0.0),
            (Covers::Nearest, 0.08, 0.1),
            (Covers::Outermost(0.05), 0.02, 0.1),
            (Covers::Outermost(0.05), 0.12, 0.1),
            (Covers::Outermost(0.05), 0.305, 0.31),
            (Covers::Outermost(0.5), 0.02, 0.31),
        ] {
            assert_eq!(height_at(covers, low), found, "{covers:?} at {low}");
        }
    }
}
