//! The settings of topology: even triangles, and open borders that keep their shape.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use assetfs_engine::import::import;
use assetfs_engine::scene::Geometry;
use glam::Vec3;
use serde_json::json;

use crate::log_lines::LogLines as _;
use crate::simplify::optimize;

/// Squares on each side of the sheet.
const STEPS: u32 = 60;

/// A sheet with hills in its middle and borders in waves.
fn sheet(dir: &Path) {
    let mut text = String::new();
    for y in 0..=STEPS {
        for x in 0..=STEPS {
            let [u, v] = [x, y].map(|step| step as f32 / STEPS as f32);
            let wave = |at: f32, across: f32| (at * 50.0).sin() * 0.02 * (across * 2.0 - 1.0);
            let hill = ((u * 20.0).sin() * (v * 17.0).sin()) * 0.03;
            let (x, y) = (u + wave(v, u), v + wave(u, v));
            writeln!(text, "v {x} {y} {hill}").unwrap();
        }
    }
    for y in 0..STEPS {
        for x in 0..STEPS {
            let a = y * (STEPS + 1) + x + 1;
            let (b, c, d) = (a + 1, a + STEPS + 2, a + STEPS + 1);
            writeln!(text, "f {a} {b} {c}\nf {a} {c} {d}").unwrap();
        }
    }
    fs::write(dir.join("sheet.obj"), text).unwrap();
}

/// The sheet, simplified with this value of a key of the topology.
fn simplified(dir: &Path, triangles: u64, key: &str, value: f64) -> Geometry {
    let config = json!({
        "limits": { "faces": { "count": triangles } },
        "assetSimplification": { "topologySettings": { key: value } },
    });
    let out = format!("{key}-{value}");
    let report = optimize(dir, &["sheet.obj"], config, &out);
    assert_eq!(report.warnings.lines(), Vec::<String>::new());
    let counted = report.result.triangles;
    assert!(
        (triangles * 9 / 10..=triangles).contains(&counted),
        "{counted}"
    );
    let exports = dir.join(out).join("exports");
    let mut scene = import(&exports, &["model.glb".to_owned()]).unwrap().scene;
    scene.geometries.remove(0)
}

/// The deviation of the areas of triangles, as a part of their mean.
fn unevenness(geometry: &Geometry) -> f32 {
    let corner = |index: u32| geometry.position(index);
    let areas: Vec<f32> = geometry
        .indices
        .chunks_exact(3)
        .map(|at| {
            (corner(at[1]) - corner(at[0]))
                .cross(corner(at[2]) - corner(at[0]))
                .length()
        })
        .collect();
    let mean = areas.iter().sum::<f32>() / areas.len() as f32;
    let squares = areas.iter().map(|area| (area - mean).powi(2));
    (squares.sum::<f32>() / areas.len() as f32).sqrt() / mean
}

/// The edges of one triangle only.
fn border(geometry: &Geometry) -> Vec<[Vec3; 2]> {
    let place = |index: u32| geometry.position(index).to_array().map(f32::to_bits);
    let mut edges: HashMap<[[u32; 3]; 2], (u32, [Vec3; 2])> = HashMap::new();
    for at in geometry.indices.chunks_exact(3) {
        for (a, b) in [(at[0], at[1]), (at[1], at[2]), (at[2], at[0])] {
            let mut ends = [place(a), place(b)];
            ends.sort_unstable();
            let line = [geometry.position(a), geometry.position(b)];
            edges.entry(ends).or_insert((0, line)).0 += 1;
        }
    }
    let open = edges.into_values().filter(|(count, _)| *count == 1);
    open.map(|(_, line)| line).collect()
}

/// The mean distance of the corners of one border from the other.
fn deviation(from: &[[Vec3; 2]], to: &[[Vec3; 2]]) -> f32 {
    let distance = |point: Vec3| {
        let lines = to.iter().map(|[a, b]| {
            let along = *b - *a;
            let part = (point - *a).dot(along) / along.length_squared();
            point.distance(*a + along * part.clamp(0.0, 1.0))
        });
        lines.fold(f32::INFINITY, f32::min)
    };
    from.iter().map(|[a, _]| distance(*a)).sum::<f32>() / from.len() as f32
}

#[test]
fn mesh_density_equalization_makes_the_sizes_of_triangles_more_even_by_its_number() {
    let dir = tempfile::tempdir().unwrap();
    sheet(dir.path());
    let [none, light, strong, strongest] = [0.0, 0.2, 0.6, 1.0].map(|number| {
        unevenness(&simplified(
            dir.path(),
            800,
            "meshDensityEqualization",
            number,
        ))
    });
    assert!(light < none * 0.97, "{none} {light} {strong} {strongest}");
    assert!(strong < light * 0.9, "{none} {light} {strong} {strongest}");
    assert!(
        strongest < strong * 0.95,
        "{none} {light} {strong} {strongest}"
    );
}

#[test]
fn boundary_preservation_factor_keeps_open_borders_nearer_to_the_source() {
    let dir = tempfile::tempdir().unwrap();
    sheet(dir.path());
    let source = import(dir.path(), &["sheet.obj".to_owned()]).unwrap().scene;
    let source = border(&source.geometries[0]);
    assert_eq!(source.len() as u32, 4 * STEPS);
    let [none, half, whole] = [0.0, 0.5, 1.0].map(|factor| {
        let result = simplified(dir.path(), 300, "boundaryPreservationFactor", factor);
        deviation(&source, &border(&result))
    });
    assert!(half < none * 0.5, "{none} {half} {whole}");
    assert!(whole < half * 0.6, "{none} {half} {whole}");
}

#[test]
fn a_border_factor_does_not_change_a_closed_model() {
    let dir = tempfile::tempdir().unwrap();
    let cuboid = crate::simplify::cuboid("box", [0.0; 3], [1.0, 2.0, 3.0], 0);
    fs::write(dir.path().join("box.obj"), cuboid).unwrap();
    let bytes = [0.0, 1.0].map(|factor| {
        let config = json!({
            "limits": { "faces": { "count": 8 } },
            "assetSimplification": { "topologySettings": { "boundaryPreservationFactor": factor } },
        });
        let out = format!("out-{factor}");
        optimize(dir.path(), &["box.obj"], config, &out);
        fs::read(dir.path().join(out).join("exports/model.glb")).unwrap()
    });
    assert!(bytes[0] == bytes[1]);
}
