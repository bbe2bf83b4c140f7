//! Measures a patch in the plane: its stretch, and whether any part of it lies on another.
//!
//! A connected patch whose triangles all lie with their front up covers nothing twice if the fan of triangles at each vertex
//! turns at most once around it, and no two edges of the border cross. This needs no raster and finds overlaps of any size.

use std::f64::consts::TAU;

use glam::{DMat2, DVec2};

use super::patch::Patch;
use super::topology::WeldedMesh;

/// The factor by which one triangle may be longer or shorter in any direction than the mean of its chart, for a tolerance
/// of 1; it grows with the tolerance.
const WORST_FACTOR: f64 = 1.6;

/// The distance by which edges of the border are moved inwards before crossings are looked for, as a fraction of the size
/// of the chart.
const INSET: f64 = 1e-7;

/// Stretch as in Sander et al., "Texture Mapping Progressive Meshes", 2001.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch {
    /// The root of the mean square over the surface of the factor by which the texture is stretched (L²), 1 or more.
    pub(super) mean: f64,
    /// The largest factor in any direction of any triangle, or one by the smallest.
    pub(super) worst: f64,
}

impl Stretch {
    pub(super) fn is_within(&self, tolerance: f64) -> bool {
        self.mean <= tolerance && self.worst <= WORST_FACTOR * tolerance * tolerance
    }
}

/// Scales the patch in the plane to its area in space and measures its stretch. `None` if a triangle has no area, or lies
/// with its back up.
pub(super) fn normalize(mesh: &WeldedMesh, patch: &Patch, uvs: &mut [DVec2]) -> Option<Stretch> {
    let mut flat = 0.0;
    let mut area = 0.0;
    for (triangle, corners) in patch.triangles.iter().zip(&patch.corners) {
        let [a, b, c] = corners.map(|corner| uvs[corner as usize]);
        let double = (b - a).perp_dot(c - a);
        if !double.is_normal() || double <= 0.0 {
            return None;
        }
        flat += double / 2.0;
        area += mesh.areas[*triangle as usize];
    }
    let scale = (area / flat).sqrt();
    if !scale.is_normal() {
        return None;
    }
    for uv in uvs.iter_mut() {
        *uv *= scale;
    }
    let mut square = 0.0;
    let mut worst: f64 = 1.0;
    for (triangle, corners) in patch.triangles.iter().zip(&patch.corners) {
        let triangle = *triangle as usize;
        let [a, b, c] = corners.map(|corner| uvs[corner as usize]);
        let shape = &mesh.shapes[triangle];
        let flat = DMat2::from_cols(b - a, c - a);
        let solid = DMat2::from_cols(shape[1] - shape[0], shape[2] - shape[0]);
        let map = solid * flat.inverse();
        let sum = map.x_axis.length_squared() + map.y_axis.length_squared();
        let product = map.determinant();
        square += mesh.areas[triangle] * sum / 2.0;
        let largest = ((sum + (sum * sum - 4.0 * product * product).max(0.0).sqrt()) / 2.0).sqrt();
        worst = worst.max(largest).max(largest / product);
    }
    let mean = (square / area).sqrt();
    mean.is_finite().then_some(Stretch { mean, worst })
}

/// Whether the patch covers a point twice. All its triangles lie with their front up.
pub(super) fn overlaps_itself(patch: &Patch, uvs: &[DVec2]) -> bool {
    winds_twice(patch, uvs) || border_crosses(patch, uvs)
}

fn winds_twice(patch: &Patch, uvs: &[DVec2]) -> bool {
    let mut limits = vec![1.5 * TAU; patch.vertex_count];
    for vertex in patch.border.iter().flatten() {
        limits[*vertex as usize] = TAU - 1e-6;
    }
    for corners in &patch.corners {
        for at in 0..3 {
            let here = uvs[corners[at] as usize];
            let next = uvs[corners[(at + 1) % 3] as usize] - here;
            let last = uvs[corners[(at + 2) % 3] as usize] - here;
            limits[corners[at] as usize] -= next.perp_dot(last).atan2(next.dot(last));
        }
    }
    limits.iter().any(|rest| *rest < 0.0)
}

/// Looks at all pairs of border edges whose boxes meet, in the order of their left ends.
fn border_crosses(patch: &Patch, uvs: &[DVec2]) -> bool {
    struct Segment {
        ends: [DVec2; 2],
        vertices: [u32; 2],
        low: DVec2,
        high: DVec2,
    }
    let high = uvs
        .iter()
        .fold(DVec2::NEG_INFINITY, |high, uv| high.max(*uv));
    let low = uvs.iter().fold(DVec2::INFINITY, |low, uv| low.min(*uv));
    let inset = INSET * (high - low).max_element();
    let mut segments: Vec<Segment> = (patch.border.iter())
        .map(|vertices| {
            let ends = moved_inwards(vertices.map(|vertex| uvs[vertex as usize]), inset);
            Segment {
                ends,
                vertices: *vertices,
                low: ends[0].min(ends[1]),
                high: ends[0].max(ends[1]),
            }
        })
        .collect();
    segments.sort_by(|a, b| a.low.x.total_cmp(&b.low.x));
    segments.iter().enumerate().any(|(at, one)| {
        (segments[at + 1..].iter())
            .take_while(|other| other.low.x <= one.high.x)
            .filter(|other| other.low.y <= one.high.y && other.high.y >= one.low.y)
            .filter(|other| !other.vertices.iter().any(|end| one.vertices.contains(end)))
            .any(|other| cross(one.ends, other.ends))
    })
}

/// The edge a little inside of its triangle, which is on its left, and a little shorter. So edges that only touch, as at a
/// slit or where a vertex lies on an edge, do not cross, and parts that lie exactly on each other do.
fn moved_inwards([from, to]: [DVec2; 2], inset: f64) -> [DVec2; 2] {
    let along = (to - from).normalize_or_zero() * inset;
    let inwards = along.perp();
    [from + inwards + along * 0.1, to + inwards - along * 0.1]
}

fn cross(one: [DVec2; 2], other: [DVec2; 2]) -> bool {
    let side = |of: [DVec2; 2], point: DVec2| (of[1] - of[0]).perp_dot(point - of[0]);
    side(one, other[0]) * side(one, other[1]) < 0.0
        && side(other, one[0]) * side(other, one[1]) < 0.0
}
