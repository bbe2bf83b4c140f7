//! glTF files as others write and read them.

use std::fs;

use assetfs_engine::document::{ComponentType, ElementType, glb};
use assetfs_engine::export::gltf::write_glb;
use assetfs_engine::import::import;
use assetfs_engine::scene::{Attribute, Scene, Table};
use assetfs_engine::settings::MeshCompression;
use serde_json::{Value, json};

use crate::log_lines::LogLines as _;
use crate::made::with_grid;
use crate::square_glb::changed_glb;

fn imported(name: &str, bytes: &[u8]) -> Scene {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(name), bytes).unwrap();
    import(dir.path(), &[name.to_owned()]).unwrap().scene
}

/// The JSON and the buffer of a GLB file.
fn parts(bytes: Vec<u8>) -> (Value, Vec<u8>) {
    let parts = glb::split("m.glb", &bytes.into()).unwrap();
    let bin = parts.bin.unwrap().to_vec();
    (serde_json::from_slice(&parts.json).unwrap(), bin)
}

fn grid() -> Scene {
    with_grid(imported("m.glb", &changed_glb(|_| {})))
}

fn packed_grid() -> Vec<u8> {
    write_glb(&grid(), MeshCompression::Meshopt).unwrap()
}

#[test]
fn an_image_on_the_network_or_outside_of_the_upload_is_left_out_with_its_name() {
    for uri in [
        "https://example.org/wood.png",
        "../wood.png",
        "file:///C:/wood.png",
    ] {
        let dir = tempfile::tempdir().unwrap();
        let bytes = changed_glb(|json| {
            json["images"] = json!([{ "uri": uri }]);
            json["textures"] = json!([{ "source": 0 }]);
            json["materials"] = json!([{ "pbrMetallicRoughness": {
                "baseColorTexture": { "index": 0 }, "metallicFactor": 0.25,
            } }]);
            json["meshes"][0]["primitives"][0]["material"] = json!(0);
        });
        fs::write(dir.path().join("m.glb"), bytes).unwrap();
        let read = import(dir.path(), &["m.glb".to_owned()]).unwrap();
        let expected = format!(
            "m.glb: images[0].uri refers to \"{uri}\", which is outside of the uploaded files. The model is read without \
             this image [missing-file]"
        );
        assert_eq!(read.warnings.lines(), [expected]);
        let finish = &read.scene.list("materials")[0]["pbrMetallicRoughness"];
        assert_eq!(finish["metallicFactor"], 0.25);
        assert!(finish["baseColorTexture"].is_null(), "{finish}");
    }
}

/// `EXT_meshopt_compression` asks for these first bytes; other versions of the codecs are not allowed there.
#[test]
fn streams_packed_with_meshopt_have_the_versions_of_their_extension() {
    let (json, bin) = parts(packed_grid());
    let mut modes = Vec::new();
    for view in json["bufferViews"].as_array().unwrap() {
        let packing = &view["extensions"]["EXT_meshopt_compression"];
        let Some(mode) = packing["mode"].as_str() else {
            continue;
        };
        let start = packing["byteOffset"].as_u64().unwrap_or(0) as usize;
        let expected = match mode {
            "ATTRIBUTES" => 0xa0,
            "TRIANGLES" => 0xe1,
            _ => 0xd1,
        };
        assert_eq!(bin[start], expected, "{mode}");
        modes.push(mode);
    }
    assert!(modes.contains(&"ATTRIBUTES") && modes.contains(&"TRIANGLES"));
    assert!(!json.to_string().contains("KHR_meshopt_compression"));
}

/// Numbers that are not only rotations keep their meaning: the filter for rotations turns some of them around.
#[test]
fn packed_rotations_take_eight_bytes_and_normals_four() {
    let mut scene = grid();
    let table = |element, values: Vec<f32>| Table {
        element,
        component: ComponentType::F32,
        normalized: false,
        values,
    };
    let times = scene.tables.len();
    scene.tables.push(table(
        ElementType::Scalar,
        (0..400).map(|key| key as f32).collect(),
    ));
    let turns = [0.0, 0.0, 0.0, -1.0, 0.0, 0.6, 0.0, -0.8].repeat(200);
    scene.tables.push(table(ElementType::Vec4, turns));
    let sampler = json!({ "input": times, "output": times + 1 });
    let pointer = json!({ "path": "pointer", "extensions": { "KHR_animation_pointer": {
        "pointer": "/materials/0/pbrMetallicRoughness/baseColorFactor",
    } } });
    let animations = json!([{ "samplers": [sampler, sampler], "channels": [
        { "sampler": 0, "target": { "node": 0, "path": "rotation" } },
        { "sampler": 1, "target": pointer },
    ] }]);
    scene.json.insert("animations".to_owned(), animations);
    let vertices = scene.geometries[0].vertex_count();
    let normals = Attribute::new("NORMAL", 3, [0.0, 0.0, 1.0].repeat(vertices));
    scene.geometries[0].attributes.push(normals);
    let (json, _) = parts(write_glb(&scene, MeshCompression::Meshopt).unwrap());
    let form = |accessor: &Value| {
        let accessor = &json["accessors"][accessor.as_u64().unwrap() as usize];
        let view = &json["bufferViews"][accessor["bufferView"].as_u64().unwrap() as usize];
        let packing = &view["extensions"]["EXT_meshopt_compression"];
        (
            accessor["componentType"].clone(),
            packing["byteStride"].clone(),
            packing["filter"].clone(),
        )
    };
    let samplers = &json["animations"][0]["samplers"];
    let normal = &json["meshes"][0]["primitives"][0]["attributes"]["NORMAL"];
    assert_eq!(
        form(&samplers[0]["output"]),
        (json!(5122), json!(8), json!("QUATERNION"))
    );
    assert_eq!(
        form(&samplers[1]["output"]),
        (json!(5126), json!(16), json!("EXPONENTIAL"))
    );
    assert_eq!(form(normal), (json!(5120), json!(4), json!("OCTAHEDRAL")));
    let required = json["extensionsRequired"].as_array().unwrap();
    assert!(required.contains(&json!("KHR_mesh_quantization")));
}

#[test]
fn a_buffer_of_packed_views_needs_neither_bytes_nor_a_mark() {
    let (mut json, bin) = parts(packed_grid());
    json["buffers"][0]["uri"] = "m.bin".into();
    for fallback in [json!({}), json!({ "uri": "fallback.bin" })] {
        let mut buffer = fallback;
        buffer["byteLength"] = json["buffers"][1]["byteLength"].clone();
        json["buffers"][1] = buffer;
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("m.gltf"), json.to_string()).unwrap();
        fs::write(dir.path().join("m.bin"), &bin).unwrap();
        let files = ["m.gltf", "m.bin"].map(str::to_owned);
        let scene = import(dir.path(), &files).unwrap().scene;
        assert_eq!(scene.drawn_triangles(), grid().drawn_triangles());
    }
}

/// The description of a packed view has more bytes than a small one has.
#[test]
fn a_model_that_packing_would_enlarge_is_written_plain_with_the_same_numbers() {
    let mut scene = imported("m.glb", &changed_glb(|_| {}));
    let vertices = scene.geometries[0].vertex_count();
    let normals = Attribute::new("NORMAL", 3, [0.0, 0.6, 0.8].repeat(vertices));
    scene.geometries[0].attributes.push(normals);
    let bytes = write_glb(&scene, MeshCompression::Meshopt).unwrap();
    let (json, _) = parts(bytes.clone());
    assert!(!json.to_string().contains("meshopt"), "{json}");
    assert_eq!(json["extensionsRequired"], json!(["KHR_mesh_quantization"]));
    let read = imported("m.glb", &bytes);
    let positions = |scene: &Scene| scene.geometries[0].positions().to_vec();
    assert_eq!(positions(&read), positions(&scene));
    let normals = &read.geometries[0].attribute("NORMAL").unwrap().values;
    let expected = [0.0_f32, 0.6, 0.8].repeat(vertices);
    assert_eq!(normals.len(), expected.len());
    let mut pairs = normals.iter().zip(&expected);
    assert!(pairs.all(|(one, two)| (one - two).abs() < 0.02));
}

/// Normals of morph targets are differences: as bytes where they fit, else rounded as floats.
#[test]
fn packed_displacements_of_normals_take_four_bytes_unless_they_are_longer_than_one() {
    for (longest, component) in [(1.0, 5120), (1.5, 5126)] {
        let mut scene = grid();
        let vertices = scene.geometries[0].vertex_count();
        let moved = [0.1, -0.25, longest].repeat(vertices);
        let target = vec![Attribute::new("NORMAL", 3, moved.clone())];
        scene.geometries[0].targets = vec![target];
        let bytes = write_glb(&scene, MeshCompression::Meshopt).unwrap();
        let (json, _) = parts(bytes.clone());
        let target = &json["meshes"][0]["primitives"][0]["targets"][0]["NORMAL"];
        let accessor = &json["accessors"][target.as_u64().unwrap() as usize];
        assert_eq!(accessor["componentType"], component);
        let read = &imported("m.glb", &bytes).geometries[0].targets[0][0]
            .values
            .clone();
        let pairs = read.iter().zip(&moved);
        assert!(
            pairs
                .into_iter()
                .all(|(one, two)| (one - two).abs() <= 1.0 / 254.0)
        );
    }
}

#[test]
fn few_displacements_are_sparse_only_where_packing_all_takes_more_bytes() {
    for (step, is_sparse) in [(400, true), (2, false)] {
        let mut scene = grid();
        let vertices = scene.geometries[0].vertex_count();
        let moved = (0..vertices).flat_map(|at| [0.0, 0.0, if at % step == 0 { 2.0 } else { 0.0 }]);
        let target = vec![Attribute::new("POSITION", 3, moved.collect())];
        scene.geometries[0].targets = vec![target.clone()];
        scene.geometries[0].sparse_targets = true;
        let bytes = write_glb(&scene, MeshCompression::Meshopt).unwrap();
        let (json, _) = parts(bytes.clone());
        assert_eq!(json.to_string().contains("sparse"), is_sparse, "{json}");
        let read = &imported("m.glb", &bytes).geometries[0].targets[0][0];
        assert_eq!(read.values, target[0].values);
    }
}

#[test]
fn positions_that_primitives_share_are_written_once() {
    let bytes = changed_glb(|json| {
        let primitive = json["meshes"][0]["primitives"][0].clone();
        let more = (0..5).map(|number| {
            let mut primitive = primitive.clone();
            primitive["attributes"][format!("_OWN{number}")] = 0.into();
            primitive
        });
        json["meshes"][0]["primitives"] = more.collect();
    });
    let scene = imported("m.glb", &bytes);
    assert_eq!(scene.geometries.len(), 5);
    for packing in [MeshCompression::None, MeshCompression::Meshopt] {
        let (json, _) = parts(write_glb(&scene, packing).unwrap());
        let primitives = json["meshes"][0]["primitives"].as_array().unwrap();
        for primitive in primitives {
            assert_eq!(
                primitive["attributes"]["POSITION"],
                primitives[0]["attributes"]["POSITION"]
            );
            assert_eq!(primitive["indices"], primitives[0]["indices"]);
        }
    }
    let plain = write_glb(&scene, MeshCompression::None).unwrap();
    let (_, written) = parts(plain);
    let (_, read) = parts(bytes);
    assert!(
        written.len() <= read.len(),
        "{} {}",
        written.len(),
        read.len()
    );
}
