//! The shapes of the chair: measures in metres, y up, the front towards +z, the feet at y = 0.
//!
//! Every part is a [`Grid`]: rows from one end to the other, columns around. Turned parts follow a profile of radii.

mod grid;
mod part;

use glam::{DVec2, DVec3};

use super::exact::{bump, mix, sin, smoothstep, turn};
use grid::{Grid, Unrolled, steps};
pub(super) use part::{ChairMaterial, ChairPart};

/// The chair; a density of 1 has about 400,000 triangles.
pub(super) fn parts(density: f64) -> Vec<ChairPart> {
    let mut parts = vec![seat(density), cushion(density), crest(density)];
    for (index, height) in [CUSHION_LOW, CUSHION_HIGH].into_iter().enumerate() {
        parts.push(piping(density, &format!("Piping {}", index + 1), height));
    }
    parts.extend((0..4).flat_map(|leg| leg_and_foot(density, leg)));
    parts.extend(stretchers(density));
    for (name, side) in [("Right post", -1.0), ("Left post", 1.0)] {
        parts.extend(post_and_stud(density, name, side));
    }
    parts.extend((0..5).map(|number| slat(density, number)));
    parts
}

/// Top and foot of a leg.
fn leg_ends(leg: usize) -> [DVec3; 2] {
    let (side, depth) = [(-1.0, 1.0), (1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)][leg];
    let reach = if depth > 0.0 { 0.200 } else { 0.225 };
    [
        DVec3::new(side * 0.158, 0.440, depth * 0.150),
        DVec3::new(side * 0.208, 0.0, depth * reach),
    ]
}

fn leg_and_foot(density: f64, leg: usize) -> [ChairPart; 2] {
    let [top, foot] = leg_ends(leg);
    let number = leg + 1;
    let wood = turned(
        density,
        &format!("Leg {number}"),
        ChairMaterial::Oak,
        [top, foot],
        LEG,
        [210, 64],
    );
    let cap = turned(
        density,
        &format!("Foot {number}"),
        ChairMaterial::Brass,
        [top.lerp(foot, 0.925), foot],
        FOOT,
        [40, 48],
    );
    [wood, cap]
}

/// The bars between the legs.
fn stretchers(density: f64) -> [ChairPart; 3] {
    let on_leg = |leg| {
        let [top, foot] = leg_ends(leg);
        top.lerp(foot, 0.58)
    };
    let left = [on_leg(0), on_leg(2)];
    let right = [on_leg(1), on_leg(3)];
    let middle = [left, right].map(|[front, back]| front.lerp(back, 0.5));
    [("left", left), ("right", right), ("middle", middle)].map(|(name, ends)| {
        turned(
            density,
            &format!("Stretcher {name}"),
            ChairMaterial::Oak,
            ends,
            STRETCHER,
            [120, 48],
        )
    })
}

fn post_and_stud(density: f64, name: &str, side: f64) -> [ChairPart; 2] {
    let ends = [
        DVec3::new(side * 0.185, 0.440, -0.150),
        DVec3::new(side * 0.222, 0.905, -0.268),
    ];
    let post = turned(density, name, ChairMaterial::Oak, ends, POST, [210, 60]);
    let on_crest = crest_at(side * 0.205, 0.0);
    let stud = turned(
        density,
        &format!("{name} stud"),
        ChairMaterial::Brass,
        [on_crest + DVec3::Z * 0.008, on_crest + DVec3::Z * 0.0185],
        STUD,
        [20, 32],
    );
    [post, stud]
}

/// Pairs of a fraction of the length and the radius there in metres.
type Profile = &'static [f64];

const LEG: Profile = &[
    0.0, 0.0165, 0.05, 0.0165, 0.065, 0.0235, 0.085, 0.0235, 0.10, 0.0180, 0.24, 0.0280, 0.36,
    0.0170, 0.38, 0.0235, 0.40, 0.0235, 0.42, 0.0190, 0.44, 0.0215, 0.52, 0.0230, 0.63, 0.0215,
    0.65, 0.0165, 0.665, 0.0220, 0.68, 0.0165, 0.79, 0.0230, 0.90, 0.0135, 0.91, 0.0175, 0.925,
    0.0140, 1.0, 0.0120,
];
const FOOT: Profile = &[
    0.0, 0.0140, 0.1, 0.0175, 0.2, 0.0160, 0.9, 0.0130, 1.0, 0.0115,
];
const STRETCHER: Profile = &[
    0.0, 0.0075, 0.30, 0.0105, 0.40, 0.0120, 0.42, 0.0155, 0.44, 0.0125, 0.50, 0.0170, 0.56,
    0.0125, 0.58, 0.0155, 0.60, 0.0120, 0.70, 0.0105, 1.0, 0.0075,
];
const POST: Profile = &[
    0.0, 0.0130, 0.05, 0.0140, 0.07, 0.0195, 0.09, 0.0195, 0.11, 0.0135, 0.25, 0.0190, 0.36,
    0.0130, 0.38, 0.0180, 0.395, 0.0180, 0.41, 0.0140, 0.425, 0.0180, 0.44, 0.0180, 0.46, 0.0130,
    0.66, 0.0185, 0.92, 0.0115, 1.0, 0.0115,
];
const STUD: Profile = &[0.0, 0.0060, 0.5, 0.0058, 0.85, 0.0040, 1.0, 0.0015];

fn radius(profile: Profile, at: f64) -> f64 {
    let mut spans = profile.windows(4).step_by(2);
    let last = spans.clone().next_back();
    let span = spans.find(|span| at < span[2]).or(last);
    span.map_or(0.0, |span| {
        mix(span[1], span[3], smoothstep(span[0], span[2], at))
    })
}

/// A part turned on a lathe, from the first to the second of its ends.
fn turned(
    density: f64,
    name: &str,
    material: ChairMaterial,
    ends: [DVec3; 2],
    profile: Profile,
    [rows, columns]: [usize; 2],
) -> ChairPart {
    let along = (ends[1] - ends[0]).normalize();
    let across = along.cross(DVec3::Z).try_normalize().unwrap_or(DVec3::X);
    let up = along.cross(across);
    let radii = profile.iter().skip(1).step_by(2);
    let mean = radii.clone().sum::<f64>() / radii.len() as f64;
    let unrolled = Unrolled::Around(mean * std::f64::consts::TAU);
    Grid::new(density, name, material, [rows, columns], unrolled).part(|at, around| {
        let (at, is_end) = ended(at, rows, density);
        let around = turn(around) * if is_end { 0.0 } else { radius(profile, at) };
        ends[0].lerp(ends[1], at) + across * around.x + up * around.y
    })
}

/// Skips the first and the last row, which close the ends of a solid part in one point each.
fn ended(at: f64, rows: usize, density: f64) -> (f64, bool) {
    let step = 1.0 / steps(rows, density) as f64;
    let is_end = at < step * 0.5 || at > 1.0 - step * 0.5;
    (((at - step) / (1.0 - 2.0 * step)).clamp(0.0, 1.0), is_end)
}

/// The curve x⁴ + y⁴ = 1 at a fraction of a turn: a square with round corners.
fn rounded_square(fraction: f64) -> DVec2 {
    let direction = turn(fraction);
    let squares = direction * direction;
    direction / squares.dot(squares).sqrt().sqrt()
}

/// The plan of seat and cushion, a rounded trapezoid: x and z at a fraction of a turn.
fn plan(fraction: f64, half: DVec2) -> DVec2 {
    let unit = rounded_square(fraction);
    DVec2::new(unit.x * (1.0 + 0.075 * unit.y), unit.y) * half
}

const SEAT_TOP: f64 = 0.456;

/// A saddled board with a rounded rim and a bevel below.
fn seat(density: f64) -> ChairPart {
    let grid = Grid::new(
        density,
        "Seat",
        ChairMaterial::Oak,
        [76, 176],
        Unrolled::Disc,
    );
    grid.part(|at, around| {
        let outwards = plan(around, DVec2::new(0.228, 0.220));
        let (reach, height) = match at {
            ..0.5 => (at / 0.5 * 0.955, 0.0),
            ..0.7 => {
                let arc = turn(0.25 - (at - 0.5) / 0.2 * 0.25);
                (0.955 + 0.045 * arc.x, 0.011 * (arc.y - 1.0))
            }
            ..0.8 => (
                1.0 - 0.02 * (at - 0.7) / 0.1,
                -0.011 - 0.013 * (at - 0.7) / 0.1,
            ),
            ..0.9 => (
                mix(0.98, 0.84, (at - 0.8) / 0.1),
                mix(-0.024, -0.040, (at - 0.8) / 0.1),
            ),
            _ => (0.84 * (1.0 - at) / 0.1, -0.040),
        };
        let place = outwards * reach;
        let hollow = match at {
            ..0.5 => 0.007 * (1.0 - smoothstep(0.15, 0.93, reach)),
            _ => 0.0,
        };
        DVec3::new(place.x, SEAT_TOP + height - hollow, place.y)
    })
}

const CUSHION_LOW: f64 = 0.460;
const CUSHION_HIGH: f64 = 0.490;
const CUSHION_HALF: DVec2 = DVec2::new(0.200, 0.188);
/// Positions of the buttons that pull the cushion down: x and z.
const TUFTS: [DVec2; 4] = [
    DVec2::new(-0.07, -0.065),
    DVec2::new(0.07, -0.065),
    DVec2::new(-0.075, 0.065),
    DVec2::new(0.075, 0.065),
];

fn cushion(density: f64) -> ChairPart {
    let grid = Grid::new(
        density,
        "Cushion",
        ChairMaterial::Wool,
        [104, 176],
        Unrolled::Disc,
    );
    grid.part(|at, around| {
        let (reach, height) = match at {
            ..0.62 => (at / 0.62 * 0.985, CUSHION_HIGH),
            ..0.85 => {
                let down = (at - 0.62) / 0.23;
                (
                    0.985 + 0.02 * bump(down - 0.5, 0.5),
                    mix(CUSHION_HIGH, CUSHION_LOW, down),
                )
            }
            _ => (0.985 * (1.0 - at) / 0.15, CUSHION_LOW),
        };
        let place = plan(around, CUSHION_HALF) * reach;
        let mut height = height;
        if at < 0.62 {
            height += 0.016 * (1.0 - reach * reach);
            for tuft in TUFTS {
                let distance = place.distance(tuft);
                height -= 0.015 * bump(distance, 0.065) + 0.004 * bump(distance, 0.015);
            }
        }
        DVec3::new(place.x, height, place.y)
    })
}

/// A cord around the cushion.
fn piping(density: f64, name: &str, height: f64) -> ChairPart {
    let mut grid = Grid::new(
        density,
        name,
        ChairMaterial::Wool,
        [176, 20],
        Unrolled::Around(0.025),
    );
    grid.is_ring = true;
    grid.part(|at, around| {
        let place = plan(at, CUSHION_HALF * 0.985);
        let section = turn(around) * 0.0042;
        let place = place + place.normalize() * section.x;
        DVec3::new(place.x, height + section.y, place.y)
    })
}

/// The middle of the crest rail at `x`, moved up by `up`.
fn crest_at(x: f64, up: f64) -> DVec3 {
    let bow = bump(x, 0.30);
    DVec3::new(x, 0.925 + 0.018 * bump(x, 0.16) + up, -0.262 - 0.026 * bow)
}

/// The rail on top of the back, with a carved rosette and leaves on its front.
fn crest(density: f64) -> ChairPart {
    let rows = 300;
    let grid = Grid::new(
        density,
        "Crest rail",
        ChairMaterial::Oak,
        [rows, 116],
        Unrolled::Around(0.16),
    );
    grid.part(|at, around| {
        let (at, is_end) = ended(at, rows, density);
        let x = mix(-0.248, 0.248, at);
        let beyond = ((x.abs() - 0.232) / 0.0162).max(0.0);
        let rounding = (1.0 - beyond * beyond).max(0.0).sqrt() * 0.5 + 0.5;
        let section = rounded_square(around) * if is_end { 0.0 } else { rounding };
        let up = section.x * mix(0.030, 0.044, bump(x, 0.26));
        let front = smoothstep(0.3, 0.8, section.y);
        crest_at(x, up) + DVec3::Z * (section.y * 0.0115 + front * carving(x, up))
    })
}

/// The height of the carving: a rosette of eight petals between two twigs of leaves.
fn carving(x: f64, up: f64) -> f64 {
    let from_middle = DVec2::new(x, up);
    let distance = from_middle.length();
    let petals = match distance > 0.0 {
        // cos 8φ of the direction, as a polynomial of its cosine.
        true => (0..3).fold(x / distance, |cosine, _| 2.0 * cosine * cosine - 1.0),
        false => 0.0,
    };
    let rosette = bump(distance - 0.015, 0.011) * (0.65 + 0.35 * petals) + bump(distance, 0.005);
    let along = x.abs();
    let inside = smoothstep(0.032, 0.045, along) * (1.0 - smoothstep(0.150, 0.180, along));
    let leaf = sin((along - up.abs() * 0.9) * 360.0).max(0.0);
    let twig = bump(up, 0.0022) + 0.8 * leaf * bump(up.abs() - 0.008, 0.0075);
    0.0050 * rosette + 0.0042 * inside * twig
}

/// A slat of the back, curved to fit a human back.
fn slat(density: f64, number: usize) -> ChairPart {
    let rows = 150;
    let side = number as f64 / 2.0 - 1.0;
    let name = format!("Slat {}", number + 1);
    let grid = Grid::new(
        density,
        &name,
        ChairMaterial::Oak,
        [rows, 36],
        Unrolled::Around(0.07),
    );
    let low = DVec3::new(side * 0.112, 0.445, -0.172 - 0.012 * (1.0 - side * side));
    let high = crest_at(side * 0.148, -0.010);
    grid.part(|at, around| {
        let (at, is_end) = ended(at, rows, density);
        let bend = sin(at * std::f64::consts::TAU) * 0.014 - sin(at * std::f64::consts::PI) * 0.010;
        let width = mix(0.0125, 0.0165, smoothstep(0.1, 0.6, at));
        let section = rounded_square(around) * if is_end { 0.0 } else { 1.0 };
        low.lerp(high, at) + DVec3::new(-section.x * width, 0.0, bend + section.y * 0.0052)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_faces_outwards() {
        for part in parts(0.2) {
            let at = |index: u32| part.geometry.position(index);
            let corners = part.geometry.indices.chunks_exact(3);
            let volume: f32 = corners
                .map(|corner| at(corner[0]).dot(at(corner[1]).cross(at(corner[2]))))
                .sum();
            assert!(volume > 0.0, "{}: {volume}", part.name);
        }
    }
}
