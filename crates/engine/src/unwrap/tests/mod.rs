//! What every result must hold, for simple surfaces, broken meshes and random triangles.

mod shapes;

use proptest::prelude::*;

use super::{UnwrapOptions, Unwrapped, unwrap};
use shapes::Triangles;

const OPTIONS: UnwrapOptions = UnwrapOptions {
    stretch: 1.1,
    texture_size: 512,
    padding: 2,
};

const NOTHING: u32 = u32::MAX;

/// Unwraps twice, with different numbers of threads, and checks everything that holds for any mesh.
fn checked((positions, indices): &Triangles) -> Unwrapped {
    let with_threads = |count: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build();
        pool.unwrap()
            .install(|| unwrap(positions, indices, &OPTIONS))
    };
    let result = with_threads(1);
    assert_eq!(result, with_threads(3), "depends on the number of threads");
    assert_eq!(result.indices.len(), indices.len() / 3 * 3);
    assert_eq!(result.charts.len(), indices.len() / 3);
    assert_eq!(result.source.len(), result.uvs.len());
    for (new, old) in result.indices.iter().zip(indices) {
        assert_eq!(result.source[*new as usize], *old);
    }
    for uv in result.uvs.iter().flatten() {
        assert!((0.0..=1.0).contains(uv), "{uv} is outside of the texture");
    }
    assert!(
        result
            .charts
            .iter()
            .all(|chart| *chart < result.chart_count.max(1))
    );
    assert_no_overlaps(&result);
    result
}

/// Draws all triangles into a texture. No texel may have two of them, nor lie nearer to another chart than the padding.
fn assert_no_overlaps(result: &Unwrapped) {
    let side = OPTIONS.texture_size as usize;
    let mut texels = vec![NOTHING; side * side];
    for (triangle, corners) in result.indices.chunks_exact(3).enumerate() {
        let corners = [0, 1, 2]
            .map(|at| result.uvs[corners[at] as usize].map(|uv| f64::from(uv) * side as f64));
        for texel in texels_inside(corners, side) {
            assert_eq!(texels[texel], NOTHING, "two triangles on one texel");
            texels[texel] = result.charts[triangle];
        }
    }
    let near = OPTIONS.padding as usize - 1;
    for (at, chart) in texels
        .iter()
        .enumerate()
        .filter(|(_, chart)| **chart != NOTHING)
    {
        for y in at / side..=(at / side + near).min(side - 1) {
            for x in (at % side).saturating_sub(near)..=(at % side + near).min(side - 1) {
                let other = texels[y * side + x];
                assert!(other == NOTHING || other == *chart, "charts too near");
            }
        }
    }
}

/// The texels whose centers are inside of a triangle.
fn texels_inside(corners: [[f64; 2]; 3], side: usize) -> Vec<usize> {
    let turn = |a: [f64; 2], b: [f64; 2], c: [f64; 2]| {
        (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    };
    let [a, b, c] = corners;
    let range = |axis: usize| {
        let low = a[axis].min(b[axis]).min(c[axis]) as usize;
        let high = a[axis].max(b[axis]).max(c[axis]) as usize;
        low..=high.min(side - 1)
    };
    let area = turn(a, b, c);
    // Coordinates are rounded to a part in 2^24 of the texture, so a center this near to an edge may be on either side.
    let within = 1e-4;
    let mut inside = Vec::new();
    for y in range(1) {
        for x in range(0) {
            let center = [x as f64 + 0.5, y as f64 + 0.5];
            let sides = [turn(a, b, center), turn(b, c, center), turn(c, a, center)];
            if area > 0.0 && sides.iter().all(|side| *side > within) {
                inside.push(y * side + x);
            }
        }
    }
    inside
}

#[test]
fn surfaces_have_few_charts_little_stretch_and_fill_the_texture() {
    // Name, mesh, most charts, least fill.
    let cases: Vec<(&str, Triangles, u32, f32)> = vec![
        ("cube", shapes::cube(), 6, 0.6),
        ("sphere", shapes::sphere(16, 24), 12, 0.5),
        ("torus", shapes::torus(24, 12), 14, 0.45),
        ("open sheet", shapes::sheet(12), 1, 0.85),
        ("tube", shapes::tube(24, 6), 3, 0.6),
        ("Möbius strip", shapes::moebius(32), 4, 0.4),
    ];
    for (name, mesh, most_charts, least_fill) in cases {
        let result = checked(&mesh);
        let about = (result.chart_count, result.fill, result.stretch);
        assert!(result.chart_count <= most_charts, "{name}: {about:?}");
        assert!(result.fill >= least_fill, "{name}: {about:?}");
        assert!(result.stretch <= 1.1, "{name}: {about:?}");
    }
}

#[test]
fn positions_are_welded_and_each_corner_keeps_its_vertex() {
    let (positions, indices) = shapes::sheet(4);
    let loose: Vec<[f32; 3]> = indices.iter().map(|at| positions[*at as usize]).collect();
    let result = checked(&(loose, (0..indices.len() as u32).collect()));
    assert_eq!(result.chart_count, 1);
}

#[test]
fn triangles_of_a_fan_around_one_edge_do_not_overlap() {
    let result = checked(&shapes::fan(7));
    assert!(result.chart_count >= 3);
}

#[test]
fn both_sides_of_a_sheet_modelled_twice_are_not_torn_into_triangles() {
    let (positions, mut indices) = shapes::sheet(6);
    let back: Vec<u32> = indices
        .chunks_exact(3)
        .flat_map(|t| [t[0], t[2], t[1]])
        .collect();
    indices.extend(back);
    assert!(checked(&(positions, indices)).chart_count <= 8);
}

#[test]
fn loose_triangles_have_a_chart_each() {
    assert_eq!(checked(&shapes::loose(1)).chart_count, 1);
    assert_eq!(checked(&shapes::loose(150)).chart_count, 150);
}

#[test]
fn triangles_without_area_or_with_broken_positions_get_a_point() {
    let (mut positions, mut indices) = shapes::sheet(3);
    let first = positions.len() as u32;
    positions.extend([
        [f32::NAN, 0.0, 0.0],
        [f32::INFINITY, 1.0, 0.0],
        [0.0, f32::MAX, 0.0],
        [0.0, f32::MIN, 0.0],
    ]);
    let whole = indices.len() / 3;
    indices.extend([0, 0, 1, 0, 1, 2, first, 1, 2, first + 1, 0, 1]);
    let result = checked(&(positions, indices));
    for triangle in result.indices.chunks_exact(3).skip(whole) {
        let uvs = [0, 1, 2].map(|at| result.uvs[triangle[at] as usize]);
        assert!(uvs[0] == uvs[1] && uvs[1] == uvs[2], "{uvs:?}");
    }
}

#[test]
fn extreme_sizes_are_unwrapped_like_others() {
    let (positions, indices) = shapes::torus(8, 6);
    let expected = checked(&(positions.clone(), indices.clone()));
    for factor in [1e-30, 1e30] {
        let scaled = positions
            .iter()
            .map(|at| at.map(|value| value * factor))
            .collect();
        let result = checked(&(scaled, indices.clone()));
        assert!(result.stretch <= 1.1, "{factor}: {}", result.stretch);
        assert!(result.chart_count <= expected.chart_count + 4, "{factor}");
    }
}

#[test]
fn meshes_without_a_usable_triangle_have_no_chart() {
    let point = vec![[1.0, 2.0, 3.0]; 3];
    for mesh in [
        (Vec::new(), Vec::new()),
        (point.clone(), Vec::new()),
        (point, vec![0, 1, 2]),
        (vec![[f32::NAN; 3]; 3], vec![0, 1, 2]),
    ] {
        let result = checked(&mesh);
        assert_eq!((result.chart_count, result.fill), (0, 0.0));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5))]

    /// Triangles between few points on a coarse lattice: non-manifold, duplicate, flat and crossing ones among them.
    #[test]
    fn random_triangles_hold_the_invariants(
        points in prop::collection::vec([-3_i8..3, -3..3, -3..3], 3..24),
        corners in prop::collection::vec(any::<prop::sample::Index>(), 3..120),
    ) {
        let positions = points.iter().map(|point| point.map(f32::from)).collect();
        let indices = corners.iter().map(|at| at.index(points.len()) as u32).collect();
        checked(&(positions, indices));
    }

    /// A sheet with random heights: a good mesh with a difficult shape.
    #[test]
    fn rough_sheets_hold_the_invariants(heights in prop::collection::vec(-1.0_f32..1.0, 25)) {
        let (mut positions, indices) = shapes::sheet(4);
        for (position, height) in positions.iter_mut().zip(heights) {
            position[2] = height * 0.3;
        }
        let result = checked(&(positions, indices));
        prop_assert!(result.stretch <= 1.1);
    }
}
