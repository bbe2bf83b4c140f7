//! Computes which samples a triangle covers, its depth there, and the weights of its corners.
//!
//! Corners are snapped to 1/256 of a sample and edges are integers with the top-left rule, so that two triangles with a
//! common edge cover every sample along it exactly once.

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

    /// Calls `visit(index in the window, x, y)` for each covered sample of the window.
    pub(super) fn cover(&self, window: &Window, mut visit: impl FnMut(usize, usize, usize)) {
        let left = self.low.0.max(window.left);
        let right = self.high.0.min(window.left + window.width - 1);
        let top = self.low.1.max(window.top);
        let bottom = self.high.1.min(window.top + window.height - 1);
        if left > right || top > bottom {
            return;
        }
        let first = (left as i64 * STEP + HALF, top as i64 * STEP + HALF);
        let mut row = self.edges.map(|edge| edge.at(first.0, first.1) - edge.bias);
        for y in top..=bottom {
            let mut values = row;
            for x in left..=right {
                if (values[0] | values[1] | values[2]) >= 0 {
                    visit((y - window.top) * window.width + x - window.left, x, y);
                }
                for (value, edge) in values.iter_mut().zip(&self.edges) {
                    *value += edge.a * STEP;
                }
            }
            for (value, edge) in row.iter_mut().zip(&self.edges) {
                *value += edge.b * STEP;
            }
        }
    }

    /// Number of samples of the window that [`ScreenTriangle::cover`] looks at.
    pub(super) fn reach(&self, window: &Window) -> usize {
        let side = |low: usize, high: usize, first: usize, count: usize| {
            (high + 1).min(first + count).saturating_sub(low.max(first))
        };
        side(self.low.0, self.high.0, window.left, window.width)
            * side(self.low.1, self.high.1, window.top, window.height)
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
