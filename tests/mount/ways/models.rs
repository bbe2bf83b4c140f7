//! Models to copy: flat, nested, loose, large.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::support::small_chair;

/// The small chair with its pictures in a subfolder.
pub fn nested_chair(scratch: &Path) -> PathBuf {
    let dir = small_chair(&scratch.join("nested"));
    let textures = dir.join("textures");
    fs::create_dir_all(&textures).expect("a folder");
    let model = dir.join("chair.gltf");
    let mut text = fs::read_to_string(&model).expect("the model");
    for entry in fs::read_dir(&dir).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "png") {
            let name = path.file_name().expect("a name").to_string_lossy();
            text = text.replace(&format!("\"{name}\""), &format!("\"textures/{name}\""));
            fs::rename(&path, textures.join(name.as_ref())).expect("renamed");
        }
    }
    fs::write(&model, text).expect("written");
    dir
}

/// The bytes of a GLB with one triangle. `mark` makes it differ from others.
pub fn triangle_glb(mark: &str) -> Vec<u8> {
    let mut document = triangle(36, None);
    document["asset"]["generator"] = mark.into();
    let mut json = document.to_string().into_bytes();
    json.resize(json.len().next_multiple_of(4), b' ');
    let mut glb = b"glTF\x02\0\0\0".to_vec();
    glb.extend((12 + 8 + json.len() as u32 + 8 + 36).to_le_bytes());
    glb.extend((json.len() as u32).to_le_bytes());
    glb.extend(b"JSON");
    glb.extend(json);
    glb.extend(36_u32.to_le_bytes());
    glb.extend(b"BIN\0");
    glb.extend(corners());
    glb
}

/// A folder with a glTF of one triangle and a buffer of that many bytes, of which it needs 36.
pub fn model_with_buffer(dir: &Path, len: u64) {
    fs::create_dir_all(dir).expect("a folder");
    let document = triangle(len, Some("large.bin"));
    fs::write(dir.join("large.gltf"), document.to_string()).expect("written");
    let mut bytes = corners();
    let mut seed = 1_u32;
    bytes.resize_with(usize::try_from(len).expect("fits"), || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 24) as u8
    });
    fs::write(dir.join("large.bin"), bytes).expect("written");
}

/// A glTF document with one triangle in its first buffer.
pub fn triangle(len: u64, uri: Option<&str>) -> serde_json::Value {
    let mut buffer = json!({ "byteLength": len });
    if let Some(uri) = uri {
        buffer["uri"] = uri.into();
    }
    json!({
        "asset": { "version": "2.0" },
        "scene": 0,
        "scenes": [{ "nodes": [0] }],
        "nodes": [{ "mesh": 0 }],
        "meshes": [{ "primitives": [{ "attributes": { "POSITION": 0 } }] }],
        "accessors": [{
            "bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3",
            "min": [0.0, 0.0, 0.0], "max": [1.0, 1.0, 0.0],
        }],
        "bufferViews": [{ "buffer": 0, "byteLength": 36 }],
        "buffers": [buffer],
    })
}

/// The corners of the triangle.
pub fn corners() -> Vec<u8> {
    let corners = [0.0_f32, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    corners
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect()
}
