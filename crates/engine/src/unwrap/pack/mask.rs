//! The cells of a grid that a chart and its padding touch.
//!
//! The mask is exact on the safe side: two charts whose masks share no cell are at least two paddings apart, measured along
//! the axes.

use glam::{DVec2, Vec2Swizzles};

use super::shape::{FlatShape, quarter_turned, size_of};

/// Cells `start..start + length` of a row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub(super) start: usize,
    pub(super) length: usize,
}

pub(super) struct Mask {
    pub(super) width: usize,
    pub(super) height: usize,
    /// Each run with its row, the longest first, because these find occupied cells soonest.
    pub(super) runs: Vec<(usize, Run)>,
}

impl Mask {
    /// The mask of a shape after quarter turns. `scale` and `padding` are in cells.
    pub(super) fn new(shape: &FlatShape, quarter_turns: usize, scale: f64, padding: f64) -> Mask {
        let size = size_of(&shape.uvs);
        let points: Vec<DVec2> = (shape.uvs.iter())
            .map(|uv| quarter_turned(*uv, size, quarter_turns) * scale + DVec2::splat(padding))
            .collect();
        let turned = if quarter_turns.is_multiple_of(2) {
            size
        } else {
            size.yx()
        };
        let cells = |length: f64| ((length * scale + 2.0 * padding).ceil() as usize).max(1);
        let (width, height) = (cells(turned.x), cells(turned.y));
        let mut rows: Vec<Vec<(usize, usize)>> = vec![Vec::new(); height];
        for corners in &shape.triangles {
            let corners = corners.map(|corner| points[corner as usize]);
            let low = corners[0].y.min(corners[1].y).min(corners[2].y) - padding;
            let high = corners[0].y.max(corners[1].y).max(corners[2].y) + padding;
            let last = (high.max(0.0) as usize).min(height - 1);
            for (row, cells) in rows
                .iter_mut()
                .enumerate()
                .take(last + 1)
                .skip(low.max(0.0) as usize)
            {
                let slab = (row as f64 - padding, row as f64 + 1.0 + padding);
                if let Some((left, right)) = span(corners, slab) {
                    let first = (left - padding).max(0.0) as usize;
                    let last = ((right + padding).max(0.0) as usize).min(width - 1);
                    cells.push((first.min(last), last));
                }
            }
        }
        let mut runs: Vec<(usize, Run)> = (rows.into_iter().enumerate())
            .flat_map(|(row, cells)| joined(cells).into_iter().map(move |run| (row, run)))
            .collect();
        runs.sort_by_key(|(row, run)| (usize::MAX - run.length, *row));
        Mask {
            width,
            height,
            runs,
        }
    }
}

/// The extent along x of the part of a triangle between two values of y.
fn span(corners: [DVec2; 3], (low, high): (f64, f64)) -> Option<(f64, f64)> {
    let (mut left, mut right) = (f64::INFINITY, f64::NEG_INFINITY);
    let mut add = |x: f64| {
        left = left.min(x);
        right = right.max(x);
    };
    for at in 0..3 {
        let (from, to) = (corners[at], corners[(at + 1) % 3]);
        if from.y >= low && from.y <= high {
            add(from.x);
        }
        for level in [low, high] {
            if (from.y < level) != (to.y < level) {
                add(from.x + (to.x - from.x) * ((level - from.y) / (to.y - from.y)));
            }
        }
    }
    (left <= right).then_some((left, right))
}

/// Unites cells `first..=last` that touch or overlap.
fn joined(mut cells: Vec<(usize, usize)>) -> Vec<Run> {
    cells.sort_unstable();
    let mut runs: Vec<Run> = Vec::new();
    for (first, last) in cells {
        match runs.last_mut() {
            Some(run) if first <= run.start + run.length => {
                run.length = run.length.max(last + 1 - run.start);
            }
            _ => runs.push(Run {
                start: first,
                length: last + 1 - first,
            }),
        }
    }
    runs
}
