//! Models to copy, and the triangles of a result.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use assetfs_engine::sample::{ChairDetail, write_chair_with};
use serde_json::Value;

use super::files::read;

/// A sample model next to the project, or `None` with a message if it is missing.
pub fn sample(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../shared/samples")
        .join(name);
    if path.exists() {
        return Some(path);
    }
    crate::skip::skipped("there are no sample models beside the project");
    None
}

/// The real model for copies: the flight helmet, or the sample chair if the samples are missing.
pub fn model(scratch: &Path) -> PathBuf {
    sample("02-flight-helmet").unwrap_or_else(|| small_chair(scratch))
}

/// The sample chair with few details, in a folder `chair`.
pub fn small_chair(scratch: &Path) -> PathBuf {
    let dir = scratch.join("chair");
    write_chair_with(&dir, ChairDetail::Small).expect("the chair is written");
    dir
}

/// The triangle count according to the JSON of a GLB or glTF.
pub fn triangles_of(model: &Path) -> u64 {
    let bytes = read(model);
    let json: Value = if model.extension() == Some(OsStr::new("glb")) {
        let len = u32::from_le_bytes(bytes[12..16].try_into().expect("four bytes")) as usize;
        serde_json::from_slice(&bytes[20..20 + len]).expect("a JSON chunk")
    } else {
        serde_json::from_slice(&bytes).expect("JSON")
    };
    let accessor_count = |index: &Value| {
        json["accessors"][index.as_u64().expect("an index") as usize]["count"]
            .as_u64()
            .expect("a count")
    };
    let meshes = json["meshes"].as_array().expect("meshes");
    meshes
        .iter()
        .flat_map(|mesh| mesh["primitives"].as_array().expect("primitives"))
        .map(|primitive| match primitive.get("indices") {
            Some(indices) => accessor_count(indices) / 3,
            None => accessor_count(&primitive["attributes"]["POSITION"]) / 3,
        })
        .sum()
}
