//! Damaged and hostile files: an error or a model, never a panic, never more memory than the size of the file
//! justifies.

use std::fs;

use assetfs_engine::document::glb;
use assetfs_engine::import::import;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::square_glb::changed_glb;

/// A GLB with most kinds of references.
fn sample() -> Vec<u8> {
    changed_glb(|json| {
        json["nodes"] = json!([{ "mesh": 0, "children": [1] }, {}]);
        let primitive = &mut json["meshes"][0]["primitives"][0];
        primitive["material"] = json!(0);
        primitive["targets"] = json!([{ "POSITION": 2 }]);
        json["materials"] =
            json!([{ "pbrMetallicRoughness": { "baseColorFactor": [1, 0, 0, 1] } }]);
        let sparse = json!({ "componentType": 5126, "count": 4, "type": "VEC3", "sparse": {
            "count": 1,
            "indices": { "bufferView": 1, "componentType": 5123 },
            "values": { "bufferView": 0 },
        } });
        json["accessors"].as_array_mut().unwrap().push(sparse);
    })
}

fn import_bytes(bytes: &[u8]) -> Result<usize, String> {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("m.glb"), bytes).unwrap();
    match import(dir.path(), &["m.glb".to_owned()]) {
        Ok(imported) => {
            let _ = (imported.scene.bounds(), imported.scene.drawn_triangles());
            Ok(imported
                .scene
                .geometries
                .iter()
                .map(|geometry| geometry.indices.len())
                .sum())
        }
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn the_sample_itself_is_fine() {
    assert_eq!(import_bytes(&sample()), Ok(6));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn a_file_with_changed_bytes_is_read_or_refused(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = sample();
        for (place, value) in changes {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let _ = import_bytes(&bytes);
    }

    #[test]
    fn a_file_with_a_changed_number_is_read_or_refused(
        which in any::<prop::sample::Index>(),
        number in prop_oneof![
            Just(json!(-1)), Just(json!(1e300)), Just(json!(4_294_967_295u64)),
            Just(json!(u64::MAX)), Just(json!(0.5)), Just(json!(1u64 << 40)), Just(Value::Null),
            (0u64..70_000).prop_map(|number| json!(number)),
        ],
    ) {
        let bytes = sample();
        let parts = glb::split("m.glb", &bytes.clone().into()).unwrap();
        let mut json: Value = serde_json::from_slice(&parts.json).unwrap();
        let mut count = 0;
        for_each_number(&mut json, &mut |_| count += 1);
        let chosen = which.index(count);
        let mut at = 0;
        for_each_number(&mut json, &mut |value| {
            if at == chosen {
                *value = number.clone();
            }
            at += 1;
        });
        let _ = import_bytes(&glb::join(json.to_string().as_bytes(), &parts.bin.unwrap()));
    }
}

fn for_each_number(value: &mut Value, each: &mut impl FnMut(&mut Value)) {
    match value {
        Value::Array(list) => list
            .iter_mut()
            .for_each(|value| for_each_number(value, each)),
        Value::Object(members) => {
            members
                .values_mut()
                .for_each(|value| for_each_number(value, each));
        }
        Value::Number(_) => each(value),
        _ => {}
    }
}

#[test]
fn an_error_names_its_place() {
    let parts = glb::split("m.glb", &sample().into()).unwrap();
    let source: Value = serde_json::from_slice(&parts.json).unwrap();
    let bin = parts.bin.unwrap();
    for (pointer, value, sentence) in [
        (
            "/accessors/0/count",
            json!(5),
            "m.glb: accessors[0] reads past the end of bufferViews[0]: 5 elements of 12 bytes do not fit into 48 bytes",
        ),
        (
            "/accessors/2/count",
            json!(1u64 << 50),
            "m.glb: accessors[2] has 1125899906842624 elements where 4 are needed",
        ),
        (
            "/meshes/0/primitives/0/indices",
            json!(9),
            "m.glb: meshes[0].primitives[0].indices refers to accessor 9, but the file has only 3 accessors",
        ),
        (
            "/nodes/1",
            json!({ "children": [0] }),
            "m.glb: nodes[0] is its own ancestor",
        ),
        (
            "/bufferViews/1/byteLength",
            json!(13),
            "m.glb: bufferViews[1] ends after its buffer: 13 bytes from 48 do not fit into 60 bytes",
        ),
        (
            "/asset/version",
            json!("1.0"),
            "m.glb is glTF version 1.0; only version 2 can be read",
        ),
        (
            "/accessors/1/componentType",
            json!(1234),
            "m.glb: accessors[1].componentType is 1234, which is not a glTF component type",
        ),
    ] {
        let mut json = source.clone();
        *json.pointer_mut(pointer).unwrap() = value;
        let error = import_bytes(&glb::join(json.to_string().as_bytes(), &bin)).unwrap_err();
        assert_eq!(error, sentence);
    }
}

#[test]
fn a_reference_out_of_the_upload_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("secret.bin"), [0; 8]).unwrap();
    fs::create_dir(dir.path().join("in")).unwrap();
    for uri in [
        "../secret.bin",
        "%2E%2E/secret.bin",
        "/etc/hostname",
        "file:///etc/hostname",
    ] {
        let json = json!({
            "asset": { "version": "2.0" }, "buffers": [{ "uri": uri, "byteLength": 8 }],
        });
        fs::write(dir.path().join("in/m.gltf"), json.to_string()).unwrap();
        let error = import(&dir.path().join("in"), &["m.gltf".to_owned()]).unwrap_err();
        let sentence = format!(
            "m.gltf: buffers[0].uri refers to \"{uri}\", which is outside of the uploaded files"
        );
        assert_eq!(error.to_string(), sentence);
    }
}

#[test]
fn a_missing_file_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let json = json!({
        "asset": { "version": "2.0" }, "buffers": [{ "uri": "chair.bin", "byteLength": 8 }],
    });
    fs::write(dir.path().join("chair.gltf"), json.to_string()).unwrap();
    let error = import(dir.path(), &["chair.gltf".to_owned()]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "chair.gltf: buffers[0].uri needs the file \"chair.bin\", which is not among the uploaded files; add it beside the model"
    );
}
