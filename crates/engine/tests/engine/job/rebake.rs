//! Rebaking: one mesh and one set of textures for each use of alpha, at least as good as plain simplification, or not
//! done with a reason.

use std::fs;

use assetfs_engine::job::Report;
use assetfs_engine::pictures::ModelPictures;
use assetfs_engine::scene::{AlphaMode, Scene};
use serde_json::{Value, json};

use super::gltf::{Maker, Model};
use super::shapes::{bar, boxes, decode, png, sphere_primitive, spheres};
use crate::log_lines::LogLines as _;
use crate::validators::assert_valid;

/// A chequerboard of two colours.
fn chequered(one: [u8; 4], other: [u8; 4]) -> Vec<u8> {
    png(64, |x, y| {
        if (x / 16 + y / 16) % 2 == 0 {
            one
        } else {
            other
        }
    })
}

/// Two spheres side by side, each with a chequerboard of its own. `change` may change the JSON.
pub fn pair(change: impl FnOnce(&mut Maker, &mut Value)) -> Model {
    let mut maker = Maker::default();
    let meshes: Vec<Value> = (0..2)
        .map(|number| {
            let center = [number as f32 * 1.5, 0.0, 0.0];
            let mut primitive = sphere_primitive(&mut maker, 20, center, 1.0);
            primitive["material"] = json!(number);
            json!({ "primitives": [primitive] })
        })
        .collect();
    let material = |texture: usize| {
        json!({ "pbrMetallicRoughness": {
            "baseColorTexture": { "index": texture }, "metallicFactor": 0.0,
        } })
    };
    let mut json = json!({
        "scene": 0, "scenes": [{ "nodes": [0, 1] }], "nodes": [{ "mesh": 0 }, { "mesh": 1 }],
        "meshes": meshes, "materials": [material(0), material(1)],
        "textures": [{ "source": 0 }, { "source": 1 }],
        "images": [{ "uri": "one.png" }, { "uri": "two.png" }],
    });
    change(&mut maker, &mut json);
    let (json, bin) = maker.finish(json);
    let images = [
        (
            "one.png",
            chequered([250, 200, 40, 255], [20, 60, 160, 255]),
        ),
        ("two.png", chequered([200, 20, 30, 255], [20, 160, 60, 90])),
    ];
    Model::new(&json, &bin, &images)
}

/// A configuration that rebakes to a share of the faces, with more settings of baking.
pub fn config(percentage: f64, baking: Value) -> Value {
    let mut baking = baking;
    baking["bakingQuality"] = json!("low");
    let side = 256;
    json!({
        "limits": {
            "faces": { "percentage": percentage },
            "textures": { "baseColor": side, "normal": side, "orm": side, "emissive": side },
        },
        "assetSimplification": {
            "meshDecimation": { "method": "rebake" },
            "materialAndTextureBaking": baking,
        },
    })
}

pub fn rebaked(model: &Model, percentage: f64, baking: Value) -> (Report, Scene) {
    let report = model.optimize(config(percentage, baking)).unwrap();
    let log = model.log("info.log");
    assert!(
        log.contains("rebaked: "),
        "{log}{}",
        model.log("warning.log")
    );
    assert_valid(&model.dir.path().join("out/exports"));
    (report, model.result("model.glb"))
}

/// The mean difference of the pictures of a model and its result.
pub fn difference(model: &Model, result: &Scene) -> f64 {
    let files: Vec<String> = fs::read_dir(model.dir.path().join("in"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let source = assetfs_engine::import::import(&model.dir.path().join("in"), &files).unwrap();
    let source = ModelPictures::draw(&source.scene);
    source
        .compare(&source.draw_where_it_is(result))
        .mean_difference()
}

pub fn alpha_modes(scene: &Scene) -> Vec<AlphaMode> {
    let primitives = scene.meshes.iter().flat_map(|mesh| &mesh.primitives);
    primitives
        .map(|primitive| scene.material(primitive.material).alpha_mode)
        .collect()
}

#[test]
fn two_materials_become_one_that_looks_better_than_plain_simplification() {
    let model = pair(|_, _| {});
    let (report, result) = rebaked(&model, 8.0, json!({}));
    assert!(report.result.triangles <= report.source.triangles * 8 / 100);
    assert_eq!(alpha_modes(&result), [AlphaMode::Opaque]);
    assert_eq!(result.images.len(), 1);
    let baked = difference(&model, &result);
    let first = fs::read(model.dir.path().join("out/exports/model.glb")).unwrap();
    model.optimize(config(8.0, json!({}))).unwrap();
    let again = fs::read(model.dir.path().join("out/exports/model.glb")).unwrap();
    assert!(first == again, "the same source gave other bytes");
    model
        .optimize(json!({ "limits": { "faces": { "percentage": 8.0 } } }))
        .unwrap();
    let plain = difference(&model, &model.result("model.glb"));
    assert!(baked < plain, "{baked} is not below {plain}");
}

#[test]
fn instances_mirrored_parts_and_vertex_colours_are_baked_where_they_are() {
    let model = pair(|maker, json| {
        let count = json["meshes"][0]["primitives"][0]["attributes"]["POSITION"].as_u64();
        let count = maker.accessors[count.unwrap() as usize]["count"]
            .as_u64()
            .unwrap() as usize;
        let dark: Vec<f32> = (0..count).flat_map(|_| [0.2, 0.4, 0.4]).collect();
        json["meshes"][0]["primitives"][0]["attributes"]["COLOR_0"] =
            maker.floats("VEC3", &dark).into();
        let places = maker.floats("VEC3", &[0.0, 0.0, 0.0, 0.0, 2.5, 0.0]);
        json["nodes"][0]["extensions"] =
            json!({ "EXT_mesh_gpu_instancing": { "attributes": { "TRANSLATION": places } } });
        json["extensionsUsed"] = json!(["EXT_mesh_gpu_instancing"]);
        json["nodes"][1]["scale"] = json!([-1.0, 1.0, 1.0]);
        json["nodes"][1]["translation"] = json!([5.0, 0.0, 0.0]);
    });
    let (report, result) = rebaked(&model, 15.0, json!({}));
    assert!(report.result.triangles <= report.source.triangles * 15 / 100);
    assert_eq!(result.meshes.len(), 1);
    assert!(!result.uses_extension("EXT_mesh_gpu_instancing"));
    let apart = difference(&model, &result);
    assert!(apart < 0.06, "{apart}");
}

#[test]
fn shape_is_baked_into_normals_and_occlusion_on_request() {
    let model = spheres();
    let baking = json!({ "bakeNormalMap": true, "bakeAOMap": true });
    let (_, result) = rebaked(&model, 5.0, baking);
    let material = result.material(Some(0));
    assert!(material.normal_texture.is_some());
    let occlusion = material.occlusion_texture.expect("parts darken each other");
    let pixels = decode(&result.images[occlusion.image].bytes);
    let darkest = pixels.pixels().map(|pixel| pixel.0[0]).min().unwrap();
    assert!(darkest < 240, "nothing is darker than {darkest}");
    let geometry = &result.geometries[result.meshes[0].primitives[0].geometry];
    assert!(geometry.attribute("TANGENT").is_some());
}

#[test]
fn what_cannot_be_baked_is_simplified_with_a_reason() {
    let animated = pair(|maker, json| {
        let times = maker.floats("SCALAR", &[0.0, 1.0]);
        let places = maker.floats("VEC3", &[0.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
        json["animations"] = json!([{
            "samplers": [{ "input": times, "output": places }],
            "channels": [{ "sampler": 0, "target": { "node": 1, "path": "translation" } }],
        }]);
    });
    let glass = pair(|_, json| {
        json["materials"][1]["extensions"] = json!({ "KHR_materials_transmission": {} });
        json["extensionsUsed"] = json!(["KHR_materials_transmission"]);
    });
    let within = boxes(json!({}), |_, _| {});
    for (model, percentage, reason) in [
        (bar(), 50.0, "the model has skins"),
        (animated, 20.0, "animations move parts of the model"),
        (glass, 20.0, "KHR_materials_transmission cannot be baked"),
        (spheres(), 20.0, "no material has a texture"),
        (within, 100.0, "no face limit removes triangles"),
    ] {
        let report = model.optimize(config(percentage, json!({}))).unwrap();
        let is_named = |line: &String| line.starts_with("not rebaked: ") && line.contains(reason);
        assert!(
            report.warnings.lines().iter().any(is_named),
            "{reason}: {:?}",
            report.warnings.lines()
        );
        let most = report.source.triangles as f64 * percentage / 100.0;
        assert!(
            report.result.triangles as f64 <= most,
            "{reason}: {report:?}"
        );
        assert_valid(&model.dir.path().join("out/exports"));
    }
}
