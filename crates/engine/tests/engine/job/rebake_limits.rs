//! Rebaking under other settings: a target size, maps without an effect, models without textures.

use serde_json::{Value, json};

use super::gltf::{Maker, Model};
use super::rebake::{config, difference, pair, rebaked};
use super::shapes::{png, sphere_primitive};
use crate::log_lines::LogLines as _;

/// The pair with textures that compress badly.
fn noisy() -> Model {
    let model = pair(|_, _| {});
    let noise = png(256, |x, y| {
        let mixed = (x * 7_919 + y * 104_729).wrapping_mul(2_654_435_761);
        [mixed as u8, (mixed >> 8) as u8, (mixed >> 16) as u8, 255]
    });
    for name in ["one.png", "two.png"] {
        std::fs::write(model.dir.path().join("in").join(name), &noise).unwrap();
    }
    model
}

fn with_target(percentage: f64, megabytes: f64) -> Value {
    let mut config = config(percentage, json!({}));
    config["workflowSettings"] = json!({ "targetMBSize": megabytes });
    config
}

#[test]
fn target_size_bakes_a_few_times_and_is_met() {
    const MAX_BYTES: u64 = 12_000;
    let model = noisy();
    let mut trials = 0;
    let report = model.optimize_with(with_target(20.0, 0.012), &mut |progress| {
        trials += u32::from(progress.step == "searching for the target size");
    });
    let size = report.unwrap().exports[0].size_bytes;
    assert!(
        size <= MAX_BYTES && size * 2 > MAX_BYTES,
        "{size} of {MAX_BYTES}"
    );
    assert!((1..=3).contains(&trials), "{trials}");
    let log = model.log("info.log");
    assert!(log.contains("rebaked: "), "{log}");
    // What fits is made once.
    let model = noisy();
    let mut trials = 0;
    let report = model.optimize_with(with_target(20.0, 9.0), &mut |progress| {
        trials += u32::from(progress.step == "searching for the target size");
    });
    assert!(report.unwrap().exports[0].size_bytes > MAX_BYTES);
    assert_eq!(trials, 0);
}

#[test]
fn maps_without_an_effect_are_named() {
    let glass = pair(|_, json| {
        json["materials"][1]["extensions"] = json!({ "KHR_materials_transmission": {} });
        json["extensionsUsed"] = json!(["KHR_materials_transmission"]);
    });
    let both = json!({ "bakeNormalMap": true, "bakeAOMap": true });
    let plain = |percentage: f64, baking: &Value| {
        let mut config = config(percentage, baking.clone());
        let simplification = config["assetSimplification"].as_object_mut().unwrap();
        simplification.remove("meshDecimation");
        config
    };
    for (model, config, lines) in [
        (
            &glass,
            config(20.0, both.clone()),
            &["bakeNormalMap has no effect", "bakeAOMap has no effect"][..],
        ),
        (
            &glass,
            config(100.0, both.clone()),
            &["bakeNormalMap has no effect", "bakeAOMap has no effect"],
        ),
        // A limit that removes no triangle.
        (
            &pair(|_, _| {}),
            plain(100.0, &json!({ "bakeNormalMap": true })),
            &["bakeNormalMap has no effect, because no face limit removes triangles"],
        ),
        (
            &lone_plate(),
            plain(100.0, &json!({ "bakeAOMap": true })),
            &["no maps were baked for the material plate, because the result would be flat"],
        ),
    ] {
        let warnings = model.optimize(config).unwrap().warnings.lines();
        for line in lines {
            let found = warnings.iter().filter(|known| known.starts_with(line));
            assert_eq!(found.count(), 1, "{line}: {warnings:?}");
        }
    }
}

#[test]
fn a_model_too_small_for_floats_is_simplified_in_the_usual_way() {
    let tiny = pair(|_, json| {
        for node in json["nodes"].as_array_mut().unwrap() {
            *node = json!({ "mesh": node["mesh"], "scale": [1e-15, 1e-15, 1e-15] });
        }
    });
    let both = json!({ "bakeNormalMap": true, "bakeAOMap": true });
    let report = tiny.optimize(config(20.0, both)).unwrap();
    assert!(report.result.triangles > 0);
    assert!(report.result.triangles <= report.source.triangles / 5);
}

/// A square that nothing darkens.
fn lone_plate() -> Model {
    let mut maker = Maker::default();
    let primitive = json!({
        "attributes": {
            "POSITION": maker.floats("VEC3", &[0., 0., 0., 1., 0., 0., 1., 1., 0., 0., 1., 0.]),
            "NORMAL": maker.floats("VEC3", &[0., 0., 1.].repeat(4)),
            "TEXCOORD_0": maker.floats("VEC2", &[0., 1., 1., 1., 1., 0., 0., 0.]),
        },
        "indices": maker.indices(&[0, 1, 2, 0, 2, 3]), "material": 0,
    });
    let (json, bin) = maker.finish(json!({
        "scene": 0, "scenes": [{ "nodes": [0] }], "nodes": [{ "mesh": 0 }],
        "meshes": [{ "primitives": [primitive] }], "materials": [{ "name": "plate" }],
    }));
    Model::new(&json, &bin, &[])
}

#[test]
fn models_without_textures_look_no_worse_than_plain_simplification() {
    const ALLOWED: f64 = 0.002;
    let mut maker = Maker::default();
    let meshes: Vec<Value> = (0..4)
        .map(|number| {
            let center = [number as f32 * 0.9, (number % 2) as f32 * 0.7, 0.0];
            let mut primitive = sphere_primitive(&mut maker, 20, center, 0.6 + number as f32 * 0.1);
            primitive["material"] = json!(number);
            json!({ "primitives": [primitive] })
        })
        .collect();
    let material = |number: usize| {
        let shade = 0.2 + number as f32 * 0.25;
        json!({ "pbrMetallicRoughness": {
            "baseColorFactor": [shade, 1.0 - shade, 0.4, 1.0], "metallicFactor": 0.0, "roughnessFactor": 0.8,
        } })
    };
    let (json, bin) = maker.finish(json!({
        "scene": 0, "scenes": [{ "nodes": [0, 1, 2, 3] }],
        "nodes": [{ "mesh": 0 }, { "mesh": 1 }, { "mesh": 2 }, { "mesh": 3 }],
        "meshes": meshes, "materials": [material(0), material(1), material(2), material(3)],
    }));
    let model = Model::new(&json, &bin, &[]);
    for percentage in [10.0, 3.0] {
        model
            .optimize(json!({ "limits": { "faces": { "percentage": percentage } } }))
            .unwrap();
        let plain = difference(&model, &model.result("model.glb"));
        for baking in [json!({}), json!({ "bakeNormalMap": true })] {
            model.optimize(config(percentage, baking.clone())).unwrap();
            let found = difference(&model, &model.result("model.glb"));
            assert!(
                found <= plain + ALLOWED,
                "{percentage} % {baking}: {found}, plain {plain}"
            );
        }
    }
    // The shape is baked, because a normal map is asked for.
    rebaked(&model, 3.0, json!({ "bakeNormalMap": true }));
}

#[test]
fn geometry_that_materials_share_gets_maps_for_each() {
    let model = pair(|_, json| {
        let mut shared = json["meshes"][0].clone();
        shared["primitives"][0]["material"] = 1.into();
        json["meshes"][1] = shared;
        json["nodes"][1]["translation"] = json!([1.5, 0.0, 0.0]);
    });
    let mut config = config(30.0, json!({ "bakeNormalMap": true, "bakeAOMap": true }));
    let simplification = config["assetSimplification"].as_object_mut().unwrap();
    simplification.remove("meshDecimation");
    model.optimize(config).unwrap();
    crate::validators::assert_valid(&model.dir.path().join("out/exports"));
    let result = model.result("model.glb");
    let occlusion = [0, 1].map(|material| {
        let material = result.material(Some(material));
        assert!(material.normal_texture.is_some());
        let texture = material
            .occlusion_texture
            .expect("the spheres darken each other");
        result.images[texture.image].bytes.clone()
    });
    // They stand on different sides of each other.
    assert!(occlusion[0] != occlusion[1]);
    for primitive in result.meshes.iter().flat_map(|mesh| &mesh.primitives) {
        let tangents = result.geometries[primitive.geometry]
            .attribute("TANGENT")
            .expect("tangents");
        let is_unit = |tangent: &[f32]| {
            let length = tangent[..3]
                .iter()
                .map(|part| part * part)
                .sum::<f32>()
                .sqrt();
            (length - 1.0).abs() < 1e-3 && tangent[3].abs() == 1.0
        };
        assert!(tangents.values.chunks_exact(4).all(is_unit));
    }
}
