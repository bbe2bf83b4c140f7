//! Texture transforms and wrap modes in formats that have no transforms.

use assetfs_engine::scene::{AlphaMode, Material, Scene, TextureUse, UvTransform, Wrap};
use serde_json::{Value, json};

use super::gltf::{Maker, Model};
use super::shapes::{png, textured};
use crate::log_lines::LogLines as _;

fn export(model: &Model, formats: &[&str]) -> Vec<String> {
    let exports: Vec<Value> = formats
        .iter()
        .map(|format| json!({ "fileType": format }))
        .collect();
    let settings = json!({ "compressionAndExport": { "fileExports": exports } });
    model.optimize(settings).unwrap().warnings.lines()
}

fn texture(scale: f32, offset: f32, rotation: f32) -> Value {
    json!({ "index": 0, "extensions": { "KHR_texture_transform": {
        "scale": [scale, scale * 0.5], "offset": [offset, 0.25], "rotation": rotation,
    } } })
}

/// The coordinates of the mesh's texture that is seen at a point of the model, by position.
fn looked_up(scene: &Scene, mesh: usize, texture: &TextureUse) -> Vec<([i32; 3], [f32; 2])> {
    let primitive = &scene.meshes[mesh].primitives[0];
    let geometry = &scene.geometries[primitive.geometry];
    let coords = geometry
        .attribute(&format!("TEXCOORD_{}", texture.tex_coord))
        .unwrap();
    let mut found: Vec<([i32; 3], [f32; 2])> = (0..geometry.vertex_count())
        .map(|vertex| {
            let place = geometry.position(vertex as u32).to_array();
            let uv = coords.at(vertex);
            (
                place.map(|part| (part * 1000.0).round() as i32),
                texture.transform.apply([uv[0], uv[1]]),
            )
        })
        .collect();
    found.sort_by_key(|(place, _)| *place);
    found.dedup_by_key(|(place, _)| *place);
    found
}

fn assert_same_places(
    before: &Scene,
    after: &Scene,
    pick: impl Fn(&Material) -> Option<&TextureUse>,
) {
    let [one, other] = [before, after].map(|scene| {
        let material = scene.material(scene.meshes[0].primitives[0].material);
        looked_up(scene, 0, pick(&material).expect("the texture is there"))
    });
    assert_eq!(one.len(), other.len());
    for ((place, a), (other_place, b)) in one.iter().zip(&other) {
        assert_eq!(place, other_place);
        assert!(
            (a[0] - b[0]).abs() < 1e-5 && (a[1] - b[1]).abs() < 1e-5,
            "{place:?}: {a:?} {b:?}"
        );
    }
}

#[test]
fn fbx_has_a_set_of_coordinates_for_each_texture_transform() {
    let colour = png(8, |x, y| [x as u8 * 30, y as u8 * 30, 9, 255]);
    let material = json!({
        "pbrMetallicRoughness": { "baseColorTexture": texture(0.25, 0.5, 0.3) },
        "normalTexture": texture(0.25, 0.5, 0.3),
        "emissiveTexture": texture(2.0, 0.0, 0.0), "emissiveFactor": [1.0, 1.0, 1.0],
    });
    let model = textured(material, &[("all.png", colour)]);
    let warnings = export(&model, &["glb", "fbx", "obj"]);
    let lost: Vec<&String> = warnings
        .iter()
        .filter(|line| line.contains("cannot hold"))
        .collect();
    assert_eq!(
        lost,
        ["obj cannot hold: more than one set of texture coordinates [not-held]"]
    );
    let before = model.result("model.glb");
    let fbx = model.result("model.fbx");
    assert_same_places(&before, &fbx, |it| it.base_color_texture.as_ref());
    assert_same_places(&before, &fbx, |it| it.normal_texture.as_ref());
    assert_same_places(&before, &fbx, |it| it.emissive_texture.as_ref());
    let found = fbx.material(Some(0));
    let sets = [
        &found.base_color_texture,
        &found.normal_texture,
        &found.emissive_texture,
    ];
    assert_eq!(
        sets.map(|texture| texture.as_ref().unwrap().tex_coord),
        [0, 0, 1]
    );
    assert_same_places(&before, &model.result("model.obj"), |it| {
        it.base_color_texture.as_ref()
    });
}

/// gltfpack's files have one transform for all textures, which brings integers to scale.
#[test]
fn quantized_coordinates_are_right_in_fbx_and_obj() {
    let mut maker = Maker::default();
    let primitive = json!({
        "attributes": {
            "POSITION": maker.floats("VEC3", &[0., 0., 0., 1., 0., 0., 0., 1., 0., 1., 1., 0.]),
            "TEXCOORD_0": maker.floats("VEC2", &[0., 0., 0.0625, 0., 0., 0.0625, 0.0625, 0.0625]),
            "TEXCOORD_1": maker.floats("VEC2", &[0.5; 8]),
        },
        "indices": maker.indices(&[0, 1, 2, 2, 1, 3]),
    });
    let place =
        json!({ "index": 0, "extensions": { "KHR_texture_transform": { "scale": [16, 16] } } });
    let transformed = json!({ "pbrMetallicRoughness": { "baseColorTexture": place } });
    let with = |material: usize| {
        let mut primitive = primitive.clone();
        primitive["material"] = material.into();
        json!({ "primitives": [primitive] })
    };
    let (json, bin) = maker.finish(json!({
        "scene": 0, "scenes": [{ "nodes": [0, 1] }],
        "nodes": [{ "mesh": 0 }, { "mesh": 1, "translation": [2.0, 0.0, 0.0] }],
        "meshes": [with(0), with(1)],
        "materials": [transformed, { "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } } }],
        "textures": [{ "source": 0 }], "images": [{ "uri": "all.png" }],
        "extensionsUsed": ["KHR_texture_transform"],
    }));
    let colour = png(8, |x, y| [x as u8 * 30, y as u8 * 30, 9, 255]);
    let model = Model::new(&json, &bin, &[("all.png", colour)]);
    export(&model, &["glb", "fbx", "obj"]);
    let before = model.result("model.glb");
    for name in ["model.fbx", "model.obj"] {
        let after = model.result(name);
        for (mesh, largest) in [(0, 1.0), (1, 0.0625)] {
            let material = after.material(after.meshes[mesh].primitives[0].material);
            let found = looked_up(&after, mesh, &material.base_color_texture.unwrap());
            let most = found.iter().map(|(_, [u, _])| *u).fold(0.0, f32::max);
            assert!((most - largest).abs() < 1e-5, "{name} {mesh}: {found:?}");
        }
        assert_same_places(&before, &after, |it| it.base_color_texture.as_ref());
    }
    // The set that no texture reads is kept.
    let fbx = model.result("model.fbx");
    let kept = fbx.geometries[0].attribute("TEXCOORD_1").unwrap();
    assert!(kept.values.iter().all(|part| (part - 0.5).abs() < 1e-5));
}

#[test]
fn obj_has_the_set_that_the_base_colour_reads() {
    let mut maker = Maker::default();
    let primitive = json!({
        "attributes": {
            "POSITION": maker.floats("VEC3", &[0., 0., 0., 1., 0., 0., 0., 1., 0.]),
            "TEXCOORD_0": maker.floats("VEC2", &[0.5; 6]),
            "TEXCOORD_1": maker.floats("VEC2", &[0., 0., 1., 0., 0., 1.]),
        },
        "indices": maker.indices(&[0, 1, 2]), "material": 0,
    });
    let (json, bin) = maker.finish(json!({
        "scene": 0, "scenes": [{ "nodes": [0] }], "nodes": [{ "mesh": 0 }],
        "meshes": [{ "primitives": [primitive] }],
        "materials": [{ "pbrMetallicRoughness": { "baseColorTexture": { "index": 0, "texCoord": 1 } } }],
        "textures": [{ "source": 0 }], "images": [{ "uri": "all.png" }],
    }));
    let model = Model::new(&json, &bin, &[("all.png", png(8, |_, _| [9, 99, 9, 255]))]);
    export(&model, &["glb", "obj"]);
    let after = model.result("model.obj");
    assert_same_places(&model.result("model.glb"), &after, |it| {
        it.base_color_texture.as_ref()
    });
}

#[test]
fn fbx_keeps_roughness_metalness_bumps_clamping_and_both_sides() {
    let colour = png(8, |x, y| [x as u8 * 30, y as u8 * 30, 9, 255]);
    let surface = png(8, |x, _| [0, 40 + x as u8 * 20, 250 - x as u8 * 20, 255]);
    let place =
        json!({ "index": 1, "extensions": { "KHR_texture_transform": { "scale": [0.5, 0.5] } } });
    let material = json!({
        "pbrMetallicRoughness": {
            "baseColorTexture": { "index": 0 }, "metallicRoughnessTexture": place,
            "roughnessFactor": 0.5, "metallicFactor": 1.0,
        },
        "normalTexture": { "index": 0, "scale": 0.5 },
        "doubleSided": true,
    });
    let model = textured(material, &[("all.png", colour), ("surface.png", surface)]);
    let path = model.dir.path().join("in/model.gltf");
    let mut json: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    json["samplers"] = json!([{ "wrapS": 33071, "wrapT": 10497 }]);
    json["textures"][0]["sampler"] = 0.into();
    std::fs::write(&path, json.to_string()).unwrap();
    export(&model, &["glb", "fbx"]);
    let scene = model.result("model.fbx");
    let found = scene.material(Some(0));
    assert_eq!((found.roughness, found.metallic), (1.0, 1.0));
    assert_eq!(
        (found.alpha_mode, found.double_sided),
        (AlphaMode::Opaque, true)
    );
    assert!((found.normal_scale - 0.5).abs() < 1e-6);
    let base = found.base_color_texture.as_ref().unwrap();
    assert_eq!(
        (base.wrap_s, base.wrap_t),
        (Wrap::ClampToEdge, Wrap::Repeat)
    );
    assert_eq!(base.transform, UvTransform::default());
    let surface = found.metallic_roughness_texture.as_ref().unwrap();
    let pixels = image::load_from_memory(&scene.images[surface.image].bytes)
        .unwrap()
        .into_rgb8();
    // The factor of 0.5 is in the pixels.
    assert_eq!(
        [0, 7].map(|x| pixels.get_pixel(x, 3).0),
        [[255, 20, 250], [255, 90, 110]]
    );
    assert_same_places(&model.result("model.glb"), &scene, |it| {
        it.metallic_roughness_texture.as_ref()
    });
}

#[test]
fn a_texture_that_is_no_object_is_left_as_it_is() {
    let colour = png(8, |x, y| [x as u8 * 30, y as u8 * 30, 9, 255]);
    for (modern, old) in [
        (texture(0.25, 0.5, 0.3), json!("x")),
        (json!(5), texture(0.25, 0.5, 0.3)),
    ] {
        let material = json!({
            "pbrMetallicRoughness": { "baseColorTexture": modern },
            "extensions": { "KHR_materials_pbrSpecularGlossiness": { "diffuseTexture": old } },
        });
        let model = textured(material, &[("all.png", colour.clone())]);
        export(&model, &["fbx", "obj"]);
        let fbx = model.result("model.fbx");
        let found = fbx.material(Some(0)).base_color_texture;
        assert_eq!(found.unwrap().transform, UvTransform::default());
    }
}
