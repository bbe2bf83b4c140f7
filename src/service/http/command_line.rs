//! Converts the options of the old command line, which version 1 accepts as `config`, into a configuration.
//!
//! An option is known by its letters and digits in any case: `decimation-target`, `decimationTarget` and
//! `--decimation_target` are one, and so is `{"decimation": {"target": …}}`. Keys of the current layouts may
//! stand beside them.

use serde_json::{Map, Value, json};

use assetfs_engine::settings::most_alike;

/// The options, spelled as in the documentation.
const OPTIONS: &[(&str, Setting)] = &[
    ("decimation-target", Setting::DecimationTarget),
    ("decimate:target", Setting::DecimationTarget),
    (
        "baking:pixels-per-unit-length",
        Setting::PixelsPerUnitLength,
    ),
    ("pixels-per-unit-length", Setting::PixelsPerUnitLength),
    ("texture-size", Setting::TextureSize),
];

/// The top-level keys of the current configuration layouts.
const LAYOUT_KEYS: &[&str] = &[
    "schema",
    "limits",
    "workflowSettings",
    "sceneManipulation",
    "assetSimplification",
    "compressionAndExport",
    "import",
    "export",
];

/// The formats of version 1 without ctm, which this service cannot write. A target size applies to the first one.
pub const VERSION_1_FORMATS: &[&str] = &["glb", "usdz", "obj"];

const TEXTURE_SLOTS: &[&str] = &["baseColor", "emissive", "normal", "orm"];

/// The largest texture size, in pixels.
const MAX_TEXTURE: f64 = 65_536.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Setting {
    DecimationTarget,
    PixelsPerUnitLength,
    TextureSize,
}

/// Why options are refused, as the end of a sentence.
pub type OptionRefusal = String;

/// The configuration for `options`. `longest_side` is the longest side of the model's bounding box, if it is known.
///
/// # Errors
/// If an option is unknown or its value has the wrong type.
pub fn configuration(
    options: Map<String, Value>,
    longest_side: Option<f64>,
) -> Result<Map<String, Value>, OptionRefusal> {
    let mut config = Map::new();
    let mut texture_size: Option<f64> = None;
    let mut faces = None;
    let (of_layouts, options): (Map<String, Value>, Map<String, Value>) = options
        .into_iter()
        .partition(|(key, _)| LAYOUT_KEYS.contains(&key.as_str()));
    config.extend(of_layouts);
    for (key, value) in flat(options) {
        let setting = setting(&key)?;
        match setting {
            Setting::DecimationTarget => faces = Some(face_limit(&key, &value)?),
            Setting::TextureSize | Setting::PixelsPerUnitLength => {
                let mut size = positive(&key, &value)?;
                if setting == Setting::PixelsPerUnitLength {
                    size *= longest_side.ok_or_else(|| {
                        format!("has {key:?}, and the size of the model is not known")
                    })?;
                }
                let size = size.round().clamp(1.0, MAX_TEXTURE);
                texture_size = Some(texture_size.map_or(size, |other| other.min(size)));
            }
        }
    }
    if let Some((key, limit)) = faces {
        put(&mut config, &["limits", "faces", key], limit)?;
    }
    if let Some(size) = texture_size {
        for slot in TEXTURE_SLOTS {
            put(
                &mut config,
                &["limits", "textures", slot],
                json!(size as u64),
            )?;
        }
    }
    Ok(config)
}

/// Flattens grouped options to full names: `decimation:target`.
fn flat(options: Map<String, Value>) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for (key, value) in options {
        match value {
            Value::Object(group) => {
                let named = |(name, value)| (format!("{key}:{name}"), value);
                found.extend(flat(group).into_iter().map(named));
            }
            // A null sets nothing.
            Value::Null => {}
            value => found.push((key, value)),
        }
    }
    found
}

/// If a configuration names no exports, adds the formats of version 1.
pub fn with_formats(config: &mut Map<String, Value>) {
    let is_asked = |value: Option<&Value>| {
        value
            .and_then(Value::as_array)
            .is_some_and(|list| !list.is_empty())
    };
    let of_a = config
        .get("compressionAndExport")
        .and_then(|it| it.get("fileExports"));
    if is_asked(of_a) || is_asked(config.get("export")) {
        return;
    }
    let exports: Vec<Value> = VERSION_1_FORMATS
        .iter()
        .map(|format| json!({ "fileType": format }))
        .collect();
    let settings = config.entry("compressionAndExport").or_insert(Value::Null);
    match settings {
        Value::Object(settings) => drop(settings.insert("fileExports".to_owned(), exports.into())),
        other => *other = json!({ "fileExports": exports }),
    }
}

/// Sets the value at a path, unless it exists.
pub fn put(
    config: &mut Map<String, Value>,
    path: &[&str],
    value: Value,
) -> Result<(), OptionRefusal> {
    let Some((last, parents)) = path.split_last() else {
        return Ok(());
    };
    let mut at = config;
    for parent in parents {
        let next = at.entry(*parent).or_insert_with(|| json!({}));
        if next.is_null() {
            *next = json!({});
        }
        at = next
            .as_object_mut()
            .ok_or_else(|| format!("has {parent:?}, which must be an object"))?;
    }
    at.entry(*last).or_insert(value);
    Ok(())
}

fn plain(key: &str) -> String {
    let letters = key.chars().filter(|c| c.is_ascii_alphanumeric());
    letters.map(|c| c.to_ascii_lowercase()).collect()
}

fn setting(key: &str) -> Result<Setting, OptionRefusal> {
    let wanted = plain(key);
    let found = OPTIONS.iter().find(|(name, _)| plain(name) == wanted);
    found.map(|(_, setting)| *setting).ok_or_else(|| {
        let names = OPTIONS.iter().map(|(name, _)| *name);
        let nearest = most_alike(key, names.chain(LAYOUT_KEYS.iter().copied()));
        let hint = nearest.map_or_else(String::new, |name| format!("; did you mean {name}?"));
        format!("has {key:?}, which is not an option{hint}")
    })
}

/// A number of triangles, also as `f:5000`, or a percentage of the source's.
fn face_limit(key: &str, value: &Value) -> Result<(&'static str, Value), OptionRefusal> {
    if let Some(text) = value.as_str()
        && let Some(percentage) = text.trim().strip_suffix('%')
    {
        let percentage: Option<f64> = percentage.trim().parse().ok();
        let percentage = percentage.filter(|it| *it > 0.0 && *it <= 100.0);
        return percentage
            .map(|percentage| ("percentage", json!(percentage)))
            .ok_or_else(|| format!("has {key:?}, which must be above 0 % and up to 100 %"));
    }
    let faces = value
        .as_str()
        .and_then(|text| text.trim().strip_prefix("f:"));
    let count = match faces {
        Some(faces) => positive(key, &json!(faces))?,
        None => positive(key, value)?,
    };
    match count >= 1.0 && count.fract() == 0.0 {
        true => Ok(("count", json!(count as u64))),
        false => Err(format!(
            "has {key:?}, which must be a whole number of triangles or a percentage"
        )),
    }
}

/// A number above 0. Command lines write numbers as text.
fn positive(key: &str, value: &Value) -> Result<f64, OptionRefusal> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number
        .filter(|number| *number > 0.0 && number.is_finite())
        .ok_or_else(|| format!("has {key:?}, which must be a number above 0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(options: Value) -> Result<Value, OptionRefusal> {
        configuration(options.as_object().unwrap().clone(), Some(2.5)).map(Value::Object)
    }

    #[test]
    fn each_option_becomes_a_limit_in_any_spelling() {
        let faces = |limit: Value| json!({ "limits": { "faces": limit } });
        let textures = |size: u64| json!({ "limits": { "textures": { "baseColor": size, "emissive": size, "normal": size, "orm": size } } });
        for (options, config) in [
            (
                json!({ "decimation-target": 5000 }),
                faces(json!({ "count": 5000 })),
            ),
            (
                json!({ "decimation": { "target": "f:5000" } }),
                faces(json!({ "count": 5000 })),
            ),
            (
                json!({ "--decimationTarget": "5000" }),
                faces(json!({ "count": 5000 })),
            ),
            (
                json!({ "decimate:target": "25%" }),
                faces(json!({ "percentage": 25.0 })),
            ),
            (json!({ "pixels-per-unit-length": 100 }), textures(250)),
            (
                json!({ "pixelsPerUnitLength": "100", "texture_size": 128 }),
                textures(128),
            ),
            (
                json!({ "limits": { "faces": { "count": 7 } } }),
                faces(json!({ "count": 7 })),
            ),
            (json!({}), json!({})),
        ] {
            assert_eq!(read(options.clone()), Ok(config), "{options}");
        }
    }

    #[test]
    fn what_is_no_option_is_refused_with_the_nearest() {
        for (options, reason) in [
            (
                json!({ "decimation-traget": 5 }),
                "did you mean decimation-target?",
            ),
            (json!({ "limit": 5 }), "did you mean limits?"),
            (json!({ "zzz": 5 }), "\"zzz\", which is not an option"),
            (json!({ "decimation-target": 0.5 }), "a whole number"),
            (json!({ "decimation-target": "0%" }), "above 0 %"),
            (json!({ "texture-size": true }), "a number above 0"),
            (
                json!({ "limits": 5, "texture-size": 5 }),
                "must be an object",
            ),
        ] {
            let refusal = read(options.clone()).unwrap_err();
            assert!(refusal.contains(reason), "{options}: {refusal}");
        }
        let options = json!({ "pixels-per-unit-length": 5 });
        let unknown = configuration(options.as_object().unwrap().clone(), None).unwrap_err();
        assert!(
            unknown.contains("size of the model is not known"),
            "{unknown}"
        );
    }

    #[test]
    fn a_configuration_without_exports_makes_the_formats_of_version_1() {
        for empty in [
            json!({}),
            json!({ "compressionAndExport": null }),
            json!({ "export": [] }),
        ] {
            let mut config = empty.as_object().unwrap().clone();
            with_formats(&mut config);
            let types = config["compressionAndExport"]["fileExports"]
                .as_array()
                .unwrap();
            let types: Vec<&str> = types
                .iter()
                .map(|it| it["fileType"].as_str().unwrap())
                .collect();
            assert_eq!(types, ["glb", "usdz", "obj"]);
        }
        let mut asked = json!({ "export": [{ "fileName": "x" }] })
            .as_object()
            .unwrap()
            .clone();
        with_formats(&mut asked);
        assert!(!asked.contains_key("compressionAndExport"));
    }
}
