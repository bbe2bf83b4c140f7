//! Maps that are baked into the texture coordinates that a model has: right, or refused with a reason.

use serde_json::{Value, json};

use super::gltf::{Maker, Model};
use super::rebake::{config, difference, pair};
use super::shapes::{bar, decode, spheres};
use crate::log_lines::LogLines as _;
use crate::validators::assert_valid;

/// A configuration that bakes maps without the method `rebake`.
fn without_rebaking(percentage: f64, baking: Value) -> Value {
    let mut config = config(percentage, baking);
    let simplification = config["assetSimplification"].as_object_mut().unwrap();
    simplification.remove("meshDecimation");
    config
}

/// A square with waves, whose texture coordinates are its places. `change` may change the JSON.
fn waves(change: impl FnOnce(&mut Value)) -> Model {
    const STEPS: u32 = 60;
    const HEIGHT: f32 = 0.012;
    const TURNS: f32 = 40.0;
    let mut maker = Maker::default();
    let (mut positions, mut normals, mut coords) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..=STEPS {
        for column in 0..=STEPS {
            let (x, y) = (column as f32 / STEPS as f32, row as f32 / STEPS as f32);
            let (along, across) = ((x * TURNS).sin_cos(), (y * TURNS).sin_cos());
            positions.extend([x, y, HEIGHT * along.0 * across.0]);
            let slope = [along.1 * across.0, along.0 * across.1].map(|part| part * HEIGHT * TURNS);
            let length = (slope[0] * slope[0] + slope[1] * slope[1] + 1.0).sqrt();
            normals.extend([-slope[0] / length, -slope[1] / length, 1.0 / length]);
            coords.extend([x, 1.0 - y]);
        }
    }
    let corner = |row: u32, column: u32| row * (STEPS + 1) + column;
    let indices: Vec<u32> = (0..STEPS * STEPS)
        .flat_map(|at| {
            let (row, column) = (at / STEPS, at % STEPS);
            let [a, b] = [corner(row, column), corner(row, column + 1)];
            let [c, d] = [corner(row + 1, column), corner(row + 1, column + 1)];
            [a, b, c, c, b, d]
        })
        .collect();
    let primitive = json!({
        "attributes": {
            "POSITION": maker.floats("VEC3", &positions),
            "NORMAL": maker.floats("VEC3", &normals),
            "TEXCOORD_0": maker.floats("VEC2", &coords),
        },
        "indices": maker.indices(&indices), "material": 0,
    });
    let mut json = json!({
        "scene": 0, "scenes": [{ "nodes": [0] }], "nodes": [{ "mesh": 0 }],
        "meshes": [{ "primitives": [primitive] }],
        "materials": [{ "name": "water", "pbrMetallicRoughness": { "metallicFactor": 0.0 } }],
    });
    change(&mut json);
    let (json, bin) = maker.finish(json);
    Model::new(&json, &bin, &[])
}

#[test]
fn baked_normals_show_the_shape_that_simplification_removed() {
    let mirrored = |json: &mut Value| json["nodes"][0]["scale"] = json!([-1.0, 1.0, 1.0]);
    let turned = |json: &mut Value| json["nodes"][0]["rotation"] = json!([0.0, 0.6, 0.0, 0.8]);
    let models = [
        ("as it is", waves(|_| {})),
        ("mirrored", waves(mirrored)),
        ("turned", waves(turned)),
    ];
    for (kind, model) in models {
        model.optimize(without_rebaking(4.0, json!({}))).unwrap();
        let plain = difference(&model, &model.result("model.glb"));
        let baking = json!({ "bakeNormalMap": true });
        let report = model.optimize(without_rebaking(4.0, baking)).unwrap();
        assert!(report.result.triangles <= report.source.triangles * 4 / 100);
        assert_valid(&model.dir.path().join("out/exports"));
        let result = model.result("model.glb");
        assert!(result.material(Some(0)).normal_texture.is_some(), "{kind}");
        let baked = difference(&model, &result);
        assert!(baked < plain * 0.7, "{kind}: {baked} of {plain}");
        let log = model.log("info.log");
        assert!(
            log.contains("baked normals for the material water"),
            "{log}"
        );
    }
}

#[test]
fn flipping_normal_maps_leaves_baked_ones_as_they_are() {
    let baked = |flips: bool| {
        let model = waves(|_| {});
        let mut config = without_rebaking(4.0, json!({ "bakeNormalMap": true }));
        config["import"] = json!({ "general": { "normalmapYFlip": flips } });
        model.optimize(config).unwrap();
        let result = model.result("model.glb");
        let texture = result.material(Some(0)).normal_texture.unwrap();
        result.images[texture.image].bytes.clone()
    };
    assert!(baked(true) == baked(false));
}

#[test]
fn occlusion_is_baked_without_a_face_limit() {
    let model = pair(|_, _| {});
    let mut config = without_rebaking(100.0, json!({ "bakeAOMap": true }));
    config["limits"].as_object_mut().unwrap().remove("faces");
    let report = model.optimize(config).unwrap();
    assert_eq!(report.result.triangles, report.source.triangles);
    assert_valid(&model.dir.path().join("out/exports"));
    let result = model.result("model.glb");
    for material in [0, 1] {
        let material = result.material(Some(material));
        assert!(material.base_color_texture.is_some());
        let texture = material
            .occlusion_texture
            .expect("the spheres darken each other");
        let pixels = decode(&result.images[texture.image].bytes);
        let lights: Vec<u8> = pixels.pixels().map(|pixel| pixel.0[0]).collect();
        let (least, most) = (lights.iter().min().unwrap(), lights.iter().max().unwrap());
        assert!(*least < 200 && *most > 245, "{least} to {most}");
    }
}

#[test]
fn what_has_no_texels_of_its_own_gets_no_maps_and_a_reason() {
    let one_material = pair(|_, json| {
        json["meshes"][1]["primitives"][0]["material"] = 0.into();
    });
    let drawn_again = pair(|_, json| {
        json["nodes"]
            .as_array_mut()
            .unwrap()
            .push(json!({ "mesh": 0, "translation": [0, 3, 0] }));
        json["scenes"][0]["nodes"] = json!([0, 1, 2]);
    });
    let repeating = pair(|maker, json| {
        let set = json["meshes"][0]["primitives"][0]["attributes"]["TEXCOORD_0"].as_u64();
        let count = maker.accessors[set.unwrap() as usize]["count"]
            .as_u64()
            .unwrap();
        let coords: Vec<f32> = (0..count * 2).map(|at| at as f32 * 0.01).collect();
        json["meshes"][0]["primitives"][0]["attributes"]["TEXCOORD_0"] =
            maker.floats("VEC2", &coords).into();
    });
    let bare = pair(|_, json| {
        let attributes = &mut json["meshes"][0]["primitives"][0]["attributes"];
        attributes.as_object_mut().unwrap().remove("TEXCOORD_0");
        json["materials"][0] = json!({});
    });
    let unlit = pair(|_, json| {
        json["materials"][0]["extensions"] = json!({ "KHR_materials_unlit": {} });
        json["extensionsUsed"] = json!(["KHR_materials_unlit"]);
    });
    for (model, reason) in [
        (one_material, "% of its texels belong to several places"),
        (drawn_again, "a mesh of it is drawn 2 times"),
        (repeating, "its texture coordinates leave the texture"),
        (bare, "a mesh of it has no texture coordinates"),
        (unlit, "it is unlit"),
        (spheres(), "meshes without a material cannot have textures"),
        (bar(), "the model has skins"),
    ] {
        let baking = json!({ "bakeNormalMap": true, "bakeAOMap": true });
        let report = model.optimize(without_rebaking(50.0, baking)).unwrap();
        let is_named =
            |line: &String| line.starts_with("no maps were baked") && line.contains(reason);
        assert!(
            report.warnings.lines().iter().any(is_named),
            "{reason}: {:?}",
            report.warnings.lines()
        );
        let result = model.result("model.glb");
        let first = result.material(Some(0));
        assert!(
            first.normal_texture.is_none() && first.occlusion_texture.is_none(),
            "{reason}"
        );
        assert_valid(&model.dir.path().join("out/exports"));
    }
}

#[test]
fn settings_without_an_effect_are_named() {
    let model = pair(|_, _| {});
    let simplification =
        |baking: Value| json!({ "assetSimplification": { "materialAndTextureBaking": baking } });
    for (baking, line) in [
        (
            json!({ "bakeNormalMap": true }),
            "bakeNormalMap has no effect, because no face limit removes triangles [not-baked]",
        ),
        (
            json!({ "bakingQuality": "high" }),
            "bakingQuality and uvStretchTolerance have no effect where nothing is baked [setting-ignored]",
        ),
    ] {
        let report = model.optimize(simplification(baking)).unwrap();
        assert!(
            report.warnings.lines().iter().any(|found| found == line),
            "{:?}",
            report.warnings.lines()
        );
    }
}
