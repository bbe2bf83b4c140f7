//! JSON texts that users write. A key that is there twice is refused, because only the last value would count, and the text
//! may cost points.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Parses a JSON text.
///
/// # Errors
/// If it is not JSON, or an object in it has a key twice; the latter is a data error (`is_data`) and names the key.
pub fn strict_json(text: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice::<Strict>(text).map(|strict| strict.0)
}

/// A value whose objects have each key once.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Strict, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Strict)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        Ok(Number::from_f64(number).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if map.contains_key(&key) {
                return Err(A::Error::custom(format_args!(
                    "the key {key:?} is there twice; keep one of them"
                )));
            }
            let Strict(value) = entries.next_value()?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_without_equal_keys_is_read_as_any_json() {
        for text in [
            r#"{"b":1,"a":[-2,1.5e300,"x\u00e9",null,true,{"a":{}}],"c":18446744073709551615}"#,
            "[]",
            "3",
            "\"a\"",
        ] {
            let plain: Value = serde_json::from_str(text).unwrap();
            let strict = strict_json(text.as_bytes()).unwrap();
            assert_eq!(strict.to_string(), plain.to_string());
        }
        for text in ["", "{", "{}x", "{\"a\":}", "1e999"] {
            assert!(strict_json(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_key_that_is_there_twice_is_named_with_its_line() {
        for (text, at) in [
            (
                "{\"a\":1,\n\"a\":1}",
                "\"a\" is there twice; keep one of them at line 2",
            ),
            (r#"[{"x":{"b":1,"c":2,"b":3}}]"#, "\"b\" is there twice"),
            // The same key, written in another way.
            (r#"{"a":1,"\u0061":1}"#, "\"a\" is there twice"),
        ] {
            let error = strict_json(text.as_bytes()).unwrap_err();
            assert!(error.is_data());
            assert!(error.to_string().contains(at), "{error}");
        }
    }
}
