//! The back: two turned posts, five bent slats and a carved crest rail on top of them.

use glam::{DVec2, DVec3};

use super::super::exact::{bump, fract, mix, sin, smoothstep};
use super::super::surface::{Closing, Frame, Grid, SectionColumns, lid, turn};
use super::super::turning::{Profile, spine_length};
use super::seat::SEAT_TOP;
use super::{Density, Grain, Group, Part, Stuff, cut};
use std::f64::consts::PI;

/// Half the length of the crest rail along its bend.
const CREST_REACH: f64 = 0.246;
/// The middle of the crest rail.
const CREST_CENTRE: DVec3 = DVec3::new(0.0, 0.895, -0.302);
const CREST_THICKNESS: f64 = 0.022;
/// How the back leans: the direction from the seat to the crest.
const LEAN: DVec3 = DVec3::new(0.0, 0.9659258262890683, -0.25881904510252074);

/// The crest's axis: an arc in plan that takes the sitter's shoulders in. `along` is in metres from the middle.
pub(super) fn crest_spine(along: f64) -> DVec3 {
    let bend = 0.95 * along * along;
    CREST_CENTRE + DVec3::new(along * (1.0 - 0.55 * along * along), 0.0, bend)
}

/// The frame of the crest: `side` looks backwards, `up` along the lean.
pub(super) fn crest_frame(along: f64) -> Frame {
    const STEP: f64 = 1e-4;
    let direction = (crest_spine(along + STEP) - crest_spine(along - STEP)).normalize();
    let side = LEAN.cross(direction).normalize();
    Frame {
        origin: crest_spine(along),
        side,
        up: direction.cross(side),
        along: direction,
    }
}

pub(super) fn parts(density: Density) -> Vec<Part> {
    let mut parts = vec![
        post("Post left", 1.0, 5, density),
        post("Post right", -1.0, 6, density),
    ];
    for number in 0..5 {
        parts.push(slat(number, density));
    }
    parts.push(crest(density));
    parts
}

/// Where the posts enter the crest, along its bend.
pub(super) const POST_ALONG: f64 = 0.204;

fn post(name: &str, side: f64, number: usize, density: Density) -> Part {
    let foot = DVec3::new(side * 0.164, SEAT_TOP - 0.018, -0.150);
    let head = crest_spine(side * POST_ALONG) - LEAN * 0.012;
    let spine = move |t: f64| {
        let bend = 0.016 * sin(PI * t);
        foot.lerp(head, t) + DVec3::new(side * 0.35, 0.0, 0.9) * bend
    };
    let length = spine_length(&spine);
    let profile = Profile::new(0.002, 0.0115, density.rows_per_metre())
        .taper(0.022, 0.0120)
        .crease()
        .swell(0.040, 0.0160)
        .bead(0.0065, 0.0045)
        .cove(0.0085, 0.0030)
        .bead(0.0050, 0.0035)
        .shoulder(0.0132)
        .crease()
        .swell(0.150, 0.0182)
        .swell(0.206, 0.0120)
        .bead(0.0060, 0.0046)
        .shoulder(0.0108)
        .taper(0.2165, 0.0108)
        .bead(0.0105, 0.0075)
        .shoulder(0.0108)
        .taper(0.2300, 0.0108)
        .bead(0.0060, 0.0046)
        .swell(0.300, 0.0165)
        .swell(length - 0.004, 0.0092);
    let grain = Grain::new(foot, head - foot, cut(number));
    let surfaces = profile.turned(&spine, density.steps(44, 8), DVec3::X);
    Part::new(Group::Back, name, Stuff::Wood, foot).with_turned(surfaces, grain)
}

fn slat(number: usize, density: Density) -> Part {
    let place = number as f64 - 2.0;
    let foot = DVec3::new(
        place * 0.0565,
        SEAT_TOP - 0.016,
        -0.172 + 0.55 * (place * 0.0565) * (place * 0.0565),
    );
    let head = crest_spine(place * 0.0680) - LEAN * 0.020;
    // Bent for the small of the back: forwards in the lower half, backwards in the upper.
    let spine = move |t: f64| {
        foot.lerp(head, t) + DVec3::Z * (0.017 * sin(2.0 * PI * t) * (1.0 - 0.35 * t))
    };
    let columns = SectionColumns {
        top: density.steps(9, 2),
        bottom: density.steps(9, 2),
        right: density.steps(2, 1),
        left: density.steps(2, 1),
        corner: density.steps(4, 1),
    };
    let rows = density.steps(112, 10);
    let length = spine_length(&spine);
    let frames: Vec<Frame> = (0..=rows)
        .map(|row| Frame::on(&spine, row as f64 / rows as f64, DVec3::X))
        .collect();
    let sections: Vec<Vec<DVec2>> = (0..=rows)
        .map(|row| slat_section(row as f64 / rows as f64, &columns))
        .collect();
    let grid = Grid::new(
        rows + 1,
        columns.total() + 1,
        Closing::Columns,
        |row, column| frames[row].place(sections[row][column]),
    );
    let around = around(&sections[rows / 2]);
    let mantle =
        grid.surface(|row, column| DVec2::new(around[column], length * row as f64 / rows as f64));
    let grain = Grain::new(foot, head - foot, cut(number * 3));
    let lids = [
        lid(&frames[0], &sections[0][1..], false),
        lid(&frames[rows], &sections[rows][1..], true),
    ];
    Part::new(
        Group::Back,
        &format!("Slat {}", number + 1),
        Stuff::Wood,
        foot,
    )
    .with([mantle], grain, 1.0)
    .with(lids, grain, 0.5)
}

/// A slat is widest above its middle; its faces are crowned, its ends are tenons.
fn slat_section(t: f64, columns: &SectionColumns) -> Vec<DVec2> {
    let swell = smoothstep(0.0, 0.62, t) * (1.0 - 0.55 * smoothstep(0.62, 1.0, t));
    let width = mix(0.0210, 0.0410, swell);
    let thickness = mix(0.0105, 0.0080, swell);
    let mut section = columns.rounded_rectangle(DVec2::new(width, thickness), 0.0032);
    for point in &mut section {
        let across = point.x / (width / 2.0);
        point.y += point.y.signum() * 0.0011 * (1.0 - across * across) + 0.0012 * across * across;
    }
    section
}

fn crest(density: Density) -> Part {
    let columns = SectionColumns {
        right: density.steps(22, 4),
        top: density.steps(7, 1),
        left: density.steps(58, 8),
        bottom: density.steps(7, 1),
        corner: density.steps(6, 2),
    };
    let places = crest_places(density);
    let frames: Vec<Frame> = places
        .iter()
        .map(|&(along, _)| crest_frame(along))
        .collect();
    let sections: Vec<Vec<DVec2>> = places
        .iter()
        .map(|&(along, inset)| crest_section(along, inset, &columns))
        .collect();
    let grid = Grid::new(
        places.len(),
        columns.total() + 1,
        Closing::Columns,
        |row, column| frames[row].place(sections[row][column]),
    );
    let around = around(&sections[places.len() / 2]);
    let mantle =
        grid.surface(|row, column| DVec2::new(around[column], places[row].0 + CREST_REACH));
    let last = places.len() - 1;
    let lids = [
        lid(&frames[0], &sections[0][1..], false),
        lid(&frames[last], &sections[last][1..], true),
    ];
    let grain = Grain::new(CREST_CENTRE, DVec3::X, DVec2::new(0.045, 0.030));
    Part::new(Group::Back, "Crest rail", Stuff::Wood, CREST_CENTRE)
        .with([mantle], grain, 1.0)
        .with(lids, grain, 1.0)
}

/// Places along the crest with the inset of its rounded ends.
fn crest_places(density: Density) -> Vec<(f64, f64)> {
    const ROUND: f64 = 0.0065;
    let body = density.steps(300, 24);
    let end = density.steps(9, 3);
    let flat = CREST_REACH - ROUND;
    let rounding = |step: usize| {
        let quarter = turn(0.25 * step as f64 / end as f64);
        (flat + ROUND * quarter.y, ROUND * (1.0 - quarter.x))
    };
    let mut places: Vec<(f64, f64)> = (1..=end)
        .rev()
        .map(rounding)
        .map(|(along, inset)| (-along, inset))
        .collect();
    places.extend((0..=body).map(|step| (mix(-flat, flat, step as f64 / body as f64), 0.0)));
    places.extend((1..=end).map(rounding));
    places
}

/// Upper and lower edge of the crest: arched above, a shallow bow below, fuller at the posts.
fn crest_edges(along: f64) -> (f64, f64) {
    let t = along / CREST_REACH;
    let arch = 0.020 * (1.0 - t * t) + 0.011 * bump(along, 0.105);
    let ears = 0.007 * smoothstep(0.62, 0.98, t.abs());
    let upper = 0.029 + arch + ears - 0.010 * smoothstep(0.90, 1.0, t.abs());
    let lower = -0.033
        + 0.009 * (1.0 - smoothstep(0.0, 0.72, t.abs()))
        + 0.008 * smoothstep(0.90, 1.0, t.abs());
    (upper, lower)
}

fn crest_section(along: f64, inset: f64, columns: &SectionColumns) -> Vec<DVec2> {
    let (upper, lower) = crest_edges(along);
    let size = DVec2::new(CREST_THICKNESS - 2.0 * inset, upper - lower - 2.0 * inset);
    let middle = (upper + lower) / 2.0;
    let mut section = columns.rounded_rectangle(size, 0.0068_f64.min(size.x * 0.45));
    for (column, point) in section.iter_mut().enumerate() {
        point.y += middle;
        if inset == 0.0 && columns.left_side().contains(&column) {
            point.x -= carving(along, point.y, upper, lower);
        }
    }
    section
}

/// How far the carved front stands out (or goes in, when negative) at a place of the crest's face.
fn carving(along: f64, height: f64, upper: f64, lower: f64) -> f64 {
    let edge = (upper - height)
        .min(height - lower)
        .min(CREST_REACH - along.abs());
    let border = -0.0025 * bump(edge - 0.0125, 0.0026);
    let centre = (upper + lower) / 2.0 + 0.001;
    let (x, y) = (along, height - centre);
    border + rosette(x, y) + spray(x.abs(), y)
}

/// A rosette of twelve petals in a ring, with a boss.
fn rosette(x: f64, y: f64) -> f64 {
    const RADIUS: f64 = 0.0205;
    let distance = (x * x + y * y).sqrt();
    let ring = 0.0022 * bump(distance - RADIUS - 0.0022, 0.0024);
    if distance >= RADIUS {
        return ring;
    }
    let unit = DVec2::new(x, y) / distance.max(1e-9);
    // The cosine of twelve times the angle: the real part of the twelfth power.
    let sixth = square(times(square(unit), unit));
    let petals = square(sixth).x;
    let t = distance / RADIUS;
    let body = 0.0034 * t * (1.0 - t * t) * (0.35 + 0.65 * petals) - 0.0012 * (1.0 - t * t);
    ring + body + 0.0042 * bump(distance, 0.0062)
}

fn times(a: DVec2, b: DVec2) -> DVec2 {
    DVec2::new(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x)
}

fn square(a: DVec2) -> DVec2 {
    times(a, a)
}

/// A stem with pairs of chip-carved leaves, on both sides of the rosette.
fn spray(x: f64, y: f64) -> f64 {
    const FIRST: f64 = 0.034;
    const PITCH: f64 = 0.0128;
    const LEAVES: f64 = 11.0;
    let last = FIRST + PITCH * LEAVES;
    if !(FIRST - 0.01..last + 0.012).contains(&x) {
        return 0.0;
    }
    let stem = -0.0013 * bump(y, 0.0016) * (1.0 - smoothstep(last - 0.004, last + 0.004, x));
    let mut deepest: f64 = stem.min(0.0);
    for shift in [0.0, 1.0] {
        let cell = fract((x - FIRST) / PITCH) + shift;
        let number = (x - FIRST) / PITCH - cell;
        if !(-0.5..LEAVES - 0.5).contains(&number) {
            continue;
        }
        // The leaf starts at the stem and leans outwards; it shrinks towards the end of the spray.
        let size = 1.0 - 0.045 * number;
        let (px, py) = (cell * PITCH - 0.0062 * size, y.abs() - 0.0082 * size);
        let (along, across) = (
            (px + py) * std::f64::consts::FRAC_1_SQRT_2,
            (py - px) * std::f64::consts::FRAC_1_SQRT_2,
        );
        let lens = 1.0 - square_of(along / (0.0083 * size)) - square_of(across / (0.0030 * size));
        if lens > 0.0 {
            deepest = deepest.min(-0.0033 * lens);
        }
    }
    deepest
}

fn square_of(x: f64) -> f64 {
    x * x
}

/// Lengths around a section up to each column.
fn around(section: &[DVec2]) -> Vec<f64> {
    let mut total = 0.0;
    let mut lengths = vec![0.0];
    for pair in section.windows(2) {
        total += pair[0].distance(pair[1]);
        lengths.push(total);
    }
    lengths
}

/// The crest's face (towards the sitter) or back at a place along it, for the screws.
pub(super) fn crest_skin(along: f64, height: f64, front: bool) -> (DVec3, DVec3) {
    let frame = crest_frame(along);
    let out = if front { -1.0 } else { 1.0 };
    (
        frame.place(DVec2::new(out * CREST_THICKNESS / 2.0, height)),
        frame.side * out,
    )
}
