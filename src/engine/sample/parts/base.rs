//! What the chair stands on: four turned legs with brass shoes, two side stretchers and one between them.

use glam::DVec3;

use super::super::turning::{Profile, spine_length};
use super::{Density, Grain, Group, Part, Stuff, cut, straight};

/// Height of the stretchers' joints above the floor.
const JOINT_HEIGHT: f64 = 0.212;

/// A leg from the floor into the seat.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leg {
    pub(super) name: &'static str,
    foot: DVec3,
    top: DVec3,
}

/// The four legs, splayed outwards.
pub(super) fn legs() -> [Leg; 4] {
    let leg = |name, side: f64, foot: (f64, f64), top: (f64, f64)| Leg {
        name,
        foot: DVec3::new(side * foot.0, 0.0, foot.1),
        top: DVec3::new(side * top.0, 0.434, top.1),
    };
    [
        leg("Leg front left", 1.0, (0.206, 0.198), (0.158, 0.142)),
        leg("Leg front right", -1.0, (0.206, 0.198), (0.158, 0.142)),
        leg("Leg back left", 1.0, (0.182, -0.226), (0.138, -0.140)),
        leg("Leg back right", -1.0, (0.182, -0.226), (0.138, -0.140)),
    ]
}

impl Leg {
    /// The leg's axis, 0 on the floor and 1 inside the seat.
    pub(super) fn spine(&self) -> impl Fn(f64) -> DVec3 + use<> {
        straight(self.foot, self.top)
    }

    fn at_height(&self, height: f64) -> DVec3 {
        self.foot.lerp(self.top, height / self.top.y)
    }
}

pub(super) fn parts(density: Density) -> Vec<Part> {
    let legs = legs();
    let mut parts: Vec<Part> = legs
        .iter()
        .enumerate()
        .map(|(number, leg)| turned_leg(leg, number, density))
        .collect();
    let [front_left, front_right, back_left, back_right] = legs;
    let joint = |leg: &Leg| leg.at_height(JOINT_HEIGHT);
    let left = (joint(&front_left), joint(&back_left));
    let right = (joint(&front_right), joint(&back_right));
    parts.push(stretcher("Stretcher left", left, 0, density));
    parts.push(stretcher("Stretcher right", right, 1, density));
    let middle = (left.0.lerp(left.1, 0.5), right.0.lerp(right.1, 0.5));
    parts.push(stretcher("Stretcher middle", middle, 2, density));
    parts
}

fn turned_leg(leg: &Leg, number: usize, density: Density) -> Part {
    let spine = leg.spine();
    let length = spine_length(&spine);
    let profile = Profile::new(0.004, 0.0105, density.rows_per_metre())
        .taper(0.048, 0.0128)
        .swell(0.062, 0.0108)
        .bead(0.0075, 0.0050)
        .shoulder(0.0098)
        .taper(0.0725, 0.0098)
        .bead(0.0125, 0.0088)
        .shoulder(0.0100)
        .taper(0.0885, 0.0100)
        .crease()
        .swell(0.138, 0.0215)
        .swell(0.176, 0.0130)
        .bead(0.0055, 0.0042)
        .shoulder(0.0185)
        .crease()
        .taper(0.200, 0.0192)
        .cove(0.0040, 0.0022)
        .taper(0.226, 0.0192)
        .cove(0.0040, 0.0022)
        .taper(0.247, 0.0185)
        .shoulder(0.0128)
        .bead(0.0070, 0.0060)
        .cove(0.0110, 0.0022)
        .bead(0.0070, 0.0060)
        .shoulder(0.0120)
        .crease()
        .swell(0.345, 0.0240)
        .swell(0.398, 0.0165)
        .bead(0.0060, 0.0042)
        .shoulder(0.0150)
        .taper(length - 0.002, 0.0142);
    let grain = Grain::new(leg.foot, leg.top - leg.foot, cut(number));
    let surfaces = profile.turned(&spine, density.steps(48, 8), DVec3::X);
    Part::new(Group::Base, leg.name, Stuff::Wood, leg.foot).with_turned(surfaces, grain)
}

fn stretcher(name: &str, (from, to): (DVec3, DVec3), number: usize, density: Density) -> Part {
    let spine = straight(from, to);
    let length = from.distance(to);
    let middle = length / 2.0;
    let profile = Profile::new(0.004, 0.0078, density.rows_per_metre())
        .swell(middle - 0.048, 0.0118)
        .bead(0.0060, 0.0040)
        .shoulder(0.0105)
        .crease()
        .swell(middle, 0.0165)
        .swell(middle + 0.042, 0.0105)
        .shoulder(0.0118)
        .bead(0.0060, 0.0040)
        .swell(length - 0.004, 0.0078);
    let grain = Grain::new(from, to - from, cut(number + 4));
    let surfaces = profile.turned(&spine, density.steps(40, 8), DVec3::Y);
    Part::new(Group::Base, name, Stuff::Wood, from.lerp(to, 0.5)).with_turned(surfaces, grain)
}
