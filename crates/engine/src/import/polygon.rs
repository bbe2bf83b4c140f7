//! Cuts polygons into triangles by ear clipping, so that concave ones keep their outline.
//!
//! The time is limited to a number of tests for each corner. A polygon that needs more is cut roughly, and the importer
//! says so.

use glam::{DVec3, Vec2, Vec3};

/// Convex polygons of more corners are not cut as fans: work on a vertex with very many triangles takes quadratic time.
pub(super) const MAX_FAN: usize = 512;

/// Maximum number of tests whether a corner is in the way of an ear, for each corner of the polygon.
const MAX_TESTS: usize = 512;

/// The warning about the number of [`Cut`]s that are rough.
pub(super) const ROUGH: &str = "large concave polygons take too long to cut exactly, so some of their concave corners are covered";

/// A polygon in triangles.
pub(super) struct Cut {
    /// Indices of its corners.
    pub(super) triangles: Vec<[usize; 3]>,
    /// Concave corners may be covered, because it would take too long to find out.
    pub(super) is_rough: bool,
}

/// The triangles of a polygon whose corners may be far from the origin.
pub(super) fn exact_triangles(corners: &[DVec3]) -> Cut {
    let near = corners.iter().map(|at| (*at - corners[0]).as_vec3());
    triangles(&near.collect::<Vec<_>>())
}

/// The triangles of a polygon, as indices of its corners.
pub(super) fn triangles(corners: &[Vec3]) -> Cut {
    let normal = normal_of(corners);
    if corners.len() <= 3 || normal == Vec3::ZERO {
        return Cut {
            triangles: rest(&(0..corners.len()).collect::<Vec<_>>()),
            is_rough: false,
        };
    }
    let mut ears = Ears::of(corners, normal);
    let mut found = Vec::with_capacity(corners.len().saturating_sub(2));
    let is_large = corners.len() > MAX_FAN;
    // Starting at the second corner cuts convex polygons as a fan, in the order of the file.
    let mut at = ears.next[0];
    let mut misses = 0;
    while ears.count > 3 && ears.tests_left > 0 {
        let (before, after) = (ears.before[at], ears.next[at]);
        if ears.is_ear(at) {
            found.push([before, at, after]);
            ears.remove(at);
            misses = 0;
            // In a large polygon every second corner is an ear, so that no vertex gets many triangles.
            at = if is_large { ears.next[after] } else { after };
        } else if misses < ears.count {
            misses += 1;
            at = after;
        } else {
            // The polygon crosses itself, so no triangulation is right.
            break;
        }
    }
    let left = ears.left();
    let is_rough = ears.tests_left == 0 && left.len() > 3;
    found.extend(rest(&left));
    Cut {
        triangles: found,
        is_rough,
    }
}

/// The triangles of corners whose shape is not looked at.
fn rest(corners: &[usize]) -> Vec<[usize; 3]> {
    if corners.len() <= MAX_FAN {
        return (1..corners.len().saturating_sub(1))
            .map(|at| [corners[0], corners[at], corners[at + 1]])
            .collect();
    }
    let mut found = Vec::with_capacity(corners.len() - 2);
    let mut left = corners.to_vec();
    // Every second corner is cut off, until all are.
    while left.len() > 3 {
        let count = left.len();
        let pairs = (0..count - 1).step_by(2);
        found.extend(pairs.map(|at| [left[at], left[at + 1], left[(at + 2) % count]]));
        left = left.into_iter().step_by(2).collect();
    }
    if let [a, b, c] = left[..] {
        found.push([a, b, c]);
    }
    found
}

fn normal_of(corners: &[Vec3]) -> Vec3 {
    let mut sum = Vec3::ZERO;
    for (at, corner) in corners.iter().enumerate() {
        let next = corners[(at + 1) % corners.len()];
        sum += (*corner - corners[0]).cross(next - corners[0]);
    }
    sum.normalize_or_zero()
}

/// A polygon whose ears are being cut off.
struct Ears<'a> {
    corners: &'a [Vec3],
    normal: Vec3,
    /// For each corner that is left, its neighbours.
    before: Vec<usize>,
    next: Vec<usize>,
    is_left: Vec<bool>,
    count: usize,
    /// Only concave corners can be inside of an ear, and a convex one stays convex.
    is_concave: Vec<bool>,
    /// The corners that were concave when it was made.
    grid: CornerGrid,
    /// How many of these have become convex.
    outdated: usize,
    tests_left: usize,
}

impl Ears<'_> {
    fn of(corners: &[Vec3], normal: Vec3) -> Ears<'_> {
        let count = corners.len();
        let mut ears = Ears {
            corners,
            normal,
            before: (0..count).map(|at| (at + count - 1) % count).collect(),
            next: (0..count).map(|at| (at + 1) % count).collect(),
            is_left: vec![true; count],
            count,
            is_concave: Vec::new(),
            grid: CornerGrid::default(),
            outdated: 0,
            tests_left: count.saturating_mul(MAX_TESTS),
        };
        ears.is_concave = (0..count).map(|at| !ears.is_convex(at)).collect();
        ears.lay_out();
        ears
    }

    fn lay_out(&mut self) {
        let concave = (0..self.corners.len()).filter(|at| self.is_concave[*at]);
        self.grid = CornerGrid::of(self.corners, self.normal, concave.collect());
        self.outdated = 0;
    }

    fn is_convex(&self, at: usize) -> bool {
        let [a, b, c] = [self.before[at], at, self.next[at]].map(|it| self.corners[it]);
        (b - a).cross(c - b).dot(self.normal) >= 0.0
    }

    fn is_ear(&mut self, at: usize) -> bool {
        self.tests_left = self.tests_left.saturating_sub(1);
        if !self.is_convex(at) {
            return false;
        }
        let own = [self.before[at], at, self.next[at]];
        let [a, b, c] = own.map(|it| self.corners[it]);
        let is_left_of =
            |from: Vec3, to: Vec3, point: Vec3| (to - from).cross(point - from).dot(self.normal);
        let is_in_the_way = |other: &usize| {
            let point = self.corners[*other];
            let is_inside = is_left_of(a, b, point) > 0.0
                && is_left_of(b, c, point) > 0.0
                && is_left_of(c, a, point) > 0.0;
            is_inside && self.is_concave[*other] && !own.contains(other)
        };
        for row in self.grid.rows_around([a, b, c]) {
            self.tests_left = self.tests_left.saturating_sub(row.len() + 1);
            if self.tests_left == 0 || row.iter().any(is_in_the_way) {
                return false;
            }
        }
        true
    }

    fn remove(&mut self, at: usize) {
        let (before, next) = (self.before[at], self.next[at]);
        self.next[before] = next;
        self.before[next] = before;
        self.is_left[at] = false;
        self.count -= 1;
        for neighbour in [before, next] {
            if self.is_concave[neighbour] && self.is_convex(neighbour) {
                self.is_concave[neighbour] = false;
                self.outdated += 1;
            }
        }
        if self.outdated * 2 > self.grid.corners.len() {
            self.lay_out();
        }
    }

    /// The corners that are left, in their order.
    fn left(&self) -> Vec<usize> {
        (0..self.corners.len())
            .filter(|at| self.is_left[*at])
            .collect()
    }
}

/// Corners in the square cells of a grid, so that those near an ear are found without looking at the others.
#[derive(Default)]
struct CornerGrid {
    /// Two axes of space onto which the polygon is projected.
    axes: [usize; 2],
    low: Vec2,
    /// Cells in a unit of length.
    scale: Vec2,
    /// Number of cells along each axis.
    side: usize,
    /// Corners by cell, row after row.
    corners: Vec<usize>,
    /// Where the corners of each cell begin; one more than there are cells.
    starts: Vec<usize>,
}

impl CornerGrid {
    fn of(corners: &[Vec3], normal: Vec3, wanted: Vec<usize>) -> CornerGrid {
        let size = normal.abs();
        let axes = match () {
            () if size.x >= size.y && size.x >= size.z => [1, 2],
            () if size.y >= size.z => [0, 2],
            () => [0, 1],
        };
        let mut grid = CornerGrid {
            axes,
            side: (wanted.len() as f64).sqrt().ceil().max(1.0) as usize,
            ..CornerGrid::default()
        };
        let places = || wanted.iter().map(|at| grid.flat(corners[*at]));
        let low = places().fold(Vec2::INFINITY, Vec2::min);
        let high = places().fold(Vec2::NEG_INFINITY, Vec2::max);
        grid.low = low;
        grid.scale = grid.side as f32 / (high - low).max(Vec2::splat(f32::MIN_POSITIVE));
        let cell_of = |at: &usize| {
            let [column, row] = grid.cell(grid.flat(corners[*at]));
            row * grid.side + column
        };
        let mut sorted: Vec<(usize, usize)> = wanted.iter().map(|at| (cell_of(at), *at)).collect();
        sorted.sort_unstable();
        let cells = grid.side * grid.side;
        let starts = (0..=cells).map(|cell| sorted.partition_point(|(of, _)| *of < cell));
        grid.starts = starts.collect();
        grid.corners = sorted.into_iter().map(|(_, at)| at).collect();
        grid
    }

    fn flat(&self, place: Vec3) -> Vec2 {
        let [u, v] = self.axes;
        Vec2::new(place[u], place[v])
    }

    /// The column and row of a place; of one outside, those of the nearest cell.
    fn cell(&self, place: Vec2) -> [usize; 2] {
        let at = (place - self.low) * self.scale;
        // Negative and undefined numbers become 0.
        [at.x, at.y].map(|along| (along as usize).min(self.side - 1))
    }

    /// The corners in the cells around a triangle, row by row.
    fn rows_around(&self, triangle: [Vec3; 3]) -> impl Iterator<Item = &[usize]> {
        let [a, b, c] = triangle.map(|place| self.flat(place));
        let [left, top] = self.cell(a.min(b).min(c));
        let [right, bottom] = self.cell(a.max(b).max(c));
        let rows = match self.corners.is_empty() {
            true => 0..0,
            false => top..bottom + 1,
        };
        rows.map(move |row| {
            let of = |column: usize| self.starts[row * self.side + column];
            &self.corners[of(left)..self.starts[row * self.side + right + 1]]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area_of(corners: &[Vec3], cut: &Cut) -> f32 {
        let areas = cut.triangles.iter().map(|triangle| {
            let [a, b, c] = triangle.map(|at| corners[at]);
            (b - a).cross(c - a).length() / 2.0
        });
        areas.sum()
    }

    /// The most triangles of a corner.
    fn most_around(cut: &Cut, count: usize) -> usize {
        let mut around = vec![0; count];
        cut.triangles
            .iter()
            .flatten()
            .for_each(|at| around[*at] += 1);
        around.into_iter().max().unwrap()
    }

    fn circle(count: usize, radius: impl Fn(usize) -> f32) -> Vec<Vec3> {
        let at = |corner: usize| {
            let angle = corner as f32 / count as f32 * std::f32::consts::TAU;
            Vec3::new(angle.cos(), angle.sin(), 0.0) * radius(corner)
        };
        (0..count).map(at).collect()
    }

    /// A comb with long teeth that are askew: the smallest upright box around each has most concave corners.
    fn comb(count: usize) -> Vec<Vec3> {
        let base = |along: f32| Vec3::new(along, along / 2.0, 0.0);
        let tooth = Vec3::new(count as f32, count as f32, 0.0);
        let below = Vec3::new(0.0, -10.0, 0.0);
        let teeth = (0..count - 2).map(|at| base(at as f32) + tooth * (at % 2) as f32);
        [base(-1.0) + below, base(count as f32) + below]
            .into_iter()
            .chain(teeth.rev())
            .collect()
    }

    #[test]
    fn a_polygon_of_very_many_corners_has_no_corner_with_very_many_triangles() {
        let corners = circle(20_000, |_| 1.0);
        let cut = triangles(&corners);
        assert_eq!(cut.triangles.len(), corners.len() - 2);
        assert!(!cut.is_rough);
        assert!((area_of(&corners, &cut) - std::f32::consts::PI).abs() < 1e-2);
        assert!(most_around(&cut, corners.len()) < 64);
        // Neither has one whose corners all have the same three places.
        let corners: Vec<Vec3> = (0..9_999).map(|at| Vec3::ONE * (at % 2) as f32).collect();
        let cut = triangles(&corners);
        assert_eq!(cut.triangles.len(), corners.len() - 2);
        assert!(most_around(&cut, corners.len()) < 64);
    }

    #[test]
    fn a_large_star_is_cut_exactly_and_a_comb_that_takes_too_long_roughly() {
        let star = circle(6_000, |corner| 1.0 - 0.5 * (corner % 2) as f32);
        let cut = triangles(&star);
        assert!(!cut.is_rough);
        let step = std::f32::consts::TAU / 6_000.0;
        let area = 6_000.0 * 0.5 * 0.5 * step.sin();
        assert!((area_of(&star, &cut) - area).abs() < 1e-2);
        let comb = comb(12_000);
        let cut = triangles(&comb);
        assert!(cut.is_rough);
        assert_eq!(cut.triangles.len(), comb.len() - 2);
        assert!(most_around(&cut, comb.len()) < 64);
    }

    #[test]
    fn a_concave_polygon_keeps_its_area() {
        let arrow = [[0.0, 0.0], [2.0, 2.0], [0.0, 1.0], [-2.0, 2.0]];
        let corners = arrow.map(|[x, y]| Vec3::new(x, y, 0.0));
        let cut = triangles(&corners);
        assert_eq!(cut.triangles.len(), 2);
        let area = area_of(&corners, &cut);
        assert!((area - 2.0).abs() < 1e-6, "{area}");
    }
}
