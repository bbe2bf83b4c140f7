//! What formats leave out of a model stands in the warning log, in one line for each format.

use assetfs_engine::job::{AnalyseTask, Pictures, Task, run_with};
use serde_json::{Value, json};

use super::gltf::{Maker, Model};
use super::shapes::{png, sphere_primitive};
use crate::log_lines::LogLines as _;
use crate::square_glb::changed_glb;

/// A sphere of a material with most of what glTF has, below a camera and a light.
fn rich() -> Model {
    let mut maker = Maker::default();
    let mut primitive = sphere_primitive(&mut maker, 8, [0.0; 3], 1.0);
    let vertices = 9 * 17;
    let attributes = &mut primitive["attributes"];
    attributes["TEXCOORD_1"] = maker.floats("VEC2", &vec![0.25; vertices * 2]).into();
    attributes["COLOR_0"] = maker.floats("VEC4", &vec![0.5; vertices * 4]).into();
    primitive["material"] = 0.into();
    primitive["extensions"] = json!({ "KHR_materials_variants": {
        "mappings": [{ "material": 1, "variants": [0] }],
    } });
    let material = json!({
        "pbrMetallicRoughness": {
            "baseColorTexture": { "index": 0, "extensions": { "KHR_texture_transform": { "scale": [2, 2] } } },
            "metallicRoughnessTexture": { "index": 0 },
        },
        "normalTexture": { "index": 0, "scale": 0.5, "texCoord": 1 },
        "occlusionTexture": { "index": 0 },
        "emissiveFactor": [1, 1, 1],
        "alphaMode": "MASK", "doubleSided": true,
        "extensions": {
            "KHR_materials_clearcoat": { "clearcoatFactor": 0.75, "clearcoatRoughnessFactor": 0.25, "clearcoatTexture": { "index": 0 } },
            "KHR_materials_emissive_strength": { "emissiveStrength": 3 },
            "KHR_materials_ior": { "ior": 1.25 },
            "KHR_materials_sheen": {}, "KHR_materials_volume": {},
        },
    });
    let (json, bin) = maker.finish(json!({
        "scene": 0, "scenes": [{ "nodes": [0, 1, 2] }],
        "nodes": [
            { "mesh": 0 }, { "camera": 0 },
            { "extensions": { "KHR_lights_punctual": { "light": 0 } } },
        ],
        "cameras": [{ "type": "perspective", "perspective": { "yfov": 1.0, "znear": 0.1 } }],
        "meshes": [{ "primitives": [primitive] }],
        "materials": [material, { "name": "other" }],
        "samplers": [{ "wrapS": 33071 }],
        "textures": [{ "source": 0, "sampler": 0 }], "images": [{ "uri": "all.png" }],
        "extensionsUsed": [
            "KHR_lights_punctual", "KHR_materials_clearcoat", "KHR_materials_emissive_strength", "KHR_materials_ior",
            "KHR_materials_sheen", "KHR_materials_variants", "KHR_materials_volume", "KHR_texture_transform",
        ],
        "extensions": {
            "KHR_lights_punctual": { "lights": [{ "type": "point" }] },
            "KHR_materials_variants": { "variants": [{ "name": "blue" }] },
        },
    }));
    let colour = png(8, |x, y| [x as u8 * 30, y as u8 * 30, 9, 255]);
    Model::new(&json, &bin, &[("all.png", colour)])
}

fn export(model: &Model, formats: &[&str]) -> Vec<String> {
    let exports: Vec<Value> = formats
        .iter()
        .map(|format| json!({ "fileType": format }))
        .collect();
    let report = model.optimize(json!({ "compressionAndExport": { "fileExports": exports } }));
    report.unwrap().warnings.lines()
}

#[test]
fn each_format_names_in_one_line_what_it_cannot_hold() {
    let warnings = export(&rich(), &["glb", "fbx", "usdz", "obj", "ply", "stl", "fbx"]);
    let found: Vec<&String> = warnings
        .iter()
        .filter(|line| line.contains("cannot hold"))
        .collect();
    let everywhere = "cameras, lights, material variants";
    let extensions = "material extensions (KHR_materials_sheen, KHR_materials_volume)";
    let all =
        "KHR_materials_clearcoat, KHR_materials_ior, KHR_materials_sheen, KHR_materials_volume";
    assert_eq!(
        found,
        [
            &format!(
                "fbx cannot hold: {everywhere}, occlusion textures, alpha cutoffs (these materials are blended), \
                 double-sided materials (only readers of the glTF material of 3ds Max know of them), \
                 material extensions ({all}) [not-held]"
            ),
            &format!(
                "usdz cannot hold: {everywhere}, vertex colours (they are left out where the base colour has a texture), \
                 the alpha of vertex colours, clearcoat textures, {extensions} [not-held]"
            ),
            &format!(
                "obj cannot hold: {everywhere}, more than one set of texture coordinates, the alpha of vertex colours, \
                 occlusion textures, clamped textures, \
                 alpha cutoffs (these materials are blended), emission above 1, double-sided materials, material extensions ({all}) [not-held]"
            ),
            &format!(
                "ply cannot hold: {everywhere}, more than one set of texture coordinates, materials [not-held]"
            ),
            &format!(
                "stl cannot hold: {everywhere}, texture coordinates, vertex colours, materials [not-held]"
            ),
        ]
    );
}

#[test]
fn scenes_besides_the_default_one_are_named_as_lost() {
    let bytes = changed_glb(|json| {
        json["scenes"] = json!([{ "nodes": [0] }, { "nodes": [1] }]);
        json["nodes"] = json!([{ "mesh": 0 }, { "mesh": 0, "translation": [3, 0, 0] }]);
    });
    let model = Model::of_file("m.glb", &bytes);
    let formats = ["glb", "fbx", "usdz", "obj", "ply", "stl"];
    let warnings = export(&model, &formats);
    let named = |format: &str| {
        let line = format!("{format} cannot hold: scenes besides the default one");
        warnings.iter().any(|warning| warning.starts_with(&line))
    };
    let found: Vec<bool> = formats.iter().map(|format| named(format)).collect();
    assert_eq!(found, [false, true, true, true, true, true], "{warnings:?}");
}

#[test]
fn usdz_keeps_coats_and_the_index_of_refraction() {
    let model = rich();
    export(&model, &["usdz"]);
    let scene = model.result("model.usdz");
    let extensions = &scene.list("materials")[0]["extensions"];
    let coat = &extensions["KHR_materials_clearcoat"];
    assert_eq!(coat["clearcoatFactor"], 0.75, "{extensions}");
    assert_eq!(coat["clearcoatRoughnessFactor"], 0.25, "{extensions}");
    assert_eq!(extensions["KHR_materials_ior"]["ior"], 1.25, "{extensions}");
}

#[test]
fn automatic_conversions_name_what_they_leave_out() {
    let body = "#usda 1.0\n(\n    metersPerUnit = 1\n    upAxis = \"Y\"\n)\ndef Mesh \"m\"\n{\n    \
        uniform bool doubleSided = 1\n    int[] faceVertexCounts = [3]\n    int[] faceVertexIndices = [0, 1, 2]\n    \
        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]\n}\n";
    let model = Model::of_file("sheet.usda", body.as_bytes());
    let task = Task::Analyse(AnalyseTask {
        input_dir: model.dir.path().join("in"),
        files: vec!["sheet.usda".to_owned()],
        output_dir: model.dir.path().join("out"),
    });
    let report = run_with(&task, Pictures::Skipped, &mut |_| {}).unwrap();
    let lines = report.warnings.lines().into_iter();
    let lines: Vec<String> = lines.filter(|line| line.contains("cannot hold")).collect();
    assert_eq!(
        lines,
        [
            "fbx cannot hold: double-sided materials (only readers of the glTF material of 3ds Max know of them) [not-held]"
        ]
    );
}
