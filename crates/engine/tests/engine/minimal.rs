//! The smallest inputs that once crashed the engine; all were found with mutated files.

use std::fs;

use assetfs_engine::clean;
use assetfs_engine::document::glb;
use assetfs_engine::export::gltf::write_glb;
use assetfs_engine::import::import;
use assetfs_engine::scene::Scene;
use assetfs_engine::settings::MeshCompression;
use assetfs_engine::simplify::{Limits, simplify};
use serde_json::{Value, json};

use crate::square_glb::changed_glb;

fn import_bytes(name: &str, bytes: &[u8]) -> Result<Scene, String> {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(name), bytes).unwrap();
    let imported = import(dir.path(), &[name.to_owned()]).map_err(|error| error.to_string())?;
    Ok(imported.scene)
}

fn simplified(mut scene: Scene) -> Scene {
    clean::clean(&mut scene);
    let limits = Limits::of_triangles(scene.drawn_triangles() / 2);
    simplify(&mut scene, &limits);
    clean::finish(&mut scene);
    scene
}

#[test]
fn ply_elements_without_properties_take_no_memory_however_many_there_are() {
    for (element, count) in [
        ("face", u64::from(u32::MAX)),
        ("vertex", u64::MAX),
        ("other", u64::MAX),
    ] {
        let text = format!("ply\nformat ascii 1.0\nelement {element} {count}\nend_header\n");
        let read = import_bytes("m.ply", text.as_bytes());
        assert!(read.is_err(), "there is nothing in it");
    }
}

/// A node of a binary FBX file of version 7.4 that begins at `start`; numbers are little-endian.
fn fbx_node(
    start: usize,
    name: &str,
    count: u32,
    properties: &[u8],
    child: &dyn Fn(usize) -> Vec<u8>,
) -> Vec<u8> {
    let inside = start + 13 + name.len() + properties.len();
    let mut children = child(inside);
    if !children.is_empty() {
        children.extend([0; 13]);
    }
    let end = (inside + children.len()) as u32;
    let numbers = [end, count, properties.len() as u32].map(u32::to_le_bytes);
    let mut node = numbers.concat();
    node.push(name.len() as u8);
    node.extend([name.as_bytes(), properties, &children].concat());
    node
}

#[test]
fn fbx_array_takes_no_more_memory_than_a_file_of_its_size_can_fill() {
    // 2^28 numbers of eight bytes, packed into sixteen.
    let packed = [
        &b"d"[..],
        &(1u32 << 28).to_le_bytes(),
        &1u32.to_le_bytes(),
        &16u32.to_le_bytes(),
        &[0; 16],
    ];
    let vertices = |start| fbx_node(start, "Vertices", 1, &packed.concat(), &|_| Vec::new());
    let names = b"L\x07\0\0\0\0\0\0\0S\x04\0\0\0MeshS\x04\0\0\0Mesh";
    let geometry = |start| fbx_node(start, "Geometry", 3, names, &vertices);
    let mut bytes = b"Kaydara FBX Binary  \0\x1a\0\xe8\x1c\0\0".to_vec();
    bytes.extend(fbx_node(bytes.len(), "Objects", 0, b"", &geometry));
    bytes.extend([0; 176]);
    let refused = import_bytes("m.fbx", &bytes).unwrap_err();
    assert!(refused.contains("emory limit"), "{refused}");
}

#[test]
fn instancing_attribute_named_like_a_buffer_view_is_an_accessor() {
    let bytes = changed_glb(|json| {
        json["nodes"][0]["extensions"] =
            json!({ "EXT_mesh_gpu_instancing": { "attributes": { "bufferView": 0 } } });
        json["extensionsUsed"] = json!(["EXT_mesh_gpu_instancing"]);
    });
    let scene = import_bytes("m.glb", &bytes).unwrap();
    let written = write_glb(&scene, MeshCompression::None).unwrap();
    let again = import_bytes("m.glb", &written).unwrap();
    assert_eq!(again.drawn_triangles(), scene.drawn_triangles());
}

#[test]
fn draco_positions_of_two_numbers_are_refused() {
    let scene = import_bytes("m.glb", &changed_glb(|_| {})).unwrap();
    let packed = write_glb(&scene, MeshCompression::Draco).unwrap();
    let parts = glb::split("m.glb", &packed.into()).unwrap();
    let mut json: Value = serde_json::from_slice(&parts.json).unwrap();
    let position = json["meshes"][0]["primitives"][0]["attributes"]["POSITION"]
        .as_u64()
        .unwrap();
    json["accessors"][position as usize]["type"] = "VEC2".into();
    let bytes = glb::join(json.to_string().as_bytes(), &parts.bin.unwrap());
    let error = import_bytes("m.glb", &bytes).unwrap_err();
    assert!(error.contains("VEC2"), "{error}");
}

#[test]
fn model_whose_places_are_infinite_is_borne() {
    for scale in [1e20, 1e37, 3e38] {
        let bytes = changed_glb(|json| {
            json["nodes"] = json!([
                { "children": [1], "scale": [scale, scale, scale], "translation": [scale, 0, 0] },
                { "mesh": 0, "scale": [scale, 1, scale] },
            ]);
        });
        let scene = simplified(import_bytes("m.glb", &bytes).unwrap());
        let geometry = &scene.geometries[0];
        assert!((1..=2).contains(&scene.drawn_triangles()), "{scale}");
        assert!(
            geometry.positions().iter().all(|number| number.is_finite()),
            "{scale}"
        );
    }
}

#[test]
fn sums_beyond_the_floats_leave_a_vertex_where_it_was() {
    const FAR: &str = "ply\nformat ascii 1.0\nelement vertex 17\nproperty float x\nproperty float y\nproperty float z\n\
        property float nx\nproperty float ny\nproperty float nz\nelement face 7\n\
        property list uchar int vertex_indices\nend_header\n\
        0 0 2.09879e+38 0 0 0\n0 0 0 0 0 0\n0 0 3.93889e+37 0 0 0\n0 0 1e+31 0 0 0\n0 0 0 0 1.45101e+13 0\n\
        0 0 2.09879e+38 0 0 0\n0 0 1e+36 0 0 0\n0 -1e+28 0 0 0 0\n0 0 1e+34 0 0 0\n-1e+27 0 0 0 0 0\n0 0 1 0 0 0\n\
        0 0 0 0 0 0\n0 0 2.99817e+38 0 0 0\n0 0 1e+33 0 0 0\n0 0 3.93889e+37 0 1.45101e+13 0\n0 -1e+23 0 0 0 0\n\
        0 0 0 0 0 0\n3 7 8 9\n3 2 1 10\n3 0 10 11\n3 3 13 12\n3 4 14 15\n3 6 15 13\n3 5 11 16\n";
    let scene = simplified(import_bytes("m.ply", FAR.as_bytes()).unwrap());
    assert!(!scene.geometries.is_empty());
    for geometry in &scene.geometries {
        assert!(geometry.positions().iter().all(|number| number.is_finite()));
    }
}
