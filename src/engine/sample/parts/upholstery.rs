//! The cushion: a crowned box with five tufted buttons and piping around its upper and lower edge.

use glam::{DVec2, DVec3};

use super::super::exact::{cos, mix, noise, sin, smoothstep};
use super::super::surface::{Closing, Frame, Grid, Surface, turn};
use super::super::turning::Profile;
use super::seat::{Outline, SEAT_TOP};
use super::{Density, Grain, Group, Part, Stuff};
use std::f64::consts::PI;

const OUTLINE: Outline = Outline {
    half: DVec2::new(0.186, 0.158),
    centre_z: 0.030,
    taper: 0.07,
};
const BOTTOM: f64 = SEAT_TOP + 0.0035;
const TOP: f64 = SEAT_TOP + 0.0415;
const PIPING_RADIUS: f64 = 0.0036;

/// Where the buttons pull the cushion down: x and z.
const BUTTONS: [DVec2; 5] = [
    DVec2::new(0.0, 0.030),
    DVec2::new(0.086, 0.102),
    DVec2::new(-0.086, 0.102),
    DVec2::new(0.078, -0.042),
    DVec2::new(-0.078, -0.042),
];

/// Fabric has no year rings; its grain only carries the chair's own axes.
const CLOTH: Grain = Grain {
    pith: DVec3::ZERO,
    along: DVec3::Z,
    across: DVec3::X,
};

pub(super) fn parts(density: Density) -> Vec<Part> {
    vec![
        cushion(density),
        piping("Piping upper", TOP, density),
        piping("Piping lower", BOTTOM, density),
        buttons(density),
    ]
}

/// Height of the upper face: crowned, pulled in by the buttons, with folds running between them.
fn upper_face(plan: DVec2, reach: f64) -> f64 {
    let crown = 0.0235 * (1.0 - reach * reach * reach * reach) * (1.0 - 0.25 * reach * reach);
    let mut pulled = 0.0;
    for button in BUTTONS {
        let distance = plan.distance(button) / 0.026;
        let falloff = 1.0 / (1.0 + distance * distance);
        pulled += 0.0205 * falloff * falloff;
    }
    let mut folds = 0.0;
    for pair in [(0, 1), (0, 2), (0, 3), (0, 4)] {
        folds += 0.0056 * fold(plan, BUTTONS[pair.0], BUTTONS[pair.1]);
    }
    let rumple = noise(plan.x as f32 * 34.0, plan.y as f32 * 34.0, 0.5, 11) as f64 * 0.0007;
    TOP + crown - pulled - folds + rumple * (1.0 - smoothstep(0.8, 1.0, reach))
}

/// How near a place is to the fold between two buttons, 1 on it.
fn fold(place: DVec2, from: DVec2, to: DVec2) -> f64 {
    let direction = to - from;
    let t = ((place - from).dot(direction) / direction.length_squared()).clamp(0.0, 1.0);
    let distance = place.distance(from + direction * t) / 0.0085;
    1.0 / (1.0 + distance * distance) * (0.35 + 0.65 * (2.0 * t - 1.0) * (2.0 * t - 1.0))
}

fn cushion(density: Density) -> Part {
    let columns = density.steps(192, 24) / 4 * 4;
    let disc = density.steps(58, 8);
    let side = density.steps(14, 3);
    let lower = density.steps(10, 2);
    let centre = DVec2::new(0.0, OUTLINE.centre_z);
    let rim = |column: usize, out: f64| OUTLINE.offset(column as f64 / columns as f64, out);
    let grid = Grid::new(
        disc + side + lower + 1,
        columns + 1,
        Closing::Columns,
        |row, column| {
            if row <= disc {
                let t = row as f64 / disc as f64;
                let reach = mix(t, sin(t * PI / 2.0), 0.5);
                let plan = centre.lerp(rim(column, 0.0), reach);
                return DVec3::new(plan.x, upper_face(plan, reach), plan.y);
            }
            if row <= disc + side {
                let t = (row - disc) as f64 / side as f64;
                let plan = rim(column, 0.0062 * sin(PI * t));
                return DVec3::new(plan.x, mix(TOP, BOTTOM, t), plan.y);
            }
            let reach = 1.0 - (row - disc - side) as f64 / lower as f64;
            let plan = centre.lerp(rim(column, 0.0), reach);
            DVec3::new(plan.x, BOTTOM - 0.001 * (1.0 - reach), plan.y)
        },
    );
    let planar = |up: f64| {
        let grid = &grid;
        move |row: usize, column: usize| {
            let point = grid.points[row * (columns + 1) + column];
            DVec2::new(point.x, up * point.z)
        }
    };
    let lengths = OUTLINE.lengths(columns);
    let strips = (0..4).map(|quarter| {
        let range = quarter * columns / 4..=(quarter + 1) * columns / 4;
        let start = lengths[*range.start()];
        grid.patch(disc..=disc + side, range, |row, column| {
            DVec2::new(
                lengths[column] - start,
                (row - disc) as f64 / side as f64 * (TOP - BOTTOM),
            )
        })
    });
    Part::new(
        Group::Upholstery,
        "Cushion",
        Stuff::Fabric,
        DVec3::new(0.0, BOTTOM, OUTLINE.centre_z),
    )
    .with(
        [grid.patch(0..=disc, 0..=columns, planar(-1.0))],
        CLOTH,
        1.0,
    )
    .with(strips, CLOTH, 1.0)
    .with(
        [grid.patch(disc + side..=grid.rows - 1, 0..=columns, planar(1.0))],
        CLOTH,
        0.4,
    )
}

fn piping(name: &str, height: f64, density: Density) -> Part {
    let rows = density.steps(224, 24) / 4 * 4;
    let columns = density.steps(12, 5);
    let spine = move |t: f64| {
        let plan = OUTLINE.offset(t, 0.0012);
        DVec3::new(plan.x, height + 0.0004 * cos(t * 40.0 * PI), plan.y)
    };
    let grid = Grid::new(rows + 1, columns + 1, Closing::Both, |row, column| {
        // The last ring is the first one, to the bit.
        let t = (row % rows) as f64 / rows as f64;
        Frame::on(&spine, t, DVec3::Y).place(turn(column as f64 / columns as f64) * PIPING_RADIUS)
    });
    let lengths = OUTLINE.lengths(rows);
    let around = 2.0 * PI * PIPING_RADIUS;
    let strips = (0..4).map(|quarter| {
        let range = quarter * rows / 4..=(quarter + 1) * rows / 4;
        let start = lengths[*range.start()];
        grid.patch(range, 0..=columns, |row, column| {
            DVec2::new(
                around * column as f64 / columns as f64,
                lengths[row] - start,
            )
        })
    });
    Part::new(
        Group::Upholstery,
        name,
        Stuff::Fabric,
        DVec3::new(0.0, height, OUTLINE.centre_z),
    )
    .with(strips, CLOTH, 0.8)
}

fn buttons(density: Density) -> Part {
    let mut part = Part::new(
        Group::Upholstery,
        "Buttons",
        Stuff::Fabric,
        DVec3::new(0.0, TOP, OUTLINE.centre_z),
    );
    for place in BUTTONS {
        let reach = 0.0;
        let height = upper_face(place, reach) - 0.0006;
        let from = DVec3::new(place.x, height, place.y);
        let spine = move |t: f64| from + DVec3::Y * (0.01 * t);
        part = part.with_turned(dome(&spine, density), CLOTH);
    }
    part
}

/// A button: a flat drum with a domed top that ends in a point.
fn dome(spine: &dyn Fn(f64) -> DVec3, density: Density) -> Vec<Surface> {
    let mut profile = Profile::new(0.0, 0.0092, density.rows_per_metre()).taper(0.0016, 0.0100);
    let rows = density.steps(14, 4);
    for row in 1..=rows {
        let quarter = turn(0.25 * row as f64 / rows as f64);
        let radius = if row == rows { 0.0 } else { 0.0100 * quarter.x };
        profile = profile.taper(0.0016 + 0.0048 * quarter.y, radius);
    }
    profile.turned(spine, density.steps(36, 8), DVec3::X)
}
