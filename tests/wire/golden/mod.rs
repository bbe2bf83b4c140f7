//! One sample of each form of the API: read, checked, and written back with the same meaning.

mod account;
mod models;

use std::collections::BTreeSet;
use std::path::PathBuf;

use assetfs::wire::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/wire")
}

pub fn sample(name: &str) -> String {
    let path = folder().join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub fn sample_value(name: &str) -> Value {
    serde_json::from_str(&sample(&format!("{name}.json"))).unwrap()
}

/// Reads a sample, and checks that writing it loses nothing and that the written text reads the same.
fn golden<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(name: &str) -> T {
    let value = sample_value(name);
    let read: T =
        serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{name}: {error}"));
    let written = serde_json::to_value(&read).unwrap();
    let text = serde_json::to_string(&read).unwrap();
    let again: T =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}, written: {error}"));
    assert_eq!(again, read, "{name}: read, written and read again");
    assert_same(&value, &written, name);
    read
}

/// Equality that treats null as absent, all forms of a timestamp as equal, and a text that contains JSON as
/// the JSON itself.
fn assert_same(expected: &Value, found: &Value, at: &str) {
    match (expected, found) {
        (Value::Object(one), Value::Object(two)) => {
            let keys: BTreeSet<&String> = one.keys().chain(two.keys()).collect();
            for key in keys {
                let null = Value::Null;
                let (one, two) = (one.get(key).unwrap_or(&null), two.get(key).unwrap_or(&null));
                let is_empty = |value: &Value| {
                    value.is_null()
                        || value.as_array().is_some_and(Vec::is_empty)
                        || value.as_object().is_some_and(|map| {
                            map.values()
                                .all(|v| v.as_object().is_some_and(|m| m.is_empty()))
                        })
                };
                if !(is_empty(one) && is_empty(two)) {
                    assert_same(one, two, &format!("{at}.{key}"));
                }
            }
        }
        (Value::Array(one), Value::Array(two)) if one.len() == two.len() => {
            for (index, (one, two)) in one.iter().zip(two).enumerate() {
                assert_same(one, two, &format!("{at}[{index}]"));
            }
        }
        (Value::String(one), Value::String(two)) if one != two => {
            let instants = (one.parse::<Timestamp>(), two.parse::<Timestamp>());
            if let (Ok(one), Ok(two)) = instants {
                assert_eq!(one, two, "{at}");
                return;
            }
            let parse = |text: &str| {
                serde_json::from_str::<Value>(text).unwrap_or(Value::String(text.to_owned()))
            };
            assert_eq!(parse(one), parse(two), "{at}");
        }
        (Value::String(text), object @ Value::Object(_))
        | (object @ Value::Object(_), Value::String(text)) => {
            assert_same(&serde_json::from_str(text).unwrap(), object, at);
        }
        (Value::Number(one), Value::Number(two)) => assert_eq!(one.as_f64(), two.as_f64(), "{at}"),
        (one, two) => assert_eq!(one, two, "{at}"),
    }
}

fn same_keys(form: &Value, name: &str) {
    let keys = |value: &Value| -> BTreeSet<String> {
        value.as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(
        keys(form),
        keys(&sample_value(name)),
        "{name}: the fields of the form"
    );
    assert_same(&sample_value(name), form, name);
}

#[test]
fn every_sample_is_used() {
    let source = concat!(
        include_str!("account.rs"),
        include_str!("models.rs"),
        include_str!("../tolerance.rs")
    );
    let samples: Vec<_> = std::fs::read_dir(folder()).unwrap().collect();
    assert!(samples.len() > 20, "{} samples", samples.len());
    for entry in samples {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let stem = name.split('.').next().unwrap();
        assert!(
            source.contains(&format!("\"{stem}")),
            "{name} is read by no test"
        );
    }
}
