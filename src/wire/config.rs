//! The optimizer configuration: an opaque JSON object that is passed on unchanged.
//!
//! Only the optimizer knows its schema. This module checks that it is an object, and compares configurations
//! by meaning. It is read from an object or a text that contains one, and written as an object.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Number, Value};

use super::strict_json::strict_json;

/// A configuration of the optimizer.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct OptimizerConfig(pub Map<String, Value>);

/// Why a text is not a configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("not JSON at line {line}, column {column}: {reason}")]
    NotJson {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        reason: String,
    },
    #[error("{reason} at line {line}, column {column}")]
    DoubledKey {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// Names the key.
        reason: String,
    },
    #[error("a configuration must be a JSON object, and this is {found}")]
    NotAnObject { found: &'static str },
}

impl OptimizerConfig {
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let value = strict_json(text.as_bytes()).map_err(|error| not_json(&error))?;
        Self::from_value(value)
    }

    /// Accepts an object, or a text that contains one.
    pub fn from_value(value: Value) -> Result<Self, ConfigError> {
        match value {
            Value::Object(map) => Ok(Self(map)),
            Value::String(text) => match strict_json(text.as_bytes()) {
                Ok(Value::Object(map)) => Ok(Self(map)),
                Ok(other) => Err(ConfigError::NotAnObject {
                    found: kind(&other),
                }),
                Err(error) => Err(not_json(&error)),
            },
            other => Err(ConfigError::NotAnObject {
                found: kind(&other),
            }),
        }
    }

    /// As compact text.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).expect("a JSON object can be written")
    }

    /// Indented text with a final line break. Equal configurations give equal bytes if their keys have the same order.
    pub fn to_pretty_text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a JSON object can be written");
        text.push('\n');
        text
    }

    /// Equality that ignores the order of keys and treats 1 and 1.0 as equal.
    pub fn meaning_eq(&self, other: &Self) -> bool {
        same_object(&self.0, &other.0)
    }

    /// A text that is the same for configurations of the same meaning: keys in order, numbers in one form.
    pub fn canonical_text(&self) -> String {
        canonical_object(&self.0).to_string()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'de> Deserialize<'de> for OptimizerConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // What the service says is read tolerantly.
        let value = match Value::deserialize(deserializer)? {
            Value::String(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
            value => value,
        };
        Self::from_value(value).map_err(serde::de::Error::custom)
    }
}

fn not_json(error: &serde_json::Error) -> ConfigError {
    let text = error.to_string();
    let reason = text
        .rsplit_once(" at line ")
        .map_or(text.as_str(), |(reason, _)| reason);
    let (line, column, reason) = (error.line(), error.column(), reason.to_owned());
    match error.is_data() {
        true => ConfigError::DoubledKey {
            line,
            column,
            reason,
        },
        false => ConfigError::NotJson {
            line,
            column,
            reason,
        },
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn canonical_object(map: &Map<String, Value>) -> Value {
    let mut sorted: Vec<_> = map.iter().collect();
    sorted.sort_unstable_by_key(|(key, _)| *key);
    let members = sorted.into_iter();
    Value::Object(
        members
            .map(|(key, value)| (key.clone(), canonical(value)))
            .collect(),
    )
}

fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(map) => canonical_object(map),
        Value::Array(items) => Value::Array(items.iter().map(canonical).collect()),
        Value::Number(number) => canonical_number(number),
        value => value.clone(),
    }
}

/// A whole number without a fraction; a long fraction with the digits that survive writing and reading.
fn canonical_number(number: &Number) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < EXACT => {
            Value::from(float as i64)
        }
        Some(float) if number.is_f64() => Value::from(format!("{float:.14e}")),
        _ => Value::Number(number.clone()),
    }
}

fn same_object(one: &Map<String, Value>, two: &Map<String, Value>) -> bool {
    one.len() == two.len()
        && one
            .iter()
            .all(|(key, value)| two.get(key).is_some_and(|other| same(value, other)))
}

fn same(one: &Value, two: &Value) -> bool {
    match (one, two) {
        (Value::Object(one), Value::Object(two)) => same_object(one, two),
        (Value::Array(one), Value::Array(two)) => {
            one.len() == two.len() && one.iter().zip(two).all(|(one, two)| same(one, two))
        }
        (Value::Number(one), Value::Number(two)) => same_number(one, two),
        (one, two) => one == two,
    }
}

fn same_number(one: &Number, two: &Number) -> bool {
    if one == two {
        return true;
    }
    // Integers are compared exactly, however large.
    if (one.is_u64() || one.is_i64()) && (two.is_u64() || two.is_i64()) {
        return false;
    }
    let (Some(one), Some(two)) = (one.as_f64(), two.as_f64()) else {
        return false;
    };
    // Writing and reading a long fraction may change its last bit.
    one == two || (one - two).abs() <= f64::EPSILON * 2.0 * one.abs().max(two.abs())
}

super::lenient::by_deserialize!(OptimizerConfig);

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn config(value: Value) -> OptimizerConfig {
        OptimizerConfig::from_value(value).unwrap()
    }

    #[test]
    fn order_of_keys_and_the_form_of_numbers_do_not_change_the_meaning() {
        let one = config(json!({"a": 1, "b": {"c": [1.0, "x"], "d": null}}));
        let two = config(json!({"b": {"d": null, "c": [1, "x"]}, "a": 1.0}));
        assert!(one.meaning_eq(&two) && two.meaning_eq(&one));
        for other in [
            json!({"a": 1}),
            json!({"a": 2, "b": {"c": [1.0, "x"], "d": null}}),
            json!({"a": 1, "b": {"c": ["x", 1.0], "d": null}}),
            json!({"a": "1", "b": {"c": [1.0, "x"], "d": null}}),
            json!({"a": 1, "b": {"c": [1.0, "x"]}, "d": null}),
        ] {
            assert!(!one.meaning_eq(&config(other.clone())), "{other}");
        }
        let large = |n: u64| config(json!({ "n": n }));
        assert!(!large(u64::MAX).meaning_eq(&large(u64::MAX - 1)));
    }

    #[test]
    fn configurations_of_one_meaning_have_one_canonical_text() {
        let one = config(json!({"a": 1, "b": {"c": [1.0, "x"], "d": 0.1}}));
        let two = config(json!({"b": {"d": 0.1, "c": [1, "x"]}, "a": 1.0}));
        assert_eq!(one.canonical_text(), two.canonical_text());
        for other in [
            json!({"a": 1}),
            json!({"a": 1, "b": {"c": ["x", 1.0], "d": 0.1}}),
        ] {
            assert_ne!(one.canonical_text(), config(other).canonical_text());
        }
        let number = |n: serde_json::Value| config(json!({ "n": n })).canonical_text();
        assert_ne!(number(json!(u64::MAX)), number(json!(u64::MAX - 1)));
        assert_ne!(number(json!(0.1)), number(json!(0.2)));
        assert_eq!(number(json!(-0.0)), number(json!(0)));
    }

    #[test]
    fn a_text_that_contains_an_object_is_read_as_the_object() {
        let text = json!("{\"limits\": {\"faces\": {\"percentage\": 10}}}");
        assert_eq!(
            config(text),
            config(json!({"limits": {"faces": {"percentage": 10}}}))
        );
    }

    #[test]
    fn bad_text_is_reported_with_line_and_column() {
        let error = OptimizerConfig::parse("{\n  \"a\": 1,\n  oops\n}").unwrap_err();
        let ConfigError::NotJson { line, column, .. } = &error else {
            panic!("{error}")
        };
        assert_eq!((*line, *column), (3, 3));
        assert!(!error.to_string().contains("at line 3 column"), "{error}");
        assert!(
            OptimizerConfig::parse("[1]")
                .unwrap_err()
                .to_string()
                .contains("a list")
        );
    }
}
