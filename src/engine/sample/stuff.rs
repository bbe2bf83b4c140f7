//! How the stuffs look: oiled oak cut from a log, woven wool.
//!
//! Wood is solid: year rings, fibres and pores are functions of the place in the tree, so grain runs through a turned
//! leg the way it does through a real one.

use glam::Vec3;

use super::atlas::{Look, Place};
use super::exact::{hash, noise};

const EARLY_WOOD: Vec3 = Vec3::new(0.715, 0.530, 0.362);
const LATE_WOOD: Vec3 = Vec3::new(0.520, 0.345, 0.212);
const PORE: Vec3 = Vec3::new(0.300, 0.185, 0.110);

/// Year rings a metre.
const RINGS: f32 = 205.0;

/// Oak at a place of the tree.
pub(super) fn wood(place: &Place) -> Look {
    let at = place.in_grain;
    let wander = noise(at.x * 9.0, at.y * 9.0, at.z * 2.2, 1) * 0.85
        + noise(at.x * 31.0, at.y * 31.0, at.z * 5.0, 2) * 0.28;
    let age = (at.x * at.x + at.y * at.y).sqrt() * RINGS + wander * 1.6;
    let ring = age - age.floor_cell();
    // Early wood darkens slowly into late wood, the next spring starts abruptly.
    let late = smooth(0.35, 0.88, ring) * (1.0 - smooth(0.93, 1.0, ring));
    let year = hash(age.floor_cell() as i32, 3, 0, 3) - 0.5;
    let fibre = noise(at.x * 1500.0, at.y * 1500.0, at.z * 42.0, 4);
    let streak = noise(at.x * 240.0, at.y * 240.0, at.z * 6.0, 5);
    let vessel = noise(at.x * 1350.0, at.y * 1350.0, at.z * 120.0, 6);
    // Pores open in early wood and are short and dark.
    let pore = smooth(0.38, 0.75, vessel) * (1.0 - 0.75 * late);
    let mut colour = EARLY_WOOD.lerp(
        LATE_WOOD,
        (late * 0.66 + year * 0.22 + streak * 0.16 + 0.08).clamp(0.0, 1.0),
    );
    colour *= 1.0 + 0.055 * fibre + 0.07 * wander;
    colour = colour.lerp(PORE, pore * 0.42);
    Look {
        colour: colour.clamp(Vec3::ZERO, Vec3::ONE),
        relief: 0.000_020 * late + 0.000_012 * fibre - 0.000_060 * pore,
        roughness: (0.46 - 0.07 * late + 0.04 * streak + 0.26 * pore).clamp(0.05, 1.0),
        occlusion: 1.0 - 0.35 * pore,
    }
}

const WOOL_DEEP: Vec3 = Vec3::new(0.085, 0.262, 0.272);
const WOOL_LIGHT: Vec3 = Vec3::new(0.235, 0.470, 0.455);
/// The distance of two threads, in metres.
const THREAD: f32 = 0.0026;

/// A plain weave of mottled wool at a place of the unrolled cloth.
pub(super) fn fabric(place: &Place) -> Look {
    let slack_u = noise(place.flat.x * 60.0, place.flat.y * 60.0, 0.0, 21) * 0.22;
    let slack_v = noise(place.flat.x * 60.0, place.flat.y * 60.0, 9.0, 22) * 0.22;
    let (u, v) = (
        place.flat.x / THREAD + slack_u,
        place.flat.y / THREAD + slack_v,
    );
    let (column, row) = (u.floor_cell(), v.floor_cell());
    let (x, y) = ((u - column) * 2.0 - 1.0, (v - row) * 2.0 - 1.0);
    let warp_on_top = (column as i32 + row as i32).rem_euclid(2) == 0;
    let (across, along, thread) = if warp_on_top {
        (x, y, column as i32)
    } else {
        (y, x, row as i32 + 4096)
    };
    let round = (1.0 - across * across).max(0.0);
    let hump = 1.0 - 0.72 * along * along;
    let height = round.sqrt() * hump;
    let twist = noise(
        across * 2.4 + along * 1.3 + thread as f32 * 7.1,
        (u + v) * 1.9,
        place.flat.x * 90.0,
        23,
    );
    let tone = hash(thread, 1, 1, 24) * 0.34
        + hash(column as i32, row as i32, 2, 25) * 0.26
        + twist * 0.16;
    let heather = noise(place.flat.x * 210.0, place.flat.y * 210.0, 3.0, 26);
    let colour = WOOL_DEEP.lerp(WOOL_LIGHT, (tone + 0.16 + heather * 0.13).clamp(0.0, 1.0));
    Look {
        colour: colour * (0.52 + 0.48 * height),
        relief: 0.000_42 * height + 0.000_05 * twist,
        roughness: (0.90 - 0.06 * height).clamp(0.05, 1.0),
        occlusion: 0.45 + 0.55 * height,
    }
}

/// The floor of a number without the platform's library, so that bytes never differ.
trait FloorCell {
    fn floor_cell(self) -> f32;
}

impl FloorCell for f32 {
    fn floor_cell(self) -> f32 {
        let truncated = self as i32;
        (truncated - i32::from(self < truncated as f32)) as f32
    }
}

fn smooth(from: f32, to: f32, x: f32) -> f32 {
    let t = ((x - from) / (to - from)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}
