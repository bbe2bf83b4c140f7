//! The factory preset that loses nothing makes no file larger.

use assetfs_engine::document::glb;
use serde_json::{Value, json};

use super::support::Bench;

/// Vertices on each side of the grid.
const SIDE: u16 = 30;

/// A glb of a grid whose accessors are 0: places, 1: normals, 2: coordinates, 3: all triangles, 4 to 6: a third of them
/// each. `meshes` has as many nodes.
fn grid(meshes: Value) -> Vec<u8> {
    let place = |at: u16| f32::from(at) / f32::from(SIDE);
    let cells = || (0..SIDE).flat_map(|y| (0..SIDE).map(move |x| (x, y)));
    let places = cells().flat_map(|(x, y)| [place(x), place(y), (place(x) * 7.0).sin() * 0.1]);
    let normals = cells().flat_map(|(x, _)| [(place(x) * 3.0).sin(), 0.0, (place(x) * 3.0).cos()]);
    let coordinates = cells().flat_map(|(x, y)| [place(x), place(y)]);
    let numbers: Vec<f32> = places.chain(normals).chain(coordinates).collect();
    let inner = cells().filter(|(x, y)| *x + 1 < SIDE && *y + 1 < SIDE);
    let indices: Vec<u16> = inner
        .flat_map(|(x, y)| {
            let at = y * SIDE + x;
            [at, at + 1, at + SIDE, at + SIDE, at + 1, at + SIDE + 1]
        })
        .collect();
    let count = usize::from(SIDE) * usize::from(SIDE);
    let mut bin: Vec<u8> = numbers.iter().flat_map(|it| it.to_le_bytes()).collect();
    let vertex_bytes = bin.len();
    bin.extend(indices.iter().flat_map(|it| it.to_le_bytes()));
    bin.resize(bin.len().next_multiple_of(4), 0);
    let third = indices.len() / 9 * 3;
    let part = |from: usize, len: usize| json!({ "bufferView": 3, "byteOffset": from * 2, "componentType": 5123, "count": len, "type": "SCALAR" });
    let nodes: Vec<Value> = (0..meshes.as_array().unwrap().len())
        .map(|mesh| json!({ "mesh": mesh, "translation": [mesh, 0, 0] }))
        .collect();
    let json = json!({
        "asset": { "version": "2.0" }, "scene": 0,
        "scenes": [{ "nodes": (0..nodes.len()).collect::<Vec<_>>() }], "nodes": nodes, "meshes": meshes,
        "materials": (0..6).map(|it| json!({ "name": it.to_string(), "pbrMetallicRoughness": { "metallicFactor": it as f64 / 10.0 } })).collect::<Vec<_>>(),
        "buffers": [{ "byteLength": bin.len() }],
        "bufferViews": [
            { "buffer": 0, "byteLength": count * 12 },
            { "buffer": 0, "byteOffset": count * 12, "byteLength": count * 12 },
            { "buffer": 0, "byteOffset": count * 24, "byteLength": count * 8 },
            { "buffer": 0, "byteOffset": vertex_bytes, "byteLength": indices.len() * 2 },
        ],
        "accessors": [
            { "bufferView": 0, "componentType": 5126, "count": count, "type": "VEC3", "min": [0, 0, -1], "max": [1, 1, 1] },
            { "bufferView": 1, "componentType": 5126, "count": count, "type": "VEC3" },
            { "bufferView": 2, "componentType": 5126, "count": count, "type": "VEC2" },
            part(0, indices.len()), part(0, third), part(third, third), part(2 * third, indices.len() - 2 * third),
        ],
    });
    glb::join(json.to_string().as_bytes(), &bin)
}

fn bytes_of_buffer(glb: Vec<u8>) -> usize {
    let parts = glb::split("m.glb", &glb.into()).unwrap();
    parts.bin.unwrap().len()
}

#[test]
fn the_lossless_preset_copies_no_accessor_that_primitives_share() {
    let whole = |attributes: Value, material: u32| json!({ "attributes": attributes, "indices": 3, "material": material });
    let full = || json!({ "POSITION": 0, "NORMAL": 1, "TEXCOORD_0": 2 });
    let own = |number: u32| {
        let mut attributes = full();
        attributes[format!("_OWN{number}")] = 2.into();
        whole(attributes, number)
    };
    let third =
        |number: u32| json!({ "attributes": full(), "indices": 4 + number, "material": number });
    let one = |primitives: Vec<Value>| json!([{ "primitives": primitives }]);
    // Vertices on the border of two primitives are written for each of them.
    let on_borders = 2 * usize::from(SIDE) * 40;
    for (what, meshes, more) in [
        (
            "other attributes for each",
            one((0..6).map(own).collect()),
            0,
        ),
        (
            "fewer attributes for some",
            one(vec![
                whole(full(), 0),
                whole(json!({ "POSITION": 0, "NORMAL": 1 }), 1),
                whole(json!({ "POSITION": 0 }), 2),
            ]),
            0,
        ),
        (
            "a part of the triangles for each",
            one((0..3).map(third).collect()),
            on_borders,
        ),
        (
            "several meshes",
            (0..4)
                .map(|it| json!({ "primitives": [whole(full(), it)] }))
                .collect(),
            0,
        ),
    ] {
        let source = grid(meshes);
        let bench = Bench::new();
        bench.write("grid.glb", &source);
        bench
            .optimize(&[
                "grid.glb",
                "out",
                "-p",
                "Lossless Clean-Up",
                "--no-pictures",
            ])
            .expect(0);
        let result = std::fs::read(bench.path("out/grid.glb")).unwrap();
        let (read, written) = (bytes_of_buffer(source), bytes_of_buffer(result));
        assert!(
            written <= read + more,
            "{what}: {read} bytes became {written}"
        );
    }
}
