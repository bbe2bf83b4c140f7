//! FBX: factors of textures, emission, weights of morph targets.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use super::gltf::{Maker, Model};
use super::shapes::{decode, png, sphere, sphere_primitive, textured};

fn export(model: &Model, formats: &[&str]) {
    let exports: Vec<Value> = formats
        .iter()
        .map(|format| json!({ "fileType": format }))
        .collect();
    model
        .optimize(json!({ "compressionAndExport": { "fileExports": exports } }))
        .unwrap();
}

/// A byte of an sRGB colour after its light is multiplied.
fn dimmed(byte: u8, factor: f64) -> f64 {
    let value = f64::from(byte) / 255.0;
    let linear = match value <= 0.04045 {
        true => value / 12.92,
        false => ((value + 0.055) / 1.055).powf(2.4),
    };
    let light = linear * factor;
    255.0
        * match light <= 0.003_130_8 {
            true => light * 12.92,
            false => 1.055 * light.powf(1.0 / 2.4) - 0.055,
        }
}

fn assert_dimmed(image: &[u8], before: [u8; 3], factors: [f64; 3]) {
    let pixel = decode(image).get_pixel(1, 1).0;
    for channel in 0..3 {
        let expected = dimmed(before[channel], factors[channel]);
        let found = f64::from(pixel[channel]);
        assert!((found - expected).abs() <= 1.0, "{pixel:?} {expected}");
    }
}

#[test]
fn fbx_has_the_factors_of_colours_in_its_textures() {
    let colour = png(8, |_, _| [200, 100, 50, 255]);
    let glow = png(8, |_, _| [30, 130, 230, 255]);
    let material = json!({
        "pbrMetallicRoughness": {
            "baseColorTexture": { "index": 0 }, "baseColorFactor": [0.2, 0.5, 1.0, 1.0],
        },
        "emissiveTexture": { "index": 1 }, "emissiveFactor": [0.5, 0.25, 1.0],
    });
    let model = textured(material, &[("wood.png", colour), ("glow.png", glow)]);
    export(&model, &["fbx"]);
    let scene = model.result("model.fbx");
    let found = scene.material(Some(0));
    assert_eq!(found.base_color, [1.0; 4]);
    assert_eq!(found.emissive, [1.0; 3]);
    let bytes = |image: usize| &scene.images[image].bytes;
    let base = found.base_color_texture.unwrap().image;
    assert_dimmed(bytes(base), [200, 100, 50], [0.2, 0.5, 1.0]);
    let emissive = found.emissive_texture.unwrap().image;
    assert_dimmed(bytes(emissive), [30, 130, 230], [0.5, 0.25, 1.0]);
}

#[test]
fn one_image_with_two_factors_is_two_textures_in_fbx() {
    let colour = png(8, |x, _| [200, x as u8, 50, 128]);
    let material = json!({
        "pbrMetallicRoughness": {
            "baseColorTexture": { "index": 0 }, "baseColorFactor": [1.0, 1.0, 1.0, 0.5],
        },
        "alphaMode": "BLEND",
        "emissiveTexture": { "index": 0 }, "emissiveFactor": [1.0, 1.0, 1.0],
    });
    let model = textured(material, &[("wood.png", colour.clone())]);
    export(&model, &["fbx"]);
    let scene = model.result("model.fbx");
    let found = scene.material(Some(0));
    let base = found.base_color_texture.unwrap().image;
    let emissive = found.emissive_texture.unwrap().image;
    assert_eq!(found.base_color, [1.0; 4]);
    assert_eq!(
        decode(&scene.images[base].bytes).get_pixel(0, 0).0,
        [200, 0, 50, 64]
    );
    assert_eq!(scene.images[emissive].bytes, colour);
}

#[test]
fn a_texture_of_no_emission_does_not_glow_in_fbx_and_obj() {
    let material = json!({ "emissiveTexture": { "index": 0 } });
    let model = textured(material, &[("glow.png", png(8, |_, _| [255; 4]))]);
    export(&model, &["fbx", "obj"]);
    for name in ["model.fbx", "model.obj"] {
        let found = model.result(name).material(Some(0));
        let is_lit = found.emissive_texture.is_some() || found.emissive != [0.0; 3];
        assert!(!is_lit, "{name}: {found:?}");
    }
}

#[test]
fn nodes_have_their_own_weights_of_morph_targets_in_fbx() {
    let mut maker = Maker::default();
    let mut primitive = sphere_primitive(&mut maker, 8, [0.0; 3], 1.0);
    let (positions, ..) = sphere(8, [0.0; 3], 1.0);
    primitive["targets"] = json!([{ "POSITION": maker.floats("VEC3", &positions) }]);
    let (json, bin) = maker.finish(json!({
        "scene": 0, "scenes": [{ "nodes": [0, 1, 2, 3] }],
        "nodes": [
            { "mesh": 0 }, { "mesh": 0, "weights": [1.0], "translation": [3.0, 0.0, 0.0] },
            { "mesh": 0, "translation": [6.0, 0.0, 0.0] },
            { "mesh": 0, "weights": [1.0], "translation": [9.0, 0.0, 0.0] },
        ],
        "meshes": [{ "primitives": [primitive], "weights": [0.25] }],
    }));
    let model = Model::new(&json, &bin, &[]);
    export(&model, &["fbx"]);
    let bytes = fs::read(model.dir.path().join("out/exports/model.fbx")).unwrap();
    let loaded = ufbx::load_memory(&bytes, ufbx::LoadOpts::default()).unwrap();
    let weights: Vec<f64> = loaded.blend_channels.iter().map(|it| it.weight).collect();
    assert_eq!(weights, [0.25, 1.0]);
    let used: BTreeSet<(i64, u32)> = loaded
        .meshes
        .iter()
        .flat_map(|mesh| {
            let id = mesh.element.element_id;
            let places = mesh.element.instances.iter();
            places.map(move |node| (node.local_transform.translation.x as i64, id))
        })
        .collect();
    let ids: Vec<u32> = used.into_iter().map(|(_, id)| id).collect();
    assert_eq!(ids.len(), 4);
    assert!(
        ids[0] == ids[2] && ids[1] == ids[3] && ids[0] != ids[1],
        "{ids:?}"
    );
}
