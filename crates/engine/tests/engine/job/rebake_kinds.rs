//! Kinds of models and settings through rebaking: right, or simplified in the usual way with a reason.

use std::fs;

use assetfs_engine::clean;
use assetfs_engine::export::gltf::write_glb;
use assetfs_engine::import::import;
use assetfs_engine::rebake::{RebakeOptions, rebake};
use assetfs_engine::scene::{AlphaMode, Scene};
use assetfs_engine::settings::MeshCompression;
use assetfs_engine::simplify::Limits;
use serde_json::{Value, json};

use super::gltf::{Maker, Model};
use super::rebake::{alpha_modes, config, difference, pair, rebaked};
use super::shapes::decode;
use crate::log_lines::LogLines as _;
use crate::validators::assert_valid;

/// The pair with other members in its second material.
fn pair_with(members: Value) -> Model {
    pair(|_, json| {
        for (name, value) in members.as_object().unwrap() {
            json["materials"][1][name] = value.clone();
        }
        if members["extensions"].is_object() {
            let used: Vec<&String> = members["extensions"].as_object().unwrap().keys().collect();
            json["extensionsUsed"] = json!(used);
        }
    })
}

/// The model rebaked to a share of its triangles, whether or not plain simplification would look better.
fn baked(model: &Model, share: f64) -> Scene {
    let folder = model.dir.path().join("in");
    let files: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let mut source = import(&folder, &files).unwrap().scene;
    clean::clean(&mut source);
    let triangles = (source.drawn_triangles() as f64 * share) as u64;
    let limits = Limits::of_triangles(triangles);
    let options = RebakeOptions::fast(256);
    let result = rebake(&source, &limits, &options).unwrap().scene;
    assert!(result.drawn_triangles() <= triangles);
    let out = tempfile::tempdir().unwrap();
    let written = write_glb(&result, MeshCompression::None).unwrap();
    fs::write(out.path().join("model.glb"), written).unwrap();
    assert_valid(out.path());
    import(out.path(), &["model.glb".to_owned()]).unwrap().scene
}

#[test]
fn each_kind_of_material_becomes_a_mesh_of_its_own() {
    let unlit = json!({ "extensions": { "KHR_materials_unlit": {} } });
    for (members, mode, kind) in [
        (
            json!({ "alphaMode": "MASK", "alphaCutoff": 0.3 }),
            AlphaMode::Mask,
            "mask",
        ),
        (json!({ "alphaMode": "BLEND" }), AlphaMode::Blend, "blend"),
        (unlit, AlphaMode::Opaque, "unlit"),
    ] {
        let model = pair_with(members);
        let result = baked(&model, 0.2);
        assert_eq!(alpha_modes(&result), [AlphaMode::Opaque, mode], "{kind}");
        let material = result.material(Some(1));
        assert_eq!(material.unlit, kind == "unlit");
        if mode != AlphaMode::Opaque {
            let texture = material.base_color_texture.expect("colours and alpha");
            let pixels = decode(&result.images[texture.image].bytes);
            let alphas = pixels.pixels().map(|pixel| pixel.0[3]);
            // The chequerboard has opaque fields and fields of alpha 90 of 255, which pass the cutoff of 0.3.
            let (least, most) = (alphas.clone().min().unwrap(), alphas.max().unwrap());
            let expected = if mode == AlphaMode::Mask {
                127..150
            } else {
                80..100
            };
            assert!(
                expected.contains(&least) && most > 250,
                "{kind}: {least} to {most}"
            );
        }
        // The atlas of one small texture is small, so the fields of the chequerboard have soft edges.
        let apart = difference(&model, &result);
        assert!(apart < 0.12, "{kind}: {apart}");
    }
}

#[test]
fn double_sided_parts_stay_double_sided() {
    // An open strip beside the spheres shows its back.
    let model = pair(|maker, json| {
        let positions: Vec<f32> = (0..=20)
            .flat_map(|at| {
                let x = 3.0 + at as f32 * 0.1;
                let bend = (at as f32 * 0.3).sin() * 0.3;
                [x, -1.0, bend, x, 1.0, bend]
            })
            .collect();
        let coords: Vec<f32> = (0..=20)
            .flat_map(|at| [at as f32 / 20.0, 1.0, at as f32 / 20.0, 0.0])
            .collect();
        let indices: Vec<u32> = (0..20)
            .flat_map(|at| [0, 2, 1, 1, 2, 3].map(|corner| at * 2 + corner))
            .collect();
        let strip = json!({
            "attributes": {
                "POSITION": maker.floats("VEC3", &positions),
                "TEXCOORD_0": maker.floats("VEC2", &coords),
            },
            "indices": maker.indices(&indices), "material": 1,
        });
        json["meshes"][1]["primitives"][0] = strip;
        json["materials"][1]["doubleSided"] = true.into();
    });
    let result = baked(&model, 0.3);
    assert!(result.material(Some(0)).double_sided);
    assert!(difference(&model, &result) < 0.06);
}

#[test]
fn what_baked_parts_cannot_do_is_a_reason() {
    let variants = pair(|_, json| {
        json["extensions"] =
            json!({ "KHR_materials_variants": { "variants": [{ "name": "red" }] } });
        json["extensionsUsed"] = json!(["KHR_materials_variants"]);
        json["meshes"][0]["primitives"][0]["extensions"] = json!({
            "KHR_materials_variants": { "mappings": [{ "material": 1, "variants": [0] }] },
        });
    });
    let morphing = pair(|maker, json| {
        let count = |maker: &Maker, accessor: &Value| {
            let accessor = accessor.as_u64().unwrap() as usize;
            maker.accessors[accessor]["count"].as_u64().unwrap() as usize
        };
        let primitive = &mut json["meshes"][0]["primitives"][0];
        let vertices = count(maker, &primitive["attributes"]["POSITION"]);
        let moved: Vec<f32> = (0..vertices).flat_map(|_| [0.0, 0.1, 0.0]).collect();
        primitive["targets"] = json!([{ "POSITION": maker.floats("VEC3", &moved) }]);
    });
    let with_late_coordinates = pair(|_, json| {
        let attributes = &mut json["meshes"][1]["primitives"][0]["attributes"];
        let set = attributes["TEXCOORD_0"].clone();
        attributes["TEXCOORD_1"] = set.clone();
        attributes["TEXCOORD_2"] = set;
        json["materials"][1]["pbrMetallicRoughness"]["baseColorTexture"]["texCoord"] = 2.into();
    });
    let with_lines = pair(|maker, json| {
        let line = json!({
            "attributes": { "POSITION": maker.floats("VEC3", &[0.0, 0.0, 0.0, 1.0, 2.0, 0.0]) },
            "material": 0, "mode": 1,
        });
        let parts = json["meshes"][0]["primitives"].as_array_mut().unwrap();
        parts.push(line);
    });
    let with_undrawn = pair(|_, json| {
        json["nodes"]
            .as_array_mut()
            .unwrap()
            .push(json!({ "mesh": 1 }));
    });
    for (model, reason) in [
        (variants, "the model has material variants"),
        (morphing, "the model has morph targets"),
        (with_lines, "the model has points or lines"),
        (
            with_late_coordinates,
            "a texture uses the third or a later set",
        ),
        (
            with_undrawn,
            "the model has parts that its scene does not draw",
        ),
    ] {
        let report = model.optimize(config(20.0, json!({}))).unwrap();
        let is_named = |line: &String| line.starts_with("not rebaked: ") && line.contains(reason);
        assert!(
            report.warnings.lines().iter().any(is_named),
            "{:?}",
            report.warnings.lines()
        );
        assert!(report.result.triangles <= report.source.triangles / 5);
        assert_valid(&model.dir.path().join("out/exports"));
    }
}

#[test]
fn edges_of_three_triangles_are_baked() {
    // A fin along the equator of the first sphere: three triangles meet at each of its edges.
    let model = pair(|maker, json| {
        let turns = 40;
        let positions: Vec<f32> = (0..=turns)
            .flat_map(|at| {
                let angle = at as f32 / turns as f32 * std::f32::consts::TAU;
                let (x, z) = (angle.cos(), angle.sin());
                [x, 0.0, z, x * 1.3, 0.0, z * 1.3]
            })
            .collect();
        let coords: Vec<f32> = (0..=turns)
            .flat_map(|at| {
                let u = at as f32 / turns as f32;
                [u, 0.0, u, 1.0]
            })
            .collect();
        let indices: Vec<u32> = (0..turns)
            .flat_map(|at| [0, 2, 1, 1, 2, 3].map(|corner| at * 2 + corner))
            .collect();
        let fin = json!({
            "attributes": {
                "POSITION": maker.floats("VEC3", &positions),
                "TEXCOORD_0": maker.floats("VEC2", &coords),
            },
            "indices": maker.indices(&indices), "material": 0,
        });
        json["meshes"][0]["primitives"]
            .as_array_mut()
            .unwrap()
            .push(fin);
    });
    let result = baked(&model, 0.2);
    let apart = difference(&model, &result);
    assert!(apart < 0.08, "{apart}");
}

#[test]
fn baked_images_do_not_depend_on_other_exports() {
    let exports = |list: Value| {
        let mut config = config(10.0, json!({}));
        config["compressionAndExport"] = json!({ "fileExports": list });
        config
    };
    let model = pair(|_, _| {});
    model
        .optimize(exports(json!([{ "fileType": "glb" }])))
        .unwrap();
    let alone = model.result("model.glb");
    assert_eq!(alone.images[0].media_type, "image/png");
    let jpeg = json!({ "baseColor": "jpg", "normal": "jpg", "orm": "jpg", "emissive": "jpg" });
    let both = json!([{ "fileType": "glb" }, { "fileType": "gltf", "textureFormat": jpeg }]);
    model.optimize(exports(both)).unwrap();
    let beside = model.result("model.glb");
    assert!(alone.images[0].bytes == beside.images[0].bytes);
    let packed = std::fs::read_dir(model.dir.path().join("out/exports")).unwrap();
    let names: Vec<String> = packed
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(names.iter().any(|name| name.ends_with(".jpg")), "{names:?}");
}

#[test]
fn baked_images_are_of_the_kind_that_they_replace() {
    let with_files_as = |format: image::ImageFormat| {
        let model = pair(|_, _| {});
        for name in ["one.png", "two.png"] {
            let path = model.dir.path().join("in").join(name);
            let pixels = image::open(&path).unwrap().into_rgb8();
            pixels.save_with_format(path, format).unwrap();
        }
        model
    };
    let with_ktx2 = || {
        let model = pair(|_, _| {});
        let exports = json!([{ "fileType": "glb", "textureFormat": { "baseColor": "ktx2" } }]);
        let exports = json!({ "compressionAndExport": { "fileExports": exports } });
        model.optimize(exports).unwrap();
        model.again("model.glb")
    };
    for (kind, source) in [
        ("image/webp", with_files_as(image::ImageFormat::WebP)),
        ("image/jpeg", with_files_as(image::ImageFormat::Jpeg)),
        ("image/ktx2", with_ktx2()),
    ] {
        source.optimize(config(10.0, json!({}))).unwrap();
        let baked = source.result("model.glb");
        assert!(source.log("info.log").contains("rebaked"), "{kind}");
        let kinds: Vec<&str> = (baked.images.iter())
            .map(|image| image.media_type.as_str())
            .collect();
        assert!(!kinds.is_empty(), "{kind}");
        assert!(
            kinds.iter().all(|baked| *baked == kind),
            "{kind}: {kinds:?}"
        );
    }
}

#[test]
fn computed_occlusion_is_no_reason_to_keep_the_plain_result() {
    let model = pair(|_, _| {});
    let (_, result) = rebaked(&model, 8.0, json!({ "bakeAOMap": true }));
    let occlusion = result.material(Some(0)).occlusion_texture;
    let occlusion = occlusion.expect("the spheres touch and darken each other");
    let pixels = decode(&result.images[occlusion.image].bytes);
    let darkest = pixels.pixels().map(|pixel| pixel.0[0]).min().unwrap();
    assert!(darkest < 200, "{darkest}");
}

#[test]
fn only_nodes_that_drew_meshes_go() {
    let model = pair(|_, json| {
        let meshes = [json["nodes"][0].clone(), json["nodes"][1].clone()];
        json["cameras"] =
            json!([{ "type": "perspective", "perspective": { "yfov": 1.0, "znear": 0.1 } }]);
        json["nodes"] = json!([
            { "name": "group", "children": [1, 2] },
            meshes[0],
            { "name": "eye", "camera": 0, "translation": [0.0, 0.0, 9.0] },
            { "name": "locator" },
            { "name": "parts", "children": [5] },
            meshes[1],
        ]);
        json["nodes"][5]["extras"] = json!({ "order": 7 });
        json["scenes"] = json!([{ "nodes": [0, 3, 4] }]);
    });
    let result = baked(&model, 0.2);
    let nodes = result.list("nodes");
    let names: Vec<&str> = nodes
        .iter()
        .map(|node| node["name"].as_str().unwrap_or("?"))
        .collect();
    assert_eq!(&names[..3], ["group", "eye", "locator"], "{nodes:?}");
    assert_eq!(nodes[0]["children"], json!([1]));
    // The second mesh's node has extras, so it and its parent stay.
    assert_eq!((names[3], &nodes[3]["children"]), ("parts", &json!([4])));
    assert_eq!(nodes[4]["extras"]["order"], 7);
    let roots = result.list("scenes")[0]["nodes"].as_array().unwrap();
    assert!(
        roots.starts_with(&[json!(0), json!(2), json!(3)]),
        "{roots:?}"
    );
}
