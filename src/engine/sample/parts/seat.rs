//! The wooden seat: a saddled board with a rounded rim, a fillet below it and a bevelled underside.

use glam::{DVec2, DVec3};

use super::super::exact::{bump, mix, smoothstep};
use super::super::surface::{Closing, Grid, Surface, turn};
use super::{Density, Grain, Group, Part, Stuff};

/// Upper face of the seat at its rim.
pub(super) const SEAT_TOP: f64 = 0.456;

/// A rounded trapezoid in plan: x to the left side of the sitter, y is the chair's z.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outline {
    pub(super) half: DVec2,
    pub(super) centre_z: f64,
    /// How much wider the front is than the middle, as a fraction.
    pub(super) taper: f64,
}

impl Outline {
    /// The point at a fraction of a turn from +x to +z. The curve is `x⁴ + z⁴ = 1`, which needs square roots only.
    pub(super) fn at(&self, fraction: f64) -> DVec2 {
        let direction = turn(fraction);
        let squares = direction * direction;
        let reach = 1.0 / squares.dot(squares).sqrt().sqrt();
        let unit = direction * reach;
        DVec2::new(
            unit.x * self.half.x * (1.0 + self.taper * unit.y),
            unit.y * self.half.y,
        )
    }

    /// The point moved outwards by `out`, on the floor plane of the chair.
    pub(super) fn offset(&self, fraction: f64, out: f64) -> DVec2 {
        const STEP: f64 = 1e-4;
        let along = (self.at(fraction + STEP) - self.at(fraction - STEP)).normalize();
        self.at(fraction) + DVec2::new(along.y, -along.x) * out + DVec2::new(0.0, self.centre_z)
    }

    /// Lengths along the outline up to each column.
    pub(super) fn lengths(&self, columns: usize) -> Vec<f64> {
        let mut total = 0.0;
        let mut lengths = vec![0.0];
        for column in 0..columns {
            let at = |column: usize| self.at(column as f64 / columns as f64);
            total += at(column).distance(at(column + 1));
            lengths.push(total);
        }
        lengths
    }
}

const OUTLINE: Outline = Outline {
    half: DVec2::new(0.216, 0.208),
    centre_z: 0.0,
    taper: 0.075,
};

/// Distance inwards of the outline and height, from the top face over the rim.
fn upper_rim(step: f64) -> DVec2 {
    let quarter = turn(0.25 - 0.25 * step);
    DVec2::new(
        -0.0125 + 0.0125 * quarter.x,
        SEAT_TOP - 0.0125 + 0.0125 * quarter.y,
    )
}

/// The fillet, the side and the bevel below, as runs with hard edges between them.
fn lower_rim() -> [[DVec2; 2]; 3] {
    let [a, b, c, d] = [
        DVec2::new(0.0, SEAT_TOP - 0.0125),
        DVec2::new(-0.0030, SEAT_TOP - 0.0128),
        DVec2::new(-0.0045, SEAT_TOP - 0.0240),
        DVec2::new(-0.0380, SEAT_TOP - 0.0390),
    ];
    [[a, b], [b, c], [c, d]]
}

pub(super) fn part(density: Density) -> Part {
    let columns = density.steps(208, 24) / 4 * 4;
    let disc_rows = density.steps(44, 6);
    let rim_rows = density.steps(14, 3);
    let fraction = |column: usize| column as f64 / columns as f64;
    let place = |column: usize, rim: DVec2| {
        let plan = OUTLINE.offset(fraction(column), rim.x);
        DVec3::new(plan.x, rim.y, plan.y)
    };
    let upper = Grid::new(
        disc_rows + rim_rows,
        columns + 1,
        Closing::Columns,
        |row, column| {
            if row >= disc_rows {
                return place(
                    column,
                    upper_rim((row - disc_rows + 1) as f64 / rim_rows as f64),
                );
            }
            let reach = row as f64 / disc_rows as f64;
            let edge = place(column, upper_rim(0.0));
            let centre = DVec3::new(0.0, SEAT_TOP, OUTLINE.centre_z);
            let flat = centre.lerp(
                edge,
                1.0 - (1.0 - reach) * (1.0 - reach) * 0.35 - (1.0 - reach) * 0.65,
            );
            flat - DVec3::Y * saddle(flat, reach)
        },
    );
    let top = upper.patch(0..=disc_rows, 0..=columns, |row, column| {
        let point = upper.points[row * (columns + 1) + column];
        DVec2::new(point.x, -point.z)
    });
    let mut charts = vec![top];
    charts.extend(rim_charts(&upper, disc_rows, columns, density, &place));
    let grain = Grain::new(
        DVec3::new(0.0, SEAT_TOP, 0.0),
        DVec3::Z,
        DVec2::new(0.020, 0.085),
    );
    Part::new(
        Group::Seat,
        "Seat",
        Stuff::Wood,
        DVec3::new(0.0, SEAT_TOP, 0.0),
    )
    .with(charts, grain, 1.0)
    .with([underside(columns, density, &place)], grain, 0.6)
}

/// The hollow a sitter leaves, deepest behind the middle, with a low ridge between the legs.
fn saddle(point: DVec3, reach: f64) -> f64 {
    let hollow = 0.0075 * (1.0 - smoothstep(0.15, 0.96, reach));
    let ridge = 0.0030 * bump(point.x, 0.06) * smoothstep(-0.02, 0.16, point.z);
    hollow - ridge * (1.0 - smoothstep(0.7, 1.0, reach))
}

/// The rim in four strips: the rounding, then the runs below it.
fn rim_charts(
    upper: &Grid,
    disc_rows: usize,
    columns: usize,
    density: Density,
    place: &dyn Fn(usize, DVec2) -> DVec3,
) -> Vec<Surface> {
    let lengths = OUTLINE.lengths(columns);
    let mut strips = Vec::new();
    for quarter in 0..4 {
        let range = quarter * columns / 4..=(quarter + 1) * columns / 4;
        let rounding_rows = (upper.rows - 1 - disc_rows) as f64;
        let start = lengths[*range.start()];
        let mut strip = upper.patch(disc_rows..=upper.rows - 1, range.clone(), |row, column| {
            DVec2::new(
                lengths[column] - start,
                (row - disc_rows) as f64 / rounding_rows * 0.0196,
            )
        });
        let mut height = 0.0196;
        for [from, to] in lower_rim() {
            let length = from.distance(to);
            let rows = density.steps((length * 300.0) as usize, 1).max(1);
            let grid = Grid::new(rows + 1, columns + 1, Closing::Columns, |row, column| {
                place(column, from.lerp(to, row as f64 / rows as f64))
            });
            strip.append(grid.patch(0..=rows, range.clone(), |row, column| {
                DVec2::new(
                    lengths[column] - start,
                    height + row as f64 / rows as f64 * length,
                )
            }));
            height += length;
        }
        strips.push(strip);
    }
    strips
}

fn underside(columns: usize, density: Density, place: &dyn Fn(usize, DVec2) -> DVec3) -> Surface {
    let rows = density.steps(18, 3);
    let [_, _, [_, edge]] = lower_rim();
    let centre = DVec3::new(0.0, edge.y, OUTLINE.centre_z);
    let grid = Grid::new(rows + 1, columns + 1, Closing::Columns, |row, column| {
        let reach = mix(1.0, 0.0, row as f64 / rows as f64);
        centre.lerp(place(column, edge), reach)
    });
    grid.surface(|row, column| {
        let point = grid.points[row * (columns + 1) + column];
        DVec2::new(point.x, point.z)
    })
}
