//! Long animations in FBX and USDZ: what is thinned, and what stays.

use assetfs_engine::scene::Scene;
use serde_json::json;

use super::gltf::{Maker, Model};
use super::shapes::sphere_primitive;
use crate::log_lines::LogLines as _;

/// A sphere that moves along x: where it is at each tenth of a second.
fn moving(interpolation: &str, places: &[f32]) -> Model {
    let mut maker = Maker::default();
    let primitive = sphere_primitive(&mut maker, 8, [0.0; 3], 1.0);
    let times: Vec<f32> = (0..places.len()).map(|key| key as f32 * 0.1).collect();
    let places: Vec<f32> = places.iter().flat_map(|x| [*x, 0.0, 0.0]).collect();
    let (times, places) = (
        maker.floats("SCALAR", &times),
        maker.floats("VEC3", &places),
    );
    let (json, bin) = maker.finish(json!({
        "scene": 0, "scenes": [{ "nodes": [0] }],
        "nodes": [{ "mesh": 0 }], "meshes": [{ "primitives": [primitive] }],
        "animations": [{
            "name": "walk",
            "samplers": [{ "input": times, "output": places, "interpolation": interpolation }],
            "channels": [{ "sampler": 0, "target": { "node": 0, "path": "translation" } }],
        }],
    }));
    Model::new(&json, &bin, &[])
}

fn export(model: &Model) -> Vec<String> {
    let report = model.optimize(json!({ "compressionAndExport": { "fileExports": [
        { "fileType": "usdz" }, { "fileType": "fbx" },
    ] } }));
    report.unwrap().warnings.lines()
}

/// The keyframes of the translation along x.
fn keys(scene: &Scene) -> Vec<(f32, f32)> {
    let animation = &scene.list("animations")[0];
    let channels = animation["channels"].as_array().unwrap();
    let channel = channels
        .iter()
        .find(|channel| channel["target"]["path"] == "translation")
        .unwrap();
    let sampler = &animation["samplers"][channel["sampler"].as_u64().unwrap() as usize];
    let table = |name: &str| &scene.tables[sampler[name].as_u64().unwrap() as usize].values;
    let places = table("output").chunks_exact(3).map(|place| place[0]);
    table("input").iter().copied().zip(places).collect()
}

/// The place at a time, between keys on a straight line.
fn place_at(keys: &[(f32, f32)], time: f32) -> f32 {
    let next = keys.partition_point(|(key, _)| *key <= time);
    match (next.checked_sub(1).map(|at| keys[at]), keys.get(next)) {
        (Some((start, from)), Some((end, to))) => {
            from + (to - from) * (time - start) / (end - start)
        }
        (Some((_, last)), None) => last,
        (None, first) => first.unwrap().1,
    }
}

#[test]
fn thinned_keyframes_keep_the_last_and_are_named() {
    let places: Vec<f32> = (0..6_000).map(|key| ((key * key) % 7) as f32).collect();
    let model = moving("LINEAR", &places);
    let warnings = export(&model);
    for format in ["usdz", "fbx"] {
        let keys = keys(&model.result(&format!("model.{format}")));
        let (time, place) = *keys.last().unwrap();
        assert!((time - 599.9).abs() < 0.01, "{format}: {time}");
        assert!((place - places[5_999]).abs() < 1e-3, "{format}: {place}");
        let line = format!(
            "{format}: the animation \"walk\" has 6,000 keyframes; 3,001 of them are written [not-held]"
        );
        assert!(warnings.contains(&line), "{line}: {warnings:?}");
    }
}

#[test]
fn steps_of_a_long_animation_stay_steps() {
    let places: Vec<f32> = (0..3_000).map(|key| (key % 2) as f32 * 5.0).collect();
    let model = moving("STEP", &places);
    let warnings = export(&model);
    let is_thinned = |line: &String| line.contains("keyframes");
    assert!(!warnings.iter().any(is_thinned), "{warnings:?}");
    for name in ["model.usdz", "model.fbx"] {
        let keys = keys(&model.result(name));
        for key in [0, 1, 2, 1_500, 2_001, 2_998] {
            let found = place_at(&keys, key as f32 * 0.1 + 0.07);
            assert!((found - places[key]).abs() < 0.05, "{name} {key}: {found}");
        }
    }
}
