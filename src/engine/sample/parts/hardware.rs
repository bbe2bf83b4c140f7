//! Brass: the shoes of the legs, and slotted screws in the crest and below the seat.

use glam::{DVec2, DVec3};

use super::super::exact::smoothstep;
use super::super::surface::{Closing, Frame, Grid, Surface, circle, lid, turn};
use super::super::turning::{Profile, spine_length};
use super::back::{POST_ALONG, crest_skin};
use super::seat::SEAT_TOP;
use super::{Density, Grain, Group, Part, Stuff, base};

const METAL: Grain = Grain {
    pith: DVec3::ZERO,
    along: DVec3::Y,
    across: DVec3::X,
};

pub(super) fn parts(density: Density) -> Vec<Part> {
    let mut parts: Vec<Part> = base::legs().iter().map(|leg| shoe(leg, density)).collect();
    let mut screws = Part::new(
        Group::Hardware,
        "Screws",
        Stuff::Brass,
        DVec3::new(0.0, SEAT_TOP, 0.0),
    );
    for (number, (place, direction)) in screw_places().into_iter().enumerate() {
        screws = screws.with(screw(place, direction, number, density), METAL, 1.0);
    }
    parts.push(screws);
    parts
}

fn shoe(leg: &base::Leg, density: Density) -> Part {
    let spine = leg.spine();
    let end = 0.040 / spine_length(&spine);
    let profile = Profile::new(0.0, 0.0108, density.rows_per_metre())
        .swell(0.0025, 0.0122)
        .taper(0.032, 0.0140)
        .bead(0.0045, 0.0016)
        .shoulder(0.0124);
    let columns = density.steps(40, 8);
    let name = leg.name.replace("Leg", "Shoe");
    // The spine is cut so that a metre of profile stays a metre.
    let cut = move |t: f64| spine(t * end);
    let surfaces = profile.turned(&cut, columns, DVec3::X);
    Part::new(Group::Hardware, &name, Stuff::Brass, leg.spine()(0.0)).with_turned(surfaces, METAL)
}

/// Heads on the face and the back of the crest over the posts, and four below the seat.
fn screw_places() -> Vec<(DVec3, DVec3)> {
    let mut places = Vec::new();
    for side in [1.0, -1.0] {
        for front in [true, false] {
            places.push(crest_skin(side * POST_ALONG, 0.008, front));
        }
    }
    for (x, z) in [(0.10, 0.11), (-0.10, 0.11), (0.10, -0.11), (-0.10, -0.11)] {
        places.push((DVec3::new(x, SEAT_TOP - 0.039, z), -DVec3::Y));
    }
    places
}

/// A domed head with a slot; the slot turns with the screw's number, as a careful hand never lines them up.
fn screw(place: DVec3, direction: DVec3, number: usize, density: Density) -> Vec<Surface> {
    const RADIUS: f64 = 0.0064;
    let spine = move |t: f64| place + direction * t;
    let helper = if direction.y.abs() > 0.5 {
        DVec3::X
    } else {
        DVec3::Y
    };
    let frame = Frame::on(&spine, 0.0, helper);
    let (rings, columns) = (density.steps(15, 4), density.steps(48, 12));
    let slot = turn(0.07 + 0.13 * number as f64);
    let height = |section: DVec2| {
        let reach = section.length() / RADIUS;
        let across = section.perp_dot(slot).abs();
        let dome = 0.0012 + 0.0019 * (1.0 - reach * reach).max(0.0).sqrt();
        dome - 0.0014
            * (1.0 - smoothstep(0.00055, 0.00095, across))
            * (1.0 - smoothstep(0.93, 1.0, reach))
    };
    let head = Grid::new(rings + 1, columns + 1, Closing::Columns, |row, column| {
        let reach = 1.0 - row as f64 / rings as f64;
        let section = turn(column as f64 / columns as f64) * (RADIUS * reach);
        frame.place(section) + frame.along * height(section)
    });
    let wall = Grid::new(2, columns + 1, Closing::Columns, |row, column| {
        let section = turn(column as f64 / columns as f64) * RADIUS;
        frame.place(section) + frame.along * (0.0012 * row as f64 - 0.0004 * (1 - row) as f64)
    });
    let flat = |_: usize, _: usize| DVec2::ZERO;
    let base = Frame {
        origin: frame.place(DVec2::ZERO) - frame.along * 0.0004,
        ..frame
    };
    vec![
        head.surface(flat),
        wall.surface(flat),
        lid(&base, &circle(RADIUS, columns), false),
    ]
}
