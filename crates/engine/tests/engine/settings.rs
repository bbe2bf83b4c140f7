//! Every key of the two layouts is in our list, has the effect in the list, and is in the documentation.

use std::collections::BTreeSet;
use std::path::Path;

use assetfs_engine::settings::{KEYS, Key, Settings, Treatment};
use serde_json::{Map, Value, json};

fn fixture(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/wire");
    serde_json::from_slice(&std::fs::read(path.join(name)).unwrap()).unwrap()
}

/// The paths and values of everything in `value` that is not an object or a list of objects.
fn leaves(path: String, value: &Value, found: &mut Vec<(String, Value)>) {
    let below = |key: &str| match path.as_str() {
        "" => key.to_owned(),
        path => format!("{path}.{key}"),
    };
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                leaves(below(key), member, found);
            }
        }
        Value::Array(elements) if elements.iter().any(Value::is_object) => {
            for element in elements {
                leaves(format!("{path}[]"), element, found);
            }
        }
        _ => found.push((path, value.clone())),
    }
}

/// The keys of this engine that the API does not have.
const OWN: [(&str, &str); 1] = [(
    "compressionAndExport.fileExports[].textureQuality",
    "medium",
)];

/// Every key of the API and of this engine, with a typical value.
fn known() -> Vec<(String, Value)> {
    let own = OWN.map(|(path, value)| (path.to_owned(), json!(value)));
    let mut found = Vec::from(own);
    for name in ["config-layout-a.json", "config-layout-b.json"] {
        leaves(String::new(), &fixture(name), &mut found);
    }
    let mut seen = BTreeSet::new();
    found.retain(|(path, _)| seen.insert(path.clone()));
    found
}

/// A configuration with only this key, with an effective value.
fn asking(path: &str, value: &Value) -> Map<String, Value> {
    let value = match value {
        Value::Bool(_) => json!(true),
        Value::Number(number) if number.as_f64() == Some(0.0) => json!(1),
        other => other.clone(),
    };
    let mut built = value;
    for step in path.rsplit('.') {
        built = match step.strip_suffix("[]") {
            Some(list) => {
                if list == "fileExports" && built.get("fileType").is_none() {
                    built["fileType"] = json!("glb");
                }
                json!({ list: [built] })
            }
            None => json!({ step: built }),
        };
    }
    built.as_object().unwrap().clone()
}

#[test]
fn our_list_has_every_key_and_no_other() {
    let known: BTreeSet<String> = known().into_iter().map(|(path, _)| path).collect();
    let listed: BTreeSet<String> = KEYS.iter().map(|key| key.path.to_owned()).collect();
    assert_eq!(listed, known);
    assert_eq!(KEYS.len(), listed.len(), "no key is listed twice");
}

#[test]
fn no_key_is_ignored_in_silence() {
    for (path, value) in known() {
        let settings = Settings::read(&asking(&path, &value)).unwrap();
        let treatment = KEYS.iter().find(|key| key.path == path).unwrap().treatment;
        match treatment {
            Treatment::Done(_) => assert_eq!(settings.not_done, Vec::<String>::new(), "{path}"),
            Treatment::NotDone(reason) => {
                let path = path.replace("[]", "[0]");
                assert_eq!(settings.not_done, [format!("{path}: {reason}")]);
            }
        }
    }
}

#[test]
fn a_done_key_changes_the_settings() {
    // These have the default effect.
    let plain = ["schema", "compressionAndExport.fileExports[].fileType"];
    let empty = Settings::read(&Map::new()).unwrap();
    for (path, value) in known() {
        let is_done = |key: &&Key| key.path == path && matches!(key.treatment, Treatment::Done(_));
        if !KEYS.iter().any(|key| is_done(&key)) || plain.contains(&path.as_str()) {
            continue;
        }
        // A value that differs from the default.
        let value = match path.rsplit('.').next().unwrap() {
            "meshCompressionMethod" => json!("draco"),
            "customScaling" => json!(2),
            "purpose" => json!("proxy"),
            "baseColor" | "emissive" | "normal" | "orm" if value.is_string() => json!("png"),
            _ => value,
        };
        let settings = Settings::read(&asking(&path, &value)).unwrap();
        assert_ne!(settings, empty, "{path} has no effect");
    }
}

#[test]
fn the_documentation_names_every_key() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/engine.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    for key in KEYS {
        assert!(docs.contains(&format!("`{}`", key.path)), "{}", key.path);
    }
}
