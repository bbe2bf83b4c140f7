//! Cuts polygons into triangles by ear clipping, so that concave ones keep their outline.

use glam::{DVec3, Vec3};

/// Polygons with more corners are cut as fans, because ear clipping takes quadratic time.
const MAX_CLIPPED: usize = 512;

/// The triangles of a polygon whose corners may be far from the origin.
pub(super) fn exact_triangles(corners: &[DVec3]) -> Vec<[usize; 3]> {
    let near = corners.iter().map(|at| (*at - corners[0]).as_vec3());
    triangles(&near.collect::<Vec<_>>())
}

/// The triangles of a polygon, as indices of its corners.
pub(super) fn triangles(corners: &[Vec3]) -> Vec<[usize; 3]> {
    let mut left: Vec<usize> = (0..corners.len()).collect();
    let normal = normal_of(corners);
    let mut found = Vec::with_capacity(corners.len().saturating_sub(2));
    if corners.len() > MAX_CLIPPED || normal == Vec3::ZERO {
        return fan(&left);
    }
    while left.len() > 3 {
        let count = left.len();
        // Starting at the second corner cuts convex polygons as a fan, in the order of the file.
        let ear = (1..=count)
            .map(|at| at % count)
            .find(|at| is_ear(corners, &left, *at, normal));
        let Some(at) = ear else {
            // The polygon crosses itself, so no triangulation is right.
            found.extend(fan(&left));
            return found;
        };
        found.push([
            left[(at + count - 1) % count],
            left[at],
            left[(at + 1) % count],
        ]);
        left.remove(at);
    }
    found.push([left[0], left[1], left[2]]);
    found
}

fn fan(corners: &[usize]) -> Vec<[usize; 3]> {
    (1..corners.len().saturating_sub(1))
        .map(|at| [corners[0], corners[at], corners[at + 1]])
        .collect()
}

fn normal_of(corners: &[Vec3]) -> Vec3 {
    let mut sum = Vec3::ZERO;
    for (at, corner) in corners.iter().enumerate() {
        let next = corners[(at + 1) % corners.len()];
        sum += (*corner - corners[0]).cross(next - corners[0]);
    }
    sum.normalize_or_zero()
}

fn is_ear(corners: &[Vec3], left: &[usize], at: usize, normal: Vec3) -> bool {
    let count = left.len();
    let [before, own, after] = [
        left[(at + count - 1) % count],
        left[at],
        left[(at + 1) % count],
    ];
    let [a, b, c] = [corners[before], corners[own], corners[after]];
    if (b - a).cross(c - b).dot(normal) < 0.0 {
        return false;
    }
    let is_left_of =
        |from: Vec3, to: Vec3, point: Vec3| (to - from).cross(point - from).dot(normal);
    left.iter()
        .filter(|other| ![before, own, after].contains(other))
        .all(|other| {
            let point = corners[*other];
            let is_inside = is_left_of(a, b, point) > 0.0
                && is_left_of(b, c, point) > 0.0
                && is_left_of(c, a, point) > 0.0;
            !is_inside
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_concave_polygon_keeps_its_area() {
        let arrow = [[0.0, 0.0], [2.0, 2.0], [0.0, 1.0], [-2.0, 2.0]];
        let corners = arrow.map(|[x, y]| Vec3::new(x, y, 0.0));
        let cut = triangles(&corners);
        assert_eq!(cut.len(), 2);
        let area: f32 = cut
            .iter()
            .map(|[a, b, c]| {
                let (a, b, c) = (corners[*a], corners[*b], corners[*c]);
                (b - a).cross(c - a).length() / 2.0
            })
            .sum();
        assert!((area - 2.0).abs() < 1e-6, "{area}");
    }
}
