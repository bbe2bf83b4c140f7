//! The chair as parts: measures in metres, Y up, the front towards +Z, standing on the origin.
//!
//! A part becomes a mesh with a node of its own; its charts are unrolled side by side in the texture of its stuff.

mod back;
mod base;
mod hardware;
mod seat;
mod upholstery;

use glam::{DVec2, DVec3};

use super::surface::Surface;

/// What a part is made of; each stuff is one material.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stuff {
    Wood,
    Fabric,
    Brass,
}

/// The branch of the node tree a part hangs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Group {
    Base,
    Seat,
    Back,
    Upholstery,
    Hardware,
}

impl Group {
    pub(super) const ALL: [Group; 5] = [
        Group::Base,
        Group::Seat,
        Group::Back,
        Group::Upholstery,
        Group::Hardware,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Group::Base => "Base",
            Group::Seat => "Seat",
            Group::Back => "Back",
            Group::Upholstery => "Upholstery",
            Group::Hardware => "Hardware",
        }
    }
}

/// Where a piece of timber lay in its tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grain {
    /// A point of the pith, the centre of the year rings.
    pub(super) pith: DVec3,
    /// The direction the tree grew in.
    pub(super) along: DVec3,
    /// A direction across.
    pub(super) across: DVec3,
}

impl Grain {
    /// Timber with its grain along `along`, cut `offset` (in metres, across) from the pith.
    pub(super) fn new(place: DVec3, along: DVec3, offset: DVec2) -> Grain {
        let along = along.normalize();
        let helper = if along.x.abs() < 0.8 {
            DVec3::X
        } else {
            DVec3::Y
        };
        let across = (helper - along * along.dot(helper)).normalize();
        let pith = place + across * offset.x + along.cross(across) * offset.y;
        Grain {
            pith,
            along,
            across,
        }
    }

    /// A point in the coordinates of the tree: across, across, along.
    pub(super) fn coordinates(&self, point: DVec3) -> DVec3 {
        let from_pith = point - self.pith;
        DVec3::new(
            from_pith.dot(self.across),
            from_pith.dot(self.along.cross(self.across)),
            from_pith.dot(self.along),
        )
    }
}

/// A surface that is unrolled in one piece.
#[derive(Debug, Clone)]
pub(super) struct Chart {
    pub(super) surface: Surface,
    pub(super) grain: Grain,
    /// Texels relative to the other charts of the texture; hidden faces get fewer.
    pub(super) share: f64,
}

/// One mesh of the chair.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) group: Group,
    pub(super) name: String,
    pub(super) stuff: Stuff,
    /// Where the part's own origin lies in the chair.
    pub(super) origin: DVec3,
    pub(super) charts: Vec<Chart>,
}

impl Part {
    fn new(group: Group, name: &str, stuff: Stuff, origin: DVec3) -> Part {
        Part {
            group,
            name: name.to_owned(),
            stuff,
            origin,
            charts: Vec::new(),
        }
    }

    fn with(
        mut self,
        surfaces: impl IntoIterator<Item = Surface>,
        grain: Grain,
        share: f64,
    ) -> Part {
        self.charts
            .extend(surfaces.into_iter().map(|surface| Chart {
                surface,
                grain,
                share,
            }));
        self
    }

    /// The mantle in full resolution, the lids (mostly inside another part) in half.
    fn with_turned(self, surfaces: Vec<Surface>, grain: Grain) -> Part {
        let mut surfaces = surfaces.into_iter();
        let mantle = surfaces.next();
        self.with(mantle, grain, 1.0).with(surfaces, grain, 0.5)
    }
}

/// How densely surfaces are sampled; 1 is the full chair.
#[derive(Debug, Clone, Copy)]
pub(super) struct Density(pub(super) f64);

impl Density {
    /// `full` steps of the full chair, but never fewer than `least`.
    fn steps(self, full: usize, least: usize) -> usize {
        ((full as f64 * self.0) as usize).max(least)
    }

    /// Rows a metre on the lathe.
    fn rows_per_metre(self) -> f64 {
        390.0 * self.0
    }
}

/// All parts in the order they are written.
pub(super) fn chair(density: Density) -> Vec<Part> {
    let mut parts = base::parts(density);
    parts.push(seat::part(density));
    parts.extend(back::parts(density));
    parts.extend(upholstery::parts(density));
    parts.extend(hardware::parts(density));
    parts
}

/// A straight spine.
fn straight(from: DVec3, to: DVec3) -> impl Fn(f64) -> DVec3 {
    move |t| from + (to - from) * t
}

/// A different cut of timber for each part.
fn cut(number: usize) -> DVec2 {
    const CUTS: [(f64, f64); 8] = [
        (0.061, 0.018),
        (-0.052, 0.031),
        (0.044, -0.047),
        (0.071, 0.009),
        (-0.066, -0.022),
        (0.038, 0.055),
        (-0.081, 0.012),
        (0.057, -0.036),
    ];
    let (x, y) = CUTS[number % CUTS.len()];
    DVec2::new(x, y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_turned_inside_in() {
        for part in chair(Density(0.2)) {
            let volume: f64 = part
                .charts
                .iter()
                .map(|chart| chart.surface.volume6())
                .sum();
            assert!(volume > 0.0, "{} is inside out: {volume}", part.name);
        }
    }

    #[test]
    fn normals_look_the_way_their_triangles_do() {
        for part in chair(Density(0.4)) {
            for surface in part.charts.iter().map(|chart| &chart.surface) {
                for triangle in &surface.triangles {
                    let [a, b, c] = triangle.map(|index| surface.positions[index as usize]);
                    let face = (b - a).cross(c - a).normalize();
                    for index in triangle {
                        let normal = surface.normals[*index as usize];
                        assert!((normal.length() - 1.0).abs() < 1e-9, "{}", part.name);
                        assert!(
                            face.dot(normal) > 0.0,
                            "{}: {face} {normal} at {a}",
                            part.name
                        );
                    }
                }
            }
        }
    }
}
