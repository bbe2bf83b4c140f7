//! Surfaces of the chair: grids of points with normals and flat coordinates in metres, swept along a spine.
//!
//! Triangles turn counter-clockwise seen from outside. Every grid keeps its seam as two columns, so a surface never
//! needs a texture coordinate twice; a hard edge is the border between two grids.

use std::ops::RangeInclusive;

use glam::{DVec2, DVec3};

use super::exact::{cos, sin};

/// A piece of skin that is unrolled as one chart.
#[derive(Debug, Clone, Default)]
pub(super) struct Surface {
    pub(super) positions: Vec<DVec3>,
    pub(super) normals: Vec<DVec3>,
    /// Where the points lie when the surface is unrolled, in metres, u right and v up seen from outside.
    pub(super) flat: Vec<DVec2>,
    pub(super) triangles: Vec<[u32; 3]>,
}

impl Surface {
    /// Adds another grid to the same chart; the two share no vertex, so the border between them is a hard edge.
    pub(super) fn append(&mut self, other: Surface) {
        let base = self.positions.len() as u32;
        self.positions.extend(other.positions);
        self.normals.extend(other.normals);
        self.flat.extend(other.flat);
        self.triangles
            .extend(other.triangles.iter().map(|t| t.map(|index| index + base)));
    }

    /// Drops points that no triangle uses, such as the spare corner of a pole.
    pub(super) fn compacted(self) -> Surface {
        let mut place = vec![u32::MAX; self.positions.len()];
        let mut kept = Surface::default();
        for triangle in &self.triangles {
            let corners = triangle.map(|index| {
                let slot = &mut place[index as usize];
                if *slot == u32::MAX {
                    *slot = kept.positions.len() as u32;
                    kept.positions.push(self.positions[index as usize]);
                    kept.normals.push(self.normals[index as usize]);
                    kept.flat.push(self.flat[index as usize]);
                }
                *slot
            });
            kept.triangles.push(corners);
        }
        kept
    }

    /// Six times the signed volume below the surface; the sum over a closed part is positive when it faces outwards.
    #[cfg(test)]
    pub(super) fn volume6(&self) -> f64 {
        let corner = |index: u32| self.positions[index as usize];
        self.triangles
            .iter()
            .map(|t| corner(t[0]).dot(corner(t[1]).cross(corner(t[2]))))
            .sum()
    }
}

/// Which borders of a grid meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closing {
    /// All four borders are free.
    Open,
    /// The first and the last column are the same points.
    Columns,
    /// The first and the last row are the same points, the columns too.
    Both,
}

/// Points in rows and columns; `column direction × row direction` points outwards.
#[derive(Debug, Clone)]
pub(super) struct Grid {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) closing: Closing,
    pub(super) points: Vec<DVec3>,
}

impl Grid {
    /// Samples `point(row, column)`.
    pub(super) fn new(
        rows: usize,
        columns: usize,
        closing: Closing,
        point: impl Fn(usize, usize) -> DVec3,
    ) -> Grid {
        let points = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
        let points = points.map(|(row, column)| point(row, column)).collect();
        Grid {
            rows,
            columns,
            closing,
            points,
        }
    }

    /// The whole grid as a surface.
    pub(super) fn surface(&self, flat: impl Fn(usize, usize) -> DVec2) -> Surface {
        self.patch(0..=self.rows - 1, 0..=self.columns - 1, flat)
    }

    /// Some rows and columns as a surface of their own; the normals go on smoothly over the cut.
    pub(super) fn patch(
        &self,
        rows: RangeInclusive<usize>,
        columns: RangeInclusive<usize>,
        flat: impl Fn(usize, usize) -> DVec2,
    ) -> Surface {
        let mut surface = Surface::default();
        for row in rows.clone() {
            for column in columns.clone() {
                surface.positions.push(self.at(row, column));
                surface.normals.push(self.normal(row, column));
                surface.flat.push(flat(row, column));
            }
        }
        let width = (columns.end() - columns.start() + 1) as u32;
        for row in 0..(rows.end() - rows.start()) as u32 {
            for column in 0..width - 1 {
                let corner = row * width + column;
                let (right, above, far) = (corner + 1, corner + width, corner + width + 1);
                // Alternating diagonals keep the skin even where it twists.
                let split = if (row + column) % 2 == 0 {
                    [[corner, right, far], [corner, far, above]]
                } else {
                    [[corner, right, above], [right, far, above]]
                };
                for triangle in split {
                    push_unless_empty(&mut surface, triangle);
                }
            }
        }
        surface.compacted()
    }

    fn at(&self, row: usize, column: usize) -> DVec3 {
        self.points[row * self.columns + column]
    }

    fn normal(&self, row: usize, column: usize) -> DVec3 {
        let (above, below) = neighbours(row, self.rows, self.closing == Closing::Both);
        let across = self.across(row, column);
        let along = self.at(above, column) - self.at(below, column);
        let normal = across.cross(along);
        if across.length_squared() > 1e-14 && normal.length_squared() > 1e-24 {
            return normal.normalize();
        }
        // All points of this row are one: a pole. The neighbouring ring tells where it looks.
        let ring = if row == 0 { 1 } else { row - 1 };
        let sum: DVec3 = (0..self.columns - 1)
            .map(|column| {
                let along = (self.at(ring, column) - self.at(row, column))
                    * if row == 0 { 1.0 } else { -1.0 };
                self.across(ring, column).cross(along)
            })
            .sum();
        sum.normalize()
    }

    fn across(&self, row: usize, column: usize) -> DVec3 {
        let (right, left) = neighbours(column, self.columns, self.closing != Closing::Open);
        self.at(row, right) - self.at(row, left)
    }
}

/// The indices after and before; over the seam when the direction is closed.
fn neighbours(index: usize, count: usize, closed: bool) -> (usize, usize) {
    if closed {
        let next = if index + 1 >= count { 1 } else { index + 1 };
        let previous = if index == 0 { count - 2 } else { index - 1 };
        (next, previous)
    } else {
        ((index + 1).min(count - 1), index.saturating_sub(1))
    }
}

fn push_unless_empty(surface: &mut Surface, triangle: [u32; 3]) {
    let [a, b, c] = triangle.map(|index| surface.positions[index as usize]);
    if (b - a).cross(c - a).length_squared() > 1e-22 {
        surface.triangles.push(triangle);
    }
}

/// A place on a spine: `side × up = along`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub(super) origin: DVec3,
    pub(super) side: DVec3,
    pub(super) up: DVec3,
    pub(super) along: DVec3,
}

impl Frame {
    /// The frame at `t` of a spine, its `side` as near to `side` as the direction allows.
    pub(super) fn on(spine: &dyn Fn(f64) -> DVec3, t: f64, side: DVec3) -> Frame {
        const STEP: f64 = 1e-4;
        let along = (spine(t + STEP) - spine(t - STEP)).normalize();
        let side = (side - along * along.dot(side)).normalize();
        Frame {
            origin: spine(t),
            side,
            up: along.cross(side),
            along,
        }
    }

    /// A point of the section's plane.
    pub(super) fn place(&self, section: DVec2) -> DVec3 {
        self.origin + self.side * section.x + self.up * section.y
    }
}

/// A flat lid over a convex section of the frame, looking along the frame or against it.
pub(super) fn lid(frame: &Frame, section: &[DVec2], forwards: bool) -> Surface {
    let mut surface = Surface::default();
    let centre = section.iter().sum::<DVec2>() / section.len() as f64;
    for corner in std::iter::once(&centre).chain(section) {
        surface.positions.push(frame.place(*corner));
        surface
            .normals
            .push(if forwards { frame.along } else { -frame.along });
        surface.flat.push(DVec2::new(
            if forwards { corner.x } else { -corner.x },
            corner.y,
        ));
    }
    let count = section.len() as u32;
    for corner in 0..count {
        let (this, next) = (1 + corner, 1 + (corner + 1) % count);
        push_unless_empty(
            &mut surface,
            if forwards {
                [0, this, next]
            } else {
                [0, next, this]
            },
        );
    }
    surface
}

/// The corners of a circle.
pub(super) fn circle(radius: f64, columns: usize) -> Vec<DVec2> {
    (0..columns)
        .map(|column| turn(column as f64 / columns as f64) * radius)
        .collect()
}

/// How many columns the sides of a rounded rectangle get.
#[derive(Debug, Clone, Copy)]
pub(super) struct SectionColumns {
    pub(super) right: usize,
    pub(super) top: usize,
    pub(super) left: usize,
    pub(super) bottom: usize,
    pub(super) corner: usize,
}

impl SectionColumns {
    /// Steps around the whole section.
    pub(super) fn total(&self) -> usize {
        self.right + self.top + self.left + self.bottom + 4 * self.corner
    }

    /// The columns of the left side.
    pub(super) fn left_side(&self) -> RangeInclusive<usize> {
        let first = self.right + self.top + 2 * self.corner;
        first..=first + self.left
    }

    /// A rounded rectangle around the origin, counter-clockwise from its right side; the first corner comes again last.
    pub(super) fn rounded_rectangle(&self, size: DVec2, radius: f64) -> Vec<DVec2> {
        let half = size / 2.0 - DVec2::splat(radius);
        let mut points = Vec::with_capacity(self.total() + 1);
        let quarters = [
            (self.right, DVec2::new(half.x, -half.y), 0.0),
            (self.top, DVec2::new(half.x, half.y), 0.25),
            (self.left, DVec2::new(-half.x, half.y), 0.5),
            (self.bottom, DVec2::new(-half.x, -half.y), 0.75),
        ];
        for (quarter, &(steps, from, angle)) in quarters.iter().enumerate() {
            let to = quarters[(quarter + 1) % 4].1;
            let out = turn(angle) * radius;
            points.extend((0..steps).map(|k| from.lerp(to, k as f64 / steps as f64) + out));
            points.extend(
                (0..self.corner)
                    .map(|k| to + turn(angle + 0.25 * k as f64 / self.corner as f64) * radius),
            );
        }
        points.push(points[0]);
        points
    }
}

/// The unit vector at a fraction of a turn.
pub(super) fn turn(fraction: f64) -> DVec2 {
    let angle = fraction * 2.0 * std::f64::consts::PI;
    DVec2::new(cos(angle), sin(angle))
}
