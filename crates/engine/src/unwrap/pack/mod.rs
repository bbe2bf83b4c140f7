//! Packs charts into the square of the texture, all at one scale, with a distance between them.
//!
//! Each chart is turned so that its box is smallest, drawn into a coarse grid with every cell that it or its padding touches,
//! and placed, large charts first, at the lowest free place of the square in one of four directions (bottom-left packing of
//! masks, as in Lévy et al. 2002, with the whole mask instead of its horizon). The scale is searched: the largest at which
//! all charts fit. The fewer the charts, the more orders are tried for each scale. Charts too many for that are packed by
//! their boxes, in rows.

mod grid;
mod mask;
mod rows;
mod shape;

use std::ops::Range;

use glam::DVec2;
use rayon::prelude::*;

use grid::{CellGrid, Rule};
use mask::Mask;
pub(super) use shape::FlatShape;
use shape::{Arrangement, Place, quarter_turned, size_of};

/// More charts than this are packed by their boxes.
const MAX_MASKS: usize = 2000;

/// Cells of the grid for the width of a chart of mean size, and the limits of the grid's side.
const CELLS_A_CHART: f64 = 24.0;
const SIDES: (f64, f64) = (192.0, 512.0);

/// The share of the square that charts fill at the first scale that is tried.
const FIRST_FILL: f64 = 0.8;
/// Scales in steps down to the first that fits, and the number of steps.
const STEP_DOWN: f64 = 0.94;
const STEPS_DOWN: i32 = 36;
/// From there the scale grows again by this part, which halves with each failure.
const FIRST_STEP_UP: f64 = 0.04;
const LAST_STEP_UP: f64 = 0.01;
/// Charts that are placed in all tries at one scale, and the most tries.
const TRIES: usize = 500;
const MAX_TRIES: usize = 16;
/// How much larger a chart may be taken for at random, which changes the order of a try.
const DISORDER: f64 = 0.6;

/// Moves the shapes into the unit square. `padding` is half the distance between two charts, as a fraction of the square.
pub(super) fn pack(shapes: &mut [FlatShape], padding: f64) {
    if shapes.is_empty() {
        return;
    }
    shapes.par_iter_mut().for_each(turn_upright);
    let packing = match shapes.len() <= MAX_MASKS {
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
    let widest = (1.0 - 2.0 * padding - 1e-9) / longest;
    let first = (FIRST_FILL / total).sqrt().min(widest);
    let mut best = (0..STEPS_DOWN).find_map(|step| {
        let scale = first * STEP_DOWN.powi(step);
        place_all(shapes, padding, scale, 0..1)
    })?;
    let tries = 0..(TRIES / shapes.len()).clamp(1, MAX_TRIES);
    let mut step = FIRST_STEP_UP;
    while step >= LAST_STEP_UP && best.scale < widest {
        let scale = (best.scale * (1.0 + step)).min(widest);
        match place_all(shapes, padding, scale, tries.clone()) {
            Some(packing) => best = packing,
            None => step /= 2.0,
        }
    }
    Some(best)
}

/// Places all charts at one scale, by the first try that succeeds.
fn place_all(
    shapes: &[FlatShape],
    padding: f64,
    scale: f64,
    tries: Range<usize>,
) -> Option<Arrangement> {
    let side = (CELLS_A_CHART * (shapes.len() as f64).sqrt()).clamp(SIDES.0, SIDES.1);
    let side = (side / 64.0).ceil() as usize * 64;
    let cells = side as f64;
    let masks: Vec<[Mask; 4]> = (shapes.par_iter())
        .map(|shape| {
            [0, 1, 2, 3].map(|turns| Mask::new(shape, turns, scale * cells, padding * cells))
        })
        .collect();
    let (_, corners) = (tries.into_par_iter())
        .map(|number| place_in_order(&masks, side, number).map(|corners| (number, corners)))
        .find_first(Option::is_some)??;
    let places = (corners.into_iter())
        .map(|(quarter_turns, x, y)| Place {
            quarter_turns,
            corner: DVec2::new(x as f64, y as f64) / cells + DVec2::splat(padding),
        })
        .collect();
    Some(Arrangement { scale, places })
}

/// Places the charts in this order: the quarter turns and the cell of each; `None` if they do not all fit.
fn place_in_order(
    masks: &[[Mask; 4]],
    side: usize,
    number: usize,
) -> Option<Vec<(usize, usize, usize)>> {
    let mut random = number as u64;
    let keys: Vec<f64> = (masks.iter())
        .map(|[mask, ..]| {
            let size =
                mask.width.max(mask.height) as f64 + 0.5 * mask.width.min(mask.height) as f64;
            // A linear congruential generator (Knuth's constants).
            random = (random.wrapping_mul(6_364_136_223_846_793_005))
                .wrapping_add(1_442_695_040_888_963_407);
            let disorder = if number == 0 { 0.0 } else { DISORDER };
            size * (1.0 + disorder * (random >> 40) as f64 / (1_u64 << 24) as f64)
        })
        .collect();
    let mut order: Vec<usize> = (0..masks.len()).collect();
    order.sort_by(|a, b| keys[*b].total_cmp(&keys[*a]).then(a.cmp(b)));
    let rule = if number.is_multiple_of(2) {
        Rule::LowestTop
    } else {
        Rule::LowestMiddle
    };
    let mut grid = CellGrid::new(side);
    let mut places = vec![(0, 0, 0); masks.len()];
    for at in order {
        places[at] = grid.place(&masks[at], rule)?;
    }
    Some(places)
}
