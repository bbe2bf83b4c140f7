//! Jobs on models in map coordinates: every format keeps the place, or a warning says by how much it is rounded.

use serde_json::{Value, json};

use super::gltf::Model;
use crate::import::far::{assert_squares, corners, obj};
use crate::log_lines::LogLines as _;

fn exports(formats: &[&str]) -> Value {
    let files: Vec<Value> = formats
        .iter()
        .map(|format| json!({ "fileType": format }))
        .collect();
    json!({ "compressionAndExport": { "fileExports": files } })
}

#[test]
fn every_format_keeps_a_model_in_map_coordinates_or_says_how_it_is_rounded() {
    let model = Model::of_file("map.obj", &obj());
    let formats = ["glb", "gltf", "obj", "ply", "usdz", "fbx", "stl"];
    let report = model.optimize_and_compare(exports(&formats));
    assert_eq!(report.source.triangles, 32);
    assert_eq!(report.result.triangles, 32);
    for format in &formats[..6] {
        let scene = model.result(&format!("model.{format}"));
        assert_squares(&scene, corners(), 1e-5);
        let score = report.exports.iter().find(|it| it.format == *format);
        let score = score
            .and_then(|export| export.quality.as_ref())
            .unwrap()
            .avg_score;
        assert!(score > 99.0, "{format}: {score}");
    }
    let lines = report.warnings.lines().into_iter();
    let rounded: Vec<String> = lines.filter(|line| line.contains("rounded")).collect();
    let [line] = &rounded[..] else {
        panic!("{:?}", report.warnings.lines());
    };
    assert!(
        line.starts_with("stl: the model is at (448262.5, 5411932.5, 100)")
            && line.contains("steps of 0.5"),
        "{line}"
    );
    // Exports keep the digits of the file, and no more.
    let text = std::fs::read_to_string(model.dir.path().join("out/exports/model.obj")).unwrap();
    let first = text.lines().find(|line| line.starts_with("v ")).unwrap();
    assert!(first.len() < 45, "{first}");
}

#[test]
fn a_centred_model_in_map_coordinates_is_exact_in_stl_too() {
    let model = Model::of_file("map.obj", &obj());
    let mut config = exports(&["glb", "stl"]);
    config["sceneManipulation"] = json!({ "centerModel": true });
    let report = model.optimize_and_compare(config);
    assert!(
        report
            .exports
            .iter()
            .all(|export| export.quality.as_ref().unwrap().avg_score > 99.0),
        "{report:?}"
    );
    assert!(
        !report
            .warnings
            .lines()
            .iter()
            .any(|line| line.contains("rounded"))
    );
    let [low, high] = corners();
    let half = (high - low) / 2.0;
    for name in ["model.glb", "model.stl"] {
        assert_squares(&model.result(name), [-half, half], 1e-6);
    }
}
