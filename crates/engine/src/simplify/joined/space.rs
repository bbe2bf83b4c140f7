//! The space of the joined mesh: the model is about one unit large and lies around the origin.
//!
//! Numbers of 32 bits have about seven digits. If an exporter writes one vertex far away from all others and the size
//! includes it, no digits are left for the model itself, and its edges have no length. Such vertices are called strays.
//! The size is measured without them. While the model is simplified they are moved near to it and locked; in the result
//! they are at their own positions.

use glam::{Mat4, Vec3};

use super::super::super::scene::{Bounds, Scene};

/// A stray is farther from the middle of the model than this many times the size of the model.
const FAR: f32 = 500.0;
/// One vertex in this number, at each end of each axis, is left out when the size of the model is estimated.
const ONE_LEFT_OUT_IN: usize = 1000;
/// So many are always allowed: one vertex with different normals is there once for each of its faces.
const FEW: usize = 8;
/// Models with fewer vertices are not searched for strays.
const MIN_VERTICES: usize = 8 * FEW;
/// How far strays are from the origin, and how far others can be, on their longest axis.
const STRAY_PLACE: f32 = 1.0;
const MODEL_REACH: f32 = 0.51;

/// How the joined space lies in the world.
#[derive(Debug, Clone, Copy)]
pub(super) struct JoinedSpace {
    pub(super) to_unit: Mat4,
    /// World units per unit of the space.
    pub(super) extent: f32,
    /// Vertices beyond are strays; infinite if there are none.
    reach: f32,
}

impl Default for JoinedSpace {
    fn default() -> JoinedSpace {
        JoinedSpace {
            to_unit: Mat4::IDENTITY,
            extent: 1.0,
            reach: f32::INFINITY,
        }
    }
}

impl JoinedSpace {
    /// The space for geometries, each with its place in the world.
    pub(super) fn new(scene: &Scene, placed: &[(usize, Mat4)]) -> JoinedSpace {
        let places = placed.iter().flat_map(|(geometry, matrix)| {
            let positions = scene.geometries[*geometry].positions().chunks_exact(3);
            positions.map(|position| matrix.transform_point3(Vec3::from_slice(position)))
        });
        let places: Vec<Vec3> = places.collect();
        let all = bounds_of(places.iter().copied());
        let core = core_of(&places);
        let without = core.filter(|core| all.is_some_and(|all| core.is_lost_in(&all)));
        let near = without.and_then(|core| {
            let near = places.iter().copied().filter(|place| core.is_near(*place));
            bounds_of(near)
        });
        let Some((bounds, reach)) = near
            .map(|near| (near, MODEL_REACH))
            .or(all.map(|all| (all, f32::INFINITY)))
        else {
            return JoinedSpace::default();
        };
        let extent = bounds.size().max_element();
        if extent <= 0.0 {
            return JoinedSpace::default();
        }
        let scale = Mat4::from_scale(Vec3::splat(1.0 / extent));
        JoinedSpace {
            to_unit: scale * Mat4::from_translation(-bounds.center()),
            extent,
            reach,
        }
    }

    /// Whether a vertex at a place of the joined space is a stray.
    pub(super) fn is_stray(&self, place: Vec3) -> bool {
        place.abs().max_element() > self.reach
    }

    /// The place, or for a stray one in its direction at the edge of the space.
    pub(super) fn pulled_in(&self, place: Vec3) -> Vec3 {
        match self.is_stray(place) {
            true => place / place.abs().max_element() * STRAY_PLACE,
            false => place,
        }
    }
}

fn bounds_of(places: impl Iterator<Item = Vec3>) -> Option<Bounds> {
    let mut bounds = None;
    places.for_each(|place| Bounds::grow(&mut bounds, place));
    bounds
}

/// Where nearly all vertices are.
#[derive(Debug, Clone, Copy)]
struct Core {
    middle: Vec3,
    size: f32,
}

impl Core {
    fn is_lost_in(&self, all: &Bounds) -> bool {
        self.size > 0.0 && all.size().max_element() > self.size * FAR
    }

    fn is_near(&self, place: Vec3) -> bool {
        (place - self.middle).abs().max_element() <= self.size * FAR
    }
}

/// The bounds of the vertices without the outermost ones on each side of each axis.
fn core_of(places: &[Vec3]) -> Option<Core> {
    if places.len() < MIN_VERTICES {
        return None;
    }
    let outer = FEW.max(places.len() / ONE_LEFT_OUT_IN);
    let mut low = Vec3::ZERO;
    let mut high = Vec3::ZERO;
    for axis in 0..3 {
        let mut along: Vec<f32> = places.iter().map(|place| place[axis]).collect();
        let last = along.len() - 1 - outer;
        low[axis] = *along.select_nth_unstable_by(outer, f32::total_cmp).1;
        high[axis] = *along.select_nth_unstable_by(last, f32::total_cmp).1;
    }
    Some(Core {
        middle: (low + high) / 2.0,
        size: (high - low).max_element(),
    })
}
