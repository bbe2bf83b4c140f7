//! Turned parts: a profile of tapers, beads, coves and vases on the lathe, and the surface it leaves along a spine.
//!
//! A profile is a list of smooth runs; where two runs meet is a hard edge. Rows are spent by length, with a minimum for
//! small ornaments, which is how a scan or a CAD export would be dense there.

use glam::{DVec2, DVec3};

use super::exact::{cos, mix, sin};
use super::surface::{Closing, Frame, Grid, Surface, circle, lid, turn};
use std::f64::consts::PI;

/// Places along the axis and radii there, in metres.
#[derive(Debug, Clone)]
pub(super) struct Profile {
    runs: Vec<Vec<DVec2>>,
    /// Rows for each metre of profile length.
    rows_per_metre: f64,
    /// Rows that an ornament gets at least.
    rows_of_ornament: usize,
}

impl Profile {
    /// Starts at `along` with `radius`.
    pub(super) fn new(along: f64, radius: f64, rows_per_metre: f64) -> Profile {
        let rows_of_ornament = ((rows_per_metre / 70.0) as usize).clamp(2, 12);
        Profile {
            runs: vec![vec![DVec2::new(along, radius)]],
            rows_per_metre,
            rows_of_ornament,
        }
    }

    fn end(&self) -> DVec2 {
        *self
            .runs
            .last()
            .and_then(|run| run.last())
            .expect("a profile starts with a point")
    }

    /// Makes the place reached so far a hard edge.
    pub(super) fn crease(mut self) -> Profile {
        let end = self.end();
        self.runs.push(vec![end]);
        self
    }

    /// A straight step or taper to `along` and `radius`.
    pub(super) fn taper(self, along: f64, radius: f64) -> Profile {
        let from = self.end();
        let to = DVec2::new(along, radius);
        self.piece(1, |s| from + (to - from) * s)
    }

    /// A smooth swell: leaves and arrives parallel to the axis.
    pub(super) fn swell(self, along: f64, radius: f64) -> Profile {
        let from = self.end();
        let least = self.rows_of_ornament;
        self.piece(least, |s| {
            DVec2::new(
                mix(from.x, along, s),
                mix(from.y, radius, 0.5 - 0.5 * cos(PI * s)),
            )
        })
    }

    /// A half-round ring of the given length that stands out by `height`, between hard edges.
    pub(super) fn bead(self, length: f64, height: f64) -> Profile {
        self.crease().arch(length, height).crease()
    }

    /// A half-round hollow of the given length, `depth` deep, between hard edges.
    pub(super) fn cove(self, length: f64, depth: f64) -> Profile {
        self.crease().arch(length, -depth).crease()
    }

    /// A shoulder: a step to another radius with hard edges.
    pub(super) fn shoulder(self, radius: f64) -> Profile {
        let along = self.end().x;
        self.crease().taper(along + 0.0002, radius).crease()
    }

    fn arch(self, length: f64, height: f64) -> Profile {
        let from = self.end();
        let least = self.rows_of_ornament;
        self.piece(least, |s| {
            from + DVec2::new(length * (0.5 - 0.5 * cos(PI * s)), height * sin(PI * s))
        })
    }

    fn piece(mut self, least: usize, curve: impl Fn(f64) -> DVec2) -> Profile {
        let length: f64 = (0..16)
            .map(|k| curve(f64::from(k) / 16.0).distance(curve(f64::from(k + 1) / 16.0)))
            .sum();
        let rows = ((length * self.rows_per_metre) as usize).max(least);
        let run = self.runs.last_mut().expect("a profile has a run");
        run.extend((1..=rows).map(|row| curve(row as f64 / rows as f64)));
        self
    }

    /// The surface this profile leaves around the straight or bent spine from `t = 0` to `t = 1`, its ends closed by
    /// flat lids, as charts: the mantle and the two lids.
    pub(super) fn turned(
        &self,
        spine: &dyn Fn(f64) -> DVec3,
        columns: usize,
        side: DVec3,
    ) -> Vec<Surface> {
        let length = spine_length(spine);
        let frame = |along: f64| Frame::on(spine, along / length, side);
        let width = self.mean_radius() * 2.0 * PI;
        let mut mantle = Surface::default();
        let mut height = 0.0;
        for run in self.runs.iter().filter(|run| run.len() > 1) {
            let mut heights = vec![height];
            for pair in run.windows(2) {
                height += pair[0].distance(pair[1]);
                heights.push(height);
            }
            let frames: Vec<Frame> = run.iter().map(|point| frame(point.x)).collect();
            let grid = Grid::new(run.len(), columns + 1, Closing::Columns, |row, column| {
                frames[row].place(turn(column as f64 / columns as f64) * run[row].y)
            });
            mantle.append(grid.surface(|row, column| {
                DVec2::new(width * column as f64 / columns as f64, heights[row])
            }));
        }
        let (first, last) = (self.runs[0][0], self.end());
        let mut charts = vec![mantle];
        for (end, forwards) in [(first, false), (last, true)] {
            if end.y > 1e-6 {
                charts.push(lid(&frame(end.x), &circle(end.y, columns), forwards));
            }
        }
        charts
    }

    fn mean_radius(&self) -> f64 {
        let points: Vec<&DVec2> = self.runs.iter().flatten().collect();
        points.iter().map(|point| point.y).sum::<f64>() / points.len() as f64
    }
}

/// The length of a spine from 0 to 1.
pub(super) fn spine_length(spine: &dyn Fn(f64) -> DVec3) -> f64 {
    (0..64)
        .map(|k| spine(f64::from(k) / 64.0).distance(spine(f64::from(k + 1) / 64.0)))
        .sum()
}
