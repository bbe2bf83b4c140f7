//! Computes which samples a triangle covers, its depth there, and the weights of its corners.
//!
//! Corners are snapped to 1/256 of a sample and edges are integers with the top-left rule, so that two triangles with a
//! common edge cover every sample along it exactly once.

use std::ops::Range;

pub(super) const SUBSAMPLES: f32 = 256.0;

/// A corner on the screen.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ScreenCorner {
    /// In 1/256 of a sample, y down.
    pub(super) x: i32,
    pub(super) y: i32,
    /// 0 near to 1 far.
    pub(super) z: f32,
    /// One over the clip space w; 0 marks a corner behind the eye.
    pub(super) inverse_w: f32,
}

/// The part of the picture that a tile covers, in samples.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub(super) left: usize,
    pub(super) top: usize,
    pub(super) width: usize,
    pub(super) height: usize,
}

/// A triangle on the screen, ready to be filled.
pub(super) struct ScreenTriangle {
    /// First and last sample it may cover, within the picture.
    pub(super) low: (usize, usize),
    pub(super) high: (usize, usize),
    edges: [Edge; 3],
    /// The order in which the corners were taken; the second and third are swapped for one winding.
    order: [usize; 3],
    corners: [ScreenCorner; 3],
    inverse_area: f32,
    /// Whether the viewer sees the back.
    pub(super) backside: bool,
}

/// `a·x + b·y + c`, not negative inside.
#[derive(Clone, Copy)]
struct Edge {
    a: i64,
    b: i64,
    c: i64,
    /// 1 on edges that do not own the samples on them.
    bias: i64,
}

impl Edge {
    fn new(from: ScreenCorner, to: ScreenCorner) -> Edge {
        let (x, y) = (
            i64::from(to.x) - i64::from(from.x),
            i64::from(to.y) - i64::from(from.y),
        );
        let (a, b) = (-y, x);
        let c = -(a * i64::from(from.x) + b * i64::from(from.y));
        let owns = y < 0 || (y == 0 && x > 0);
        Edge {
            a,
            b,
            c,
            bias: i64::from(!owns),
        }
    }

    fn at(&self, x: i64, y: i64) -> i64 {
        self.a * x + self.b * y + self.c
    }
}

const STEP: i64 = SUBSAMPLES as i64;
const HALF: i64 = STEP / 2;

impl ScreenTriangle {
    /// Sets a triangle up; `None` if no part of it can be visible.
    pub(super) fn new(
        [a, b, c]: [ScreenCorner; 3],
        is_double_sided: bool,
        samples: usize,
    ) -> Option<ScreenTriangle> {
        if a.inverse_w == 0.0 || b.inverse_w == 0.0 || c.inverse_w == 0.0 {
            return None;
        }
        let area = Edge::new(a, b).at(i64::from(c.x), i64::from(c.y));
        // y goes down on the screen, which turns counter-clockwise fronts into negative areas.
        let backside = area > 0;
        if area == 0 || (backside && !is_double_sided) {
            return None;
        }
        let (order, corners) = if backside {
            ([0, 1, 2], [a, b, c])
        } else {
            ([0, 2, 1], [a, c, b])
        };
        let (low, high) = extent(&corners, samples)?;
        let [a, b, c] = corners;
        Some(ScreenTriangle {
            low,
            high,
            edges: [Edge::new(b, c), Edge::new(c, a), Edge::new(a, b)],
            order,
            corners,
            inverse_area: 1.0 / area.abs() as f32,
            backside,
        })
    }

    /// Whether the viewer faces a side of the triangle that is drawn, however small the triangle is.
    pub(super) fn faces_viewer([a, b, c]: [ScreenCorner; 3], is_double_sided: bool) -> bool {
        let area = Edge::new(a, b).at(i64::from(c.x), i64::from(c.y));
        let behind = a.inverse_w == 0.0 || b.inverse_w == 0.0 || c.inverse_w == 0.0;
        !behind && (area <= 0 || is_double_sided)
    }

    /// The first and last sample of the window that the triangle may cover; `None` if its box is outside.
    pub(super) fn within(&self, window: &Window) -> Option<((usize, usize), (usize, usize))> {
        let low = (self.low.0.max(window.left), self.low.1.max(window.top));
        let high = (
            self.high.0.min(window.left + window.width - 1),
            self.high.1.min(window.top + window.height - 1),
        );
        (low.0 <= high.0 && low.1 <= high.1).then_some((low, high))
    }

    /// Whether it may cover a sample of the window: whether no edge has all of the window outside.
    pub(super) fn touches(&self, window: &Window) -> bool {
        let Some((low, high)) = self.within(window) else {
            return false;
        };
        let middle = |at: usize| at as i64 * STEP + HALF;
        self.edges.iter().all(|edge| {
            let x = middle(if edge.a >= 0 { high.0 } else { low.0 });
            let y = middle(if edge.b >= 0 { high.1 } else { low.1 });
            edge.at(x, y) >= edge.bias
        })
    }

    /// Calls `visit(index in the window, x, y)` for each covered sample of the window. Returns how many samples and rows
    /// were looked at.
    pub(super) fn cover(
        &self,
        window: &Window,
        mut visit: impl FnMut(usize, usize, usize),
    ) -> usize {
        /// In shorter rows, testing each sample takes less time than computing where the covered ones begin and end.
        const SHORT: usize = 12;
        let Some(((left, top), (right, bottom))) = self.within(window) else {
            return 0;
        };
        let first = (left as i64 * STEP + HALF, top as i64 * STEP + HALF);
        let mut row = self.edges.map(|edge| edge.at(first.0, first.1) - edge.bias);
        let steps = self.edges.map(|edge| edge.a * STEP);
        let width = right - left + 1;
        let mut looked_at = 0;
        for y in top..=bottom {
            let at = (y - window.top) * window.width + left - window.left;
            if width <= SHORT {
                let mut values = row;
                for x in 0..width {
                    if (values[0] | values[1] | values[2]) >= 0 {
                        visit(at + x, left + x, y);
                    }
                    for (value, step) in values.iter_mut().zip(steps) {
                        *value += step;
                    }
                }
                looked_at += width;
            } else {
                let covered = covered_part(row, steps, width);
                looked_at += covered.len() + 1;
                covered.for_each(|x| visit(at + x, left + x, y));
            }
            for (value, edge) in row.iter_mut().zip(&self.edges) {
                *value += edge.b * STEP;
            }
        }
        looked_at
    }

    /// Depth at the centre of a sample.
    pub(super) fn depth(&self, x: usize, y: usize) -> f32 {
        let weights = self.flat_weights(x, y);
        (0..3)
            .map(|corner| weights[corner] * self.corners[corner].z)
            .sum()
    }

    /// The perspective-correct weights of the corners at a sample.
    pub(super) fn weights(&self, x: usize, y: usize) -> [f32; 3] {
        let flat = self.flat_weights(x, y);
        let scaled: [f32; 3] =
            std::array::from_fn(|corner| flat[corner] * self.corners[corner].inverse_w);
        let total = scaled[0] + scaled[1] + scaled[2];
        let mut weights = [0.0; 3];
        for (place, weight) in self.order.into_iter().zip(scaled) {
            weights[place] = weight / total;
        }
        weights
    }

    fn flat_weights(&self, x: usize, y: usize) -> [f32; 3] {
        let at = (x as i64 * STEP + HALF, y as i64 * STEP + HALF);
        self.edges
            .map(|edge| edge.at(at.0, at.1) as f32 * self.inverse_area)
    }
}

/// The part of a row in which no value is negative. They are those of its first sample, and change by `steps`.
fn covered_part(values: [i64; 3], steps: [i64; 3], width: usize) -> Range<usize> {
    let (mut start, mut end) = (0, width as i64);
    for (value, step) in values.into_iter().zip(steps) {
        match step {
            0 if value < 0 => return 0..0,
            0 => {}
            1.. if value < 0 => start = start.max((-value + step - 1) / step),
            1.. => {}
            _ if value < 0 => return 0..0,
            _ => end = end.min(value / -step + 1),
        }
    }
    start as usize..end.max(start) as usize
}

/// The samples whose centres lie within the box of the corners.
fn extent(corners: &[ScreenCorner; 3], samples: usize) -> Option<((usize, usize), (usize, usize))> {
    let range = |values: [i32; 3]| {
        let low = values.iter().copied().map(i64::from).min()?;
        let high = values.iter().copied().map(i64::from).max()?;
        let first = ((low - HALF + STEP - 1).div_euclid(STEP)).max(0);
        let last = ((high - HALF).div_euclid(STEP)).min(samples as i64 - 1);
        (first <= last).then_some((first as usize, last as usize))
    };
    let (left, right) = range(corners.map(|corner| corner.x))?;
    let (top, bottom) = range(corners.map(|corner| corner.y))?;
    Some(((left, top), (right, bottom)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A whole number from 0 to `most`, the next of a row.
    fn next(state: &mut u64, most: u64) -> i32 {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((*state >> 33) % most) as i32
    }

    #[test]
    fn a_triangle_covers_the_samples_inside_of_its_edges() {
        const SAMPLES: usize = 64;
        let windows = [(0, 0), (32, 0), (0, 32), (32, 32)].map(|(left, top)| Window {
            left,
            top,
            width: 32,
            height: 32,
        });
        let mut state = 7;
        let mut touched_in_vain = 0;
        for _ in 0..3_000 {
            let corners = [0; 3].map(|_| ScreenCorner {
                x: next(&mut state, 96 * 256) - 16 * 256,
                y: next(&mut state, 96 * 256) - 16 * 256,
                z: 0.5,
                inverse_w: 1.0,
            });
            let Some(triangle) = ScreenTriangle::new(corners, true, SAMPLES) else {
                continue;
            };
            for window in &windows {
                let mut covered = Vec::new();
                let looked_at = triangle.cover(window, |at, x, y| {
                    assert_eq!(at, (y - window.top) * 32 + x - window.left);
                    covered.push((x, y));
                });
                let all = (0..32 * 32).map(|at| (window.left + at % 32, window.top + at / 32));
                let inside = all.filter(|(x, y)| {
                    let at = [*x, *y].map(|place| place as i64 * STEP + HALF);
                    let mut edges = triangle.edges.iter();
                    edges.all(|edge| edge.at(at[0], at[1]) >= edge.bias)
                });
                assert_eq!(covered, inside.collect::<Vec<_>>());
                assert!(looked_at >= covered.len());
                assert!(covered.is_empty() || triangle.touches(window));
                touched_in_vain += usize::from(covered.is_empty() && triangle.touches(window));
            }
        }
        assert!(touched_in_vain < 1_500, "{touched_in_vain} of 12,000");
    }
}
