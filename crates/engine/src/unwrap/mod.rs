//! New texture coordinates for a mesh: cuts it into charts, lays each into the plane and packs all into a square.
//!
//! 1. `topology` welds positions by value and finds the neighbours of each triangle. A border is an edge with one triangle;
//!    at an edge with more than two, the flattest pairs are neighbours.
//! 2. `cluster` grows charts that look in nearly one direction (Garland, Willmott, Heckbert, "Hierarchical Face Clustering on
//!    Polygonal Surfaces", 2001; Cohen-Steiner, Alliez, Desbrun, "Variational Shape Approximation", 2004).
//! 3. `flatten` lays a chart into the plane, as rigid as possible (Liu, Zhang, Xu, Gotsman, Gortler, "A Local/Global Approach to
//!    Mesh Parameterization", 2008). A conformal map (LSCM: Lévy, Petitjean, Ray, Maillot, "Least Squares Conformal Maps for Automatic
//!    Texture Atlas Generation", 2002) keeps angles, but its texels differ in size; here the size matters as much. Both are
//!    sparse least squares problems, solved by conjugate gradients.
//! 4. `validity` measures the stretch (Sander, Snyder, Gortler, Hoppe, "Texture Mapping Progressive Meshes", 2001) and refuses charts
//!    with flipped triangles or overlaps.
//! 5. `merge` joins neighbouring charts while the result is valid and within the tolerated stretch.
//! 6. `pack` places all charts at one scale. If much of the texture stays empty, smaller charts are tried.
//!
//! Invariants: every triangle with an area lies in one chart, front up; no two triangles cover a point of the texture; the
//! result depends on the input alone, not on the number of threads. All loops have limits that depend on the size of
//! the mesh.

mod chart;
mod cluster;
mod flatten;
mod merge;
mod pack;
mod patch;
mod topology;
mod validity;

#[cfg(test)]
mod tests;

use glam::{DMat2, DVec2};
use rayon::prelude::*;

use super::alike::distinct;
use chart::Chart;
use merge::MergeLimits;
use topology::WeldedMesh;

/// What the texture coordinates are for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnwrapOptions {
    /// The tolerated stretch of a chart (L², Sander et al. 2001): 1 for none. A smaller value makes more charts.
    pub stretch: f32,
    /// The side of the texture in texels.
    pub texture_size: u32,
    /// The distance between two charts in texels. It shrinks if there are too many charts for it.
    pub padding: u32,
}

/// The mesh with its new texture coordinates. Vertices at the borders of charts are split.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Unwrapped {
    /// For each new vertex, the vertex that it was.
    pub source: Vec<u32>,
    /// One for each new vertex, inside the unit square.
    pub uvs: Vec<[f32; 2]>,
    /// The same triangles in the same order, with new vertices.
    pub indices: Vec<u32>,
    /// The chart of each triangle.
    pub charts: Vec<u32>,
    pub chart_count: u32,
    /// The share of the square that triangles cover.
    pub fill: f32,
    /// The stretch of the whole mesh (L²).
    pub stretch: f32,
}

/// The tolerated stretch that is used where the options ask for less.
const MIN_TOLERANCE: f64 = 1.01;

/// The longest side of a chart, as a fraction of the side of a square with the area of the mesh. Few large charts may leave
/// much of the texture empty; then smaller ones are tried.
const LONGEST: [f64; 2] = [1.0, 0.7];
/// The fill that ends the trials.
const GOOD_FILL: f32 = 0.6;
/// With more charts than this, their size is not what leaves the texture empty.
const FEW_CHARTS: u32 = 40;

/// The most padding at the side of a chart, as a fraction of the texture.
const MAX_PADDING: f64 = 0.05;

/// Makes texture coordinates for a list of triangles. Works for any input, and gives the same result each time.
///
/// Triangles without an area, or with a position that is not finite, get a point of the texture as all three coordinates.
pub(crate) fn unwrap(
    positions: &[[f32; 3]],
    indices: &[u32],
    options: &UnwrapOptions,
) -> Unwrapped {
    let mesh = WeldedMesh::new(positions, indices);
    let tolerance = match f64::from(options.stretch) {
        stretch if stretch.is_finite() => stretch.max(MIN_TOLERANCE),
        _ => MIN_TOLERANCE,
    };
    let side = mesh.areas.iter().sum::<f64>().sqrt();
    let padding = f64::from(options.padding) / f64::from(options.texture_size.max(1)) / 2.0;
    let mut best = None;
    for longest in LONGEST {
        let limits = MergeLimits {
            tolerance,
            longest: longest * side,
        };
        let result = unwrap_within(&mesh, indices, &limits, padding.min(MAX_PADDING));
        let is_done = result.fill >= GOOD_FILL || result.chart_count > FEW_CHARTS;
        let is_better = |best: &Unwrapped| result.fill > best.fill;
        if best.as_ref().is_none_or(is_better) {
            best = Some(result);
        }
        if is_done {
            break;
        }
    }
    best.unwrap_or_default()
}

fn unwrap_within(
    mesh: &WeldedMesh,
    indices: &[u32],
    limits: &MergeLimits,
    padding: f64,
) -> Unwrapped {
    let charts: Vec<Chart> = cluster::clusters(mesh, limits.longest)
        .into_par_iter()
        .flat_map_iter(|cluster| Chart::of_cluster(mesh, cluster, limits.tolerance))
        .collect();
    let charts = merge::merge(mesh, charts, limits);
    let mut shapes: Vec<pack::FlatShape> = (charts.iter())
        .map(|chart| pack::FlatShape {
            uvs: chart.uvs.clone(),
            triangles: chart.patch.corners.clone(),
            area: chart.area,
        })
        .collect();
    pack::pack(&mut shapes, padding);
    let mut result = assemble(indices, &charts, &shapes);
    (result.fill, result.stretch) = quality(mesh, &result);
    result
}

/// The share of the square that is covered, and the stretch (L²) at one scale for the whole mesh.
fn quality(mesh: &WeldedMesh, result: &Unwrapped) -> (f32, f32) {
    let mut fill = 0.0;
    let mut square = 0.0;
    let mut area = 0.0;
    for (triangle, corners) in result.indices.chunks_exact(3).enumerate() {
        if !mesh.usable[triangle] {
            continue;
        }
        let uv = |at: usize| DVec2::from_array(result.uvs[corners[at] as usize].map(f64::from));
        let flat = DMat2::from_cols(uv(1) - uv(0), uv(2) - uv(0));
        let shape = &mesh.shapes[triangle];
        let solid = DMat2::from_cols(shape[1] - shape[0], shape[2] - shape[0]);
        let map = solid * flat.inverse();
        let sum = map.x_axis.length_squared() + map.y_axis.length_squared();
        // A triangle much smaller than a texel may lose its area when its coordinates are rounded.
        if sum.is_finite() {
            fill += flat.determinant().abs() / 2.0;
            area += mesh.areas[triangle];
            square += mesh.areas[triangle] * sum / 2.0;
        }
    }
    let stretch = match area > 0.0 {
        true => (square / area * fill / area).sqrt(),
        false => 1.0,
    };
    (fill as f32, stretch as f32)
}

/// The new vertices: one for each chart, vertex of it, and vertex of the source there.
fn assemble(indices: &[u32], charts: &[Chart], shapes: &[pack::FlatShape]) -> Unwrapped {
    let triangle_count = indices.len() / 3;
    let mut places: Vec<Option<(u32, [u32; 3])>> = vec![None; triangle_count];
    for (at, chart) in charts.iter().enumerate() {
        for (triangle, corners) in chart.patch.triangles.iter().zip(&chart.patch.corners) {
            places[*triangle as usize] = Some((at as u32, *corners));
        }
    }
    let mut result = Unwrapped {
        source: Vec::new(),
        uvs: Vec::new(),
        indices: Vec::new(),
        charts: Vec::with_capacity(triangle_count),
        chart_count: charts.len() as u32,
        fill: 0.0,
        stretch: 1.0,
    };
    let mut keys = Vec::with_capacity(triangle_count * 3);
    for (corners, place) in indices.chunks_exact(3).zip(places) {
        // A triangle without an area lies in the first chart, as a point.
        let (chart, vertices) = place.unwrap_or((0, [0; 3]));
        keys.extend(
            corners
                .iter()
                .zip(vertices)
                .map(|(source, vertex)| (chart, vertex, *source)),
        );
        result.charts.push(chart);
    }
    let (vertices, indices) = distinct(keys);
    result.indices = indices;
    for (chart, vertex, source) in vertices {
        let uv = (shapes.get(chart as usize))
            .map_or(DVec2::splat(0.5), |shape| shape.uvs[vertex as usize]);
        result.source.push(source);
        result.uvs.push(uv.as_vec2().to_array());
    }
    result
}
