//! Shortens JSON without changing its meaning: members that have the default of glTF 2.0 are left out, and numbers that are
//! 32-bit floats get the fewest digits that read as the same float. `extras` and extensions stay as they are. Where
//! `KHR_animation_pointer` may name members, all of them stay.

use serde_json::{Map, Number, Value};

/// A default: a number, a word, or a list of numbers.
enum DefaultValue {
    Number(f64),
    Flag(bool),
    Text(&'static str),
    Numbers(&'static [f64]),
}

use DefaultValue::{Flag, Numbers, Text};

type Defaults = &'static [(&'static str, DefaultValue)];

const NODE: Defaults = &[
    ("translation", Numbers(&[0.0, 0.0, 0.0])),
    ("rotation", Numbers(&[0.0, 0.0, 0.0, 1.0])),
    ("scale", Numbers(&[1.0, 1.0, 1.0])),
    (
        "matrix",
        Numbers(&[
            1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0,
        ]),
    ),
];

const MATERIAL: Defaults = &[
    ("alphaMode", Text("OPAQUE")),
    ("doubleSided", Flag(false)),
    ("emissiveFactor", Numbers(&[0.0, 0.0, 0.0])),
];

const FINISH: Defaults = &[
    ("baseColorFactor", Numbers(&[1.0, 1.0, 1.0, 1.0])),
    ("metallicFactor", DefaultValue::Number(1.0)),
    ("roughnessFactor", DefaultValue::Number(1.0)),
];

const TEXTURE: Defaults = &[
    ("texCoord", DefaultValue::Number(0.0)),
    ("scale", DefaultValue::Number(1.0)),
    ("strength", DefaultValue::Number(1.0)),
];

const KEYFRAMES: Defaults = &[("interpolation", Text("LINEAR"))];

/// The textures of a material, besides those of its finish.
const TEXTURES: [&str; 3] = ["normalTexture", "occlusionTexture", "emissiveTexture"];
const TEXTURES_OF_FINISH: [&str; 2] = ["baseColorTexture", "metallicRoughnessTexture"];

/// Shortens a whole document.
pub(super) fn compact(json: &mut Map<String, Value>) {
    if !uses(json, "KHR_animation_pointer") {
        leave_out_defaults(json);
    }
    for key in ["nodes", "accessors"] {
        list(json, key).for_each(shorten_numbers);
    }
}

fn uses(json: &Map<String, Value>, extension: &str) -> bool {
    let used = json.get("extensionsUsed").and_then(Value::as_array);
    used.is_some_and(|names| names.iter().any(|name| name == extension))
}

fn leave_out_defaults(json: &mut Map<String, Value>) {
    for node in list(json, "nodes") {
        leave_out(node, NODE);
    }
    for material in list(json, "materials") {
        shorten_material(material);
    }
    for animation in list(json, "animations") {
        for sampler in list(animation, "samplers") {
            leave_out(sampler, KEYFRAMES);
        }
    }
}

/// The objects of a list.
fn list<'j>(
    json: &'j mut Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = &'j mut Map<String, Value>> {
    let list = json.get_mut(key).and_then(Value::as_array_mut);
    list.into_iter().flatten().filter_map(Value::as_object_mut)
}

fn object<'j>(json: &'j mut Map<String, Value>, key: &str) -> Option<&'j mut Map<String, Value>> {
    json.get_mut(key).and_then(Value::as_object_mut)
}

fn shorten_material(material: &mut Map<String, Value>) {
    leave_out(material, MATERIAL);
    shorten_numbers(material);
    for key in TEXTURES {
        shorten_texture(material, key);
    }
    let Some(finish) = object(material, "pbrMetallicRoughness") else {
        return;
    };
    for key in TEXTURES_OF_FINISH {
        shorten_texture(finish, key);
    }
    leave_out(finish, FINISH);
    shorten_numbers(finish);
    if finish.is_empty() {
        material.shift_remove("pbrMetallicRoughness");
    }
}

fn shorten_texture(json: &mut Map<String, Value>, key: &str) {
    if let Some(texture) = object(json, key) {
        leave_out(texture, TEXTURE);
        shorten_numbers(texture);
    }
}

fn leave_out(json: &mut Map<String, Value>, defaults: Defaults) {
    json.retain(|key, value| {
        let default = defaults.iter().find(|(name, _)| name == key);
        default.is_none_or(|(_, default)| !default.is(value))
    });
}

/// Shortens the numbers of one object and those of its lists.
pub(super) fn shorten_numbers(json: &mut Map<String, Value>) {
    for value in json.values_mut() {
        match value {
            Value::Array(numbers) => numbers.iter_mut().for_each(shorten_number),
            value => shorten_number(value),
        }
    }
}

impl DefaultValue {
    fn is(&self, value: &Value) -> bool {
        match self {
            DefaultValue::Number(default) => value.as_f64() == Some(*default),
            Flag(default) => value.as_bool() == Some(*default),
            Text(default) => value.as_str() == Some(default),
            Numbers(defaults) => value.as_array().is_some_and(|numbers| {
                let numbers = numbers.iter().map(Value::as_f64);
                numbers.eq(defaults.iter().map(|default| Some(*default)))
            }),
        }
    }
}

/// The largest number below which every whole number is a float.
const MAX_WHOLE: f64 = 16_777_216.0;

fn shorten_number(value: &mut Value) {
    let Some(number) = value.as_f64().filter(|_| value.is_f64()) else {
        return;
    };
    let single = number as f32;
    let is_negative_zero = number == 0.0 && number.is_sign_negative();
    if f64::from(single) != number || is_negative_zero {
        return;
    }
    let short = match number.fract() == 0.0 && number.abs() < MAX_WHOLE {
        true => Some(Number::from(number as i64)),
        // The shortest text that reads as this float.
        false => single.to_string().parse().ok().and_then(Number::from_f64),
    };
    if let Some(short) = short {
        *value = Value::Number(short);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn compacted(json: Value) -> Value {
        let Value::Object(mut json) = json else {
            panic!("an object");
        };
        compact(&mut json);
        Value::Object(json)
    }

    #[test]
    fn defaults_are_left_out_and_other_values_stay() {
        let extras = json!({ "translation": [0.0, 0.0, 0.0], "weight": 0.4_f32 });
        let json = compacted(json!({
            "nodes": [
                { "translation": [0, 0.0, 0], "rotation": [0, 0, 0, 1], "scale": [1, 1, 1], "extras": extras },
                { "translation": [0.0, 0.0, 0.5], "rotation": [0, 0, 0, -1], "name": "turned" },
            ],
            "materials": [
                {
                    "alphaMode": "OPAQUE", "doubleSided": false, "emissiveFactor": [0, 0, 0],
                    "pbrMetallicRoughness": {
                        "baseColorFactor": [1, 1, 1, 1], "metallicFactor": 1.0, "roughnessFactor": 1,
                    },
                },
                {
                    "alphaMode": "MASK", "doubleSided": true,
                    "normalTexture": { "index": 0, "texCoord": 0, "scale": 1 },
                    "pbrMetallicRoughness": { "metallicFactor": 0.0, "baseColorTexture": { "index": 0, "texCoord": 1 } },
                },
            ],
            "animations": [{ "samplers": [
                { "input": 0, "output": 1, "interpolation": "LINEAR" },
                { "input": 0, "output": 1, "interpolation": "STEP" },
            ] }],
        }));
        assert_eq!(
            json,
            json!({
                "nodes": [
                    { "extras": extras },
                    { "translation": [0, 0, 0.5], "rotation": [0, 0, 0, -1], "name": "turned" },
                ],
                "materials": [
                    {},
                    {
                        "alphaMode": "MASK", "doubleSided": true,
                        "normalTexture": { "index": 0 },
                        "pbrMetallicRoughness": { "metallicFactor": 0, "baseColorTexture": { "index": 0, "texCoord": 1 } },
                    },
                ],
                "animations": [{ "samplers": [
                    { "input": 0, "output": 1 }, { "input": 0, "output": 1, "interpolation": "STEP" },
                ] }],
            })
        );
    }

    #[test]
    fn defaults_stay_where_pointers_of_animations_may_name_them() {
        let json = json!({
            "extensionsUsed": ["KHR_animation_pointer"],
            "nodes": [{ "translation": [0, 0, 0] }],
            "materials": [{ "pbrMetallicRoughness": { "roughnessFactor": 1 } }],
        });
        assert_eq!(compacted(json.clone()), json);
    }

    #[test]
    fn floats_get_the_fewest_digits_that_read_as_the_same_float() {
        let numbers = [
            0.4_f32,
            -0.005_000_114,
            1.0,
            -3.0,
            1e-20,
            3e38,
            16_777_216.0,
            f32::MIN_POSITIVE,
        ];
        let json = compacted(json!({ "accessors": [{ "min": numbers }] }));
        let short = &json["accessors"][0]["min"];
        for (before, after) in numbers.iter().zip(short.as_array().unwrap()) {
            assert_eq!(after.as_f64().unwrap() as f32, *before);
        }
        assert_eq!(short[0].to_string(), "0.4");
        assert_eq!(short[2].to_string(), "1");
        // What is no 32-bit float keeps its digits.
        let exact = json!({ "nodes": [{ "translation": [0.123_456_789_012_3, -0.0, 1] }] });
        assert_eq!(compacted(exact.clone()).to_string(), exact.to_string());
    }
}
