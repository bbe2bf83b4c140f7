//! Packs charts into the square of the texture, all at one scale, with a distance between them.
//!
//! Each chart is turned so that its box is smallest, drawn into a coarse grid with every cell that it or its padding touches,
//! and placed, large charts first, at the lowest free place of the square in one of four directions (bottom-left packing of
//! masks, as in Lévy et al. 2002, with the whole mask instead of its horizon). The scale is searched: the largest at which
//! all charts fit. Charts too many for that are packed by their boxes, in rows.

mod grid;
mod mask;
mod rows;

use glam::DVec2;
use rayon::prelude::*;

use grid::CellGrid;
use mask::Mask;

/// More charts than this are packed by their boxes.
const MOST_MASKS: usize = 6000;

/// Cells of the grid for the width of a chart of mean size, and the limits of the grid's side.
const CELLS_A_CHART: f64 = 20.0;
const SIDES: (f64, f64) = (128.0, 512.0);

/// The share of the square that charts fill at the first scale that is tried.
const FIRST_FILL: f64 = 0.8;
/// Scales in steps down to the first that fits, and the number of steps.
const STEP_DOWN: f64 = 0.93;
const STEPS_DOWN: usize = 30;
/// Halvings of the last step.
const REFINEMENTS: usize = 2;

/// A chart as the packer sees it: triangles in the plane.
pub(super) struct FlatShape {
    /// In the units of the mesh; the packer moves, turns and scales them.
    pub(super) uvs: Vec<DVec2>,
    pub(super) triangles: Vec<[u32; 3]>,
    pub(super) area: f64,
}

/// Where a chart stands: its quarter turns, and where the corner of its box is, as fractions of the square.
#[derive(Debug, Clone, Copy)]
struct Place {
    quarter_turns: usize,
    corner: DVec2,
}

struct Arrangement {
    scale: f64,
    places: Vec<Place>,
}

/// Moves the shapes into the unit square. `padding` is half the distance between two charts, as a fraction of the square.
pub(super) fn pack(shapes: &mut [FlatShape], padding: f64) {
    if shapes.is_empty() {
        return;
    }
    shapes.par_iter_mut().for_each(turn_upright);
    let packing = match shapes.len() <= MOST_MASKS {
        true => pack_masks(shapes, padding).unwrap_or_else(|| rows::pack(shapes, padding)),
        false => rows::pack(shapes, padding),
    };
    for (shape, place) in shapes.iter_mut().zip(&packing.places) {
        let size = size_of(&shape.uvs);
        for uv in &mut shape.uvs {
            let turned = quarter_turned(*uv, size, place.quarter_turns);
            *uv = (turned * packing.scale + place.corner).clamp(DVec2::ZERO, DVec2::ONE);
        }
    }
}

/// The size of a shape whose box starts at the origin.
fn size_of(uvs: &[DVec2]) -> DVec2 {
    uvs.iter().fold(DVec2::ZERO, |high, uv| high.max(*uv))
}

/// The point after quarter turns of a box of this size, whose corner returns to the origin.
fn quarter_turned(uv: DVec2, size: DVec2, quarter_turns: usize) -> DVec2 {
    match quarter_turns {
        0 => uv,
        1 => DVec2::new(size.y - uv.y, uv.x),
        2 => size - uv,
        _ => DVec2::new(uv.y, size.x - uv.x),
    }
}

/// Turns the shape so that its box is smallest and lies, and moves the box to the origin. One side of the smallest box lies
/// along an edge of the hull; directions along a half of the edges and evenly spread ones come close enough.
fn turn_upright(shape: &mut FlatShape) {
    let mut best = (f64::INFINITY, DVec2::X, DVec2::ZERO);
    for direction in directions(shape) {
        let (mut low, mut high) = (DVec2::INFINITY, DVec2::NEG_INFINITY);
        for uv in &shape.uvs {
            let turned = direction.rotate(*uv);
            (low, high) = (low.min(turned), high.max(turned));
        }
        let size = high - low;
        let area = size.x * size.y;
        if area < best.0 * (1.0 - 1e-9) {
            best = (area, direction, low);
        }
    }
    let (_, direction, low) = best;
    for uv in &mut shape.uvs {
        *uv = (direction.rotate(*uv) - low).max(DVec2::ZERO);
    }
}

fn directions(shape: &FlatShape) -> Vec<DVec2> {
    let mut directions: Vec<DVec2> = (0..16)
        .map(|at| DVec2::from_angle(f64::from(at) * std::f64::consts::FRAC_PI_2 / 16.0))
        .collect();
    let mut edges: Vec<DVec2> = (shape.triangles.iter())
        .flat_map(|corners| {
            (0..3).map(|at| {
                shape.uvs[corners[(at + 1) % 3] as usize] - shape.uvs[corners[at] as usize]
            })
        })
        .collect();
    edges.sort_by(|a, b| b.length_squared().total_cmp(&a.length_squared()));
    edges.truncate(24);
    directions.extend(
        (edges.iter())
            .filter_map(|edge| edge.try_normalize().map(|edge| DVec2::new(edge.x, -edge.y))),
    );
    directions
}

/// `None` if the charts fit at no scale that was tried.
fn pack_masks(shapes: &[FlatShape], padding: f64) -> Option<Arrangement> {
    let total: f64 = shapes.iter().map(|shape| shape.area).sum();
    let longest = (shapes.iter())
        .map(|shape| size_of(&shape.uvs).max_element())
        .fold(0.0, f64::max);
    let side = (CELLS_A_CHART * (shapes.len() as f64).sqrt()).clamp(SIDES.0, SIDES.1);
    let side = (side / 64.0).ceil() as usize * 64;
    let mut order: Vec<usize> = (0..shapes.len()).collect();
    order.sort_by(|a, b| {
        let size = |at: usize| {
            let size = size_of(&shapes[at].uvs);
            size.max_element() + 0.5 * size.min_element()
        };
        size(*b).total_cmp(&size(*a)).then(a.cmp(b))
    });
    let widest = (1.0 - 2.0 * padding - 1e-9) / longest;
    let mut fails = ((FIRST_FILL / total).sqrt()).min(widest) / STEP_DOWN;
    let attempt = |scale: f64| place_all(shapes, &order, side, padding, scale);
    let mut best = (0..STEPS_DOWN).find_map(|_| {
        let scale = fails * STEP_DOWN;
        let packing = attempt(scale);
        if packing.is_none() {
            fails = scale;
        }
        packing
    })?;
    for _ in 0..REFINEMENTS {
        let scale = ((fails + best.scale) / 2.0).min(widest);
        match attempt(scale) {
            Some(packing) => best = packing,
            None => fails = scale,
        }
    }
    Some(best)
}

fn place_all(
    shapes: &[FlatShape],
    order: &[usize],
    side: usize,
    padding: f64,
    scale: f64,
) -> Option<Arrangement> {
    let cells = side as f64;
    let mut grid = CellGrid::new(side);
    let mut places = vec![
        Place {
            quarter_turns: 0,
            corner: DVec2::ZERO
        };
        shapes.len()
    ];
    let masks: Vec<[Mask; 4]> = (order.par_iter())
        .map(|at| {
            [0, 1, 2, 3].map(|turns| Mask::new(&shapes[*at], turns, scale * cells, padding * cells))
        })
        .collect();
    for (at, masks) in order.iter().zip(&masks) {
        let (turns, x, y) = grid.place(masks)?;
        places[*at] = Place {
            quarter_turns: turns,
            corner: DVec2::new(x as f64, y as f64) / cells + DVec2::splat(padding),
        };
    }
    Some(Arrangement { scale, places })
}
