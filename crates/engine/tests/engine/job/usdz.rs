//! USDZ: meshes that are drawn more than once, and nodes that are hidden at rest.

use std::io::Read as _;

use serde_json::{Value, json};

use super::gltf::{Maker, Model};
use super::shapes::{png, sphere, sphere_primitive};
use crate::validators::assert_usd_has_no_issue;

/// A sphere that nodes draw, with more members of the document.
fn sphere_of(nodes: Value, members: impl FnOnce(&mut Maker, &mut Value)) -> Model {
    let mut maker = Maker::default();
    let primitive = sphere_primitive(&mut maker, 12, [0.0, 1.0, 0.0], 0.5);
    let roots: Vec<usize> = (0..nodes.as_array().unwrap().len()).collect();
    let mut json = json!({
        "scene": 0, "scenes": [{ "nodes": roots }], "nodes": nodes,
        "meshes": [{ "name": "ball", "primitives": [primitive] }],
    });
    members(&mut maker, &mut json);
    let (json, bin) = maker.finish(json);
    Model::new(&json, &bin, &[])
}

/// Exports a model as usdz and glb, and checks that both draw the same. Returns the stage.
fn stage_of(model: &Model) -> String {
    stage_with_score(model, 99.8)
}

/// As [`stage_of`], with the least score.
fn stage_with_score(model: &Model, least: f64) -> String {
    let exports = json!([{ "fileType": "usdz" }, { "fileType": "glb" }]);
    let report =
        model.optimize_and_compare(json!({ "compressionAndExport": { "fileExports": exports } }));
    assert_eq!(report.exports[0].triangles, report.exports[1].triangles);
    let quality = report.exports[0].quality.as_ref().unwrap();
    assert!(quality.avg_score >= least, "{}", quality.avg_score);
    let path = model.dir.path().join("out/exports/model.usdz");
    assert_usd_has_no_issue(&path);
    let boxes = ["model.usdz", "model.glb"].map(|name| model.result(name).bounds().unwrap());
    assert!(
        boxes[0].min.abs_diff_eq(boxes[1].min, 1e-4)
            && boxes[0].max.abs_diff_eq(boxes[1].max, 1e-4),
        "{boxes:?}"
    );
    let mut archive = zip::ZipArchive::new(std::fs::File::open(path).unwrap()).unwrap();
    let mut text = String::new();
    archive
        .by_name("model.usda")
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    text
}

fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

#[test]
fn a_mesh_that_nodes_share_is_written_once() {
    let nodes = json!([
        { "mesh": 0, "name": "left", "translation": [-3.0, 0.0, 0.0] },
        { "mesh": 0, "name": "mirrored", "scale": [-1.0, 2.0, 1.0] },
        { "mesh": 0, "name": "Meshes", "rotation": [0.0, 0.0, 1.0, 0.0], "translation": [3.0, 0.0, 0.0] },
    ]);
    let model = sphere_of(nodes, |_, _| {});
    let text = stage_of(&model);
    assert_eq!(count(&text, "point3f[] points"), 1);
    assert_eq!(count(&text, "prepend references = </Root/Meshes/ball>"), 3);
    assert!(text.contains("def Xform \"Meshes_2\""));
    // The importer shares it again.
    assert_eq!(model.result("model.usdz").meshes.len(), 1);
}

#[test]
fn a_mesh_that_is_drawn_once_stays_with_its_node() {
    let model = sphere_of(json!([{ "mesh": 0 }]), |_, _| {});
    let text = stage_of(&model);
    assert_eq!(count(&text, "point3f[] points"), 1);
    assert_eq!(count(&text, "references"), 0);
    assert_eq!(count(&text, "\"Meshes\""), 0);
}

#[test]
fn instances_of_a_node_share_the_mesh() {
    let model = sphere_of(
        json!([{ "mesh": 0, "translation": [0.0, 5.0, 0.0] }]),
        |maker, json| {
            let places: Vec<f32> = (0..20).flat_map(|at| [at as f32, 0.0, 0.0]).collect();
            let places = maker.floats("VEC3", &places);
            json["nodes"][0]["extensions"] =
                json!({ "EXT_mesh_gpu_instancing": { "attributes": { "TRANSLATION": places } } });
            json["extensionsUsed"] = json!(["EXT_mesh_gpu_instancing"]);
        },
    );
    let text = stage_of(&model);
    assert_eq!(count(&text, "point3f[] points"), 1);
    assert_eq!(count(&text, "instanceable = true"), 20);
}

#[test]
fn nodes_with_other_weights_of_morph_targets_do_not_share_a_mesh() {
    let nodes = json!([
        { "mesh": 0, "weights": [0.0] }, { "mesh": 0, "weights": [1.0], "translation": [3.0, 0.0, 0.0] },
    ]);
    let model = sphere_of(nodes, |maker, json| {
        let primitive = &mut json["meshes"][0]["primitives"][0];
        let (positions, _, _, _) = sphere(12, [0.0; 3], 1.0);
        primitive["targets"] = json!([{ "POSITION": maker.floats("VEC3", &positions) }]);
    });
    let text = stage_of(&model);
    assert_eq!(count(&text, "point3f[] points"), 2);
}

#[test]
fn every_set_of_texture_coordinates_is_written() {
    let model = sphere_of(json!([{ "mesh": 0 }]), |maker, json| {
        let primitive = &mut json["meshes"][0]["primitives"][0];
        let (_, _, coords, _) = sphere(12, [0.0; 3], 1.0);
        for set in 1..4 {
            let coords: Vec<f32> = coords.iter().map(|part| part / set as f32).collect();
            primitive["attributes"][format!("TEXCOORD_{set}")] =
                maker.floats("VEC2", &coords).into();
        }
        primitive["material"] = 0.into();
        json["materials"] = json!([{
            "pbrMetallicRoughness": {
                "baseColorTexture": { "index": 0, "texCoord": 3 },
                "metallicRoughnessTexture": { "index": 0, "texCoord": 2 },
                "metallicFactor": 0.0,
            },
        }]);
        json["textures"] = json!([{ "source": 0 }]);
        let pixels = png(8, |x, y| [x as u8 * 30, y as u8 * 30, 90, 255]);
        let view = maker.views.len();
        maker.bin.resize(maker.bin.len().next_multiple_of(4), 0);
        maker.views.push(json!({
            "buffer": 0, "byteOffset": maker.bin.len(), "byteLength": pixels.len(),
        }));
        maker.bin.extend(pixels);
        json["images"] = json!([{ "bufferView": view, "mimeType": "image/png" }]);
    });
    let text = stage_of(&model);
    for name in ["st", "st1", "st2", "st3"] {
        let attribute = format!("texCoord2f[] primvars:{name} = ");
        assert_eq!(count(&text, &attribute), 1, "{name}");
    }
    let scene = model.result("model.usdz");
    let texture = scene.material(Some(0)).base_color_texture.unwrap();
    assert_eq!(texture.tex_coord, 3);
}

/// A normal map whose factor would not be a plain scale: the factor is in the pixels.
#[test]
fn strengths_of_normal_maps_are_in_their_pixels() {
    let model = sphere_of(json!([{ "mesh": 0 }]), |maker, json| {
        let primitive = &mut json["meshes"][0]["primitives"][0];
        let (_, _, coords, _) = sphere(12, [0.0; 3], 1.0);
        primitive["attributes"]["TEXCOORD_0"] = maker.floats("VEC2", &coords).into();
        primitive["material"] = 0.into();
        json["materials"] = json!([{ "normalTexture": { "index": 0, "scale": 0.5 }, "pbrMetallicRoughness": { "metallicFactor": 0.0 } }]);
        json["textures"] = json!([{ "source": 0 }]);
        let pixels = png(8, |_, _| [204, 128, 230, 255]);
        let view = maker.views.len();
        maker.bin.resize(maker.bin.len().next_multiple_of(4), 0);
        maker.views.push(json!({
            "buffer": 0, "byteOffset": maker.bin.len(), "byteLength": pixels.len(),
        }));
        maker.bin.extend(pixels);
        json["images"] = json!([{ "bufferView": view, "mimeType": "image/png" }]);
    });
    // Eight bits have no zero: rounding turns the whole map by a fraction of a degree.
    let text = stage_with_score(&model, 99.0);
    assert!(
        text.contains("float4 inputs:scale = (2, 2, 2, 1)"),
        "{text}"
    );
    assert!(
        text.contains("float4 inputs:bias = (-1, -1, -1, 0)"),
        "{text}"
    );
    let scene = model.result("model.usdz");
    assert_eq!(scene.material(Some(0)).normal_scale, 1.0);
    let pixel = image::load_from_memory(&scene.images[0].bytes)
        .unwrap()
        .into_rgb8()[(0, 0)];
    // (0.6, 0, 0.8) with half of x.
    assert!(
        pixel[0].abs_diff(172) <= 1 && pixel[2].abs_diff(247) <= 1,
        "{pixel:?}"
    );
}

#[test]
fn a_node_that_is_hidden_at_rest_keeps_its_points() {
    let nodes = json!([
        { "mesh": 0, "name": "still", "translation": [3.0, 0.0, 0.0] },
        { "mesh": 1, "name": "pops up", "scale": [0.0, 0.0, 0.0] },
    ]);
    let model = sphere_of(nodes, |maker, json| {
        let primitive = sphere_primitive(maker, 8, [0.0; 3], 1.0);
        let star = json!({ "name": "star", "primitives": [primitive] });
        json["meshes"].as_array_mut().unwrap().push(star);
        let times = maker.floats("SCALAR", &[0.0, 1.0]);
        let scales = maker.floats("VEC3", &[0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
        json["animations"] = json!([{
            "channels": [{ "sampler": 0, "target": { "node": 1, "path": "scale" } }],
            "samplers": [{ "input": times, "output": scales }],
        }]);
    });
    let text = stage_of(&model);
    assert!(!text.contains("NaN"), "{text}");
    assert_eq!(count(&text, "point3f[] points"), 2);
}
