//! A minimal GLB: a square of two triangles, with the changes of a test.

#![allow(dead_code, reason = "each test binary uses its own part")]

use assetfs_engine::document::glb;
use serde_json::{Value, json};

/// The square with changed JSON.
pub fn changed_glb(change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let positions = [0f32, 0., 0., 1., 0., 0., 0., 1., 0., 1., 1., 0.].map(f32::to_le_bytes);
    let indices = [0u16, 1, 2, 2, 1, 3].map(u16::to_le_bytes);
    let bin = [positions.concat(), indices.concat()].concat();
    let mut json = json!({
        "asset": { "version": "2.0" },
        "scene": 0, "scenes": [{ "nodes": [0] }], "nodes": [{ "mesh": 0 }],
        "meshes": [{ "primitives": [{ "attributes": { "POSITION": 0 }, "indices": 1 }] }],
        "buffers": [{ "byteLength": 60 }],
        "bufferViews": [
            { "buffer": 0, "byteLength": 48 }, { "buffer": 0, "byteOffset": 48, "byteLength": 12 },
        ],
        "accessors": [
            { "bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3" },
            { "bufferView": 1, "componentType": 5123, "count": 6, "type": "SCALAR" },
        ],
    });
    change(&mut json);
    glb::join(json.to_string().as_bytes(), &bin)
}

/// The square with a number as its generator, so that no two have the same bytes.
pub fn numbered_glb(number: usize) -> Vec<u8> {
    changed_glb(|json| json["asset"]["generator"] = format!("number {number}").into())
}

/// A GLB that is complete by its header and its length, and whose content is no model.
pub fn broken_glb() -> Vec<u8> {
    let mut broken = b"glTF\x02\0\0\0".to_vec();
    broken.extend(64_u32.to_le_bytes());
    broken.resize(64, 0xFF);
    broken
}
