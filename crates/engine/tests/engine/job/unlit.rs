//! Unlit materials in formats that have only lit ones.

use serde_json::{Value, json};

use super::gltf::Model;
use super::shapes::{png, spheres, textured};
use crate::log_lines::LogLines as _;

fn unlit(material: Value) -> Model {
    let colour = png(8, |x, y| [x as u8 * 30, y as u8 * 30, 9, 255]);
    let model = textured(material, &[("photo.png", colour)]);
    model.change(|json| {
        json["extensionsUsed"] = json!(["KHR_materials_unlit"]);
        json["materials"][0]["extensions"] = json!({ "KHR_materials_unlit": {} });
    });
    model
}

fn export(model: &Model) -> Vec<String> {
    let report = model.optimize(json!({ "compressionAndExport": { "fileExports": [
        { "fileType": "usdz" }, { "fileType": "fbx" }, { "fileType": "obj" },
    ] } }));
    report.unwrap().warnings.lines()
}

#[test]
fn an_unlit_material_is_no_metal_in_other_formats() {
    let model = unlit(json!({ "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } } }));
    let warnings = export(&model);
    for name in ["model.usdz", "model.fbx", "model.obj"] {
        let found = model.result(name).material(Some(0));
        assert_eq!(found.metallic, 0.0, "{name}: {found:?}");
        let format = name.rsplit('.').next().unwrap();
        let is_named = |line: &String| line.starts_with(format) && line.contains("unlit materials");
        assert!(warnings.iter().any(is_named), "{format}: {warnings:?}");
    }
}

#[test]
fn an_unlit_material_shows_its_colour_as_emission_in_usdz() {
    let model = unlit(json!({ "pbrMetallicRoughness": {
        "baseColorTexture": { "index": 0 }, "baseColorFactor": [0.5, 0.25, 1.0, 1.0],
    } }));
    export(&model);
    let found = model.result("model.usdz").material(Some(0));
    assert_eq!(found.emissive, [0.5, 0.25, 1.0], "{found:?}");
    assert!(found.emissive_texture.is_some(), "{found:?}");
    assert_eq!(found.base_color, [0.0, 0.0, 0.0, 1.0], "{found:?}");
    let plain =
        unlit(json!({ "pbrMetallicRoughness": { "baseColorFactor": [0.5, 0.25, 1.0, 1.0] } }));
    export(&plain);
    let found = plain.result("model.usdz").material(Some(0));
    assert_eq!(found.emissive, [0.5, 0.25, 1.0], "{found:?}");
}

#[test]
fn a_lit_material_is_not_named_as_unlit() {
    let warnings = export(&spheres());
    let is_lost = |line: &String| line.contains("cannot hold");
    assert!(!warnings.iter().any(is_lost), "{warnings:?}");
}
