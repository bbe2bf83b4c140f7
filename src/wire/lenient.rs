//! How loosely written JSON is read: each function turns one kind of looseness into our own type.
//!
//! The invariant: none of these fails because of a value's type; a value that cannot be understood
//! becomes the empty one, so that one odd field never hides a whole record. Also holds the macro that
//! makes an open set of words (a state) out of an enum.

use serde::de::{DeserializeOwned, Deserializer};
use serde::{Deserialize, Serializer};
use serde_json::Value;

/// Reads any value; null or a wrong type gives the default.
pub(super) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + DeserializeOwned,
{
    let value = Value::deserialize(deserializer)?;
    // Why a value is unusable is of no interest: the record goes on without it.
    Ok(serde_json::from_value(value).unwrap_or_default())
}

/// Reads a list item by item and leaves out what is no `T`; an object counts as the list of its values,
/// because some servers write a list with gaps that way.
pub(super) fn list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    Ok(items(Value::deserialize(deserializer)?).0)
}

/// The readable items of a list, and how many could not be read.
pub(super) fn items<T: DeserializeOwned>(value: Value) -> (Vec<T>, usize) {
    let values: Vec<Value> = match value {
        Value::Array(values) => values,
        Value::Object(map) => map.into_iter().map(|(_, value)| value).collect(),
        _ => Vec::new(),
    };
    let total = values.len();
    let read: Vec<T> = values
        .into_iter()
        .filter_map(|value| serde_json::from_value(value).ok())
        .collect();
    let unreadable = total - read.len();
    (read, unreadable)
}

/// Reads a text; a number or a bool becomes its text.
pub(super) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(text_of(Value::deserialize(deserializer)?).unwrap_or_default())
}

/// Reads an optional text; a number or a bool becomes its text.
pub(super) fn maybe_text<'de, D: Deserializer<'de>>(d: D) -> Result<Option<String>, D::Error> {
    Ok(text_of(Value::deserialize(d)?))
}

fn text_of(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

/// Reads a whole number that is not negative, also from text or from a float such as `3.0`; a negative
/// one is 0.
pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    Ok(count_of(&Value::deserialize(deserializer)?).unwrap_or_default())
}

/// Like [`count`], optional.
pub(super) fn maybe_count<'de, D: Deserializer<'de>>(d: D) -> Result<Option<u64>, D::Error> {
    Ok(count_of(&Value::deserialize(d)?))
}

fn count_of(value: &Value) -> Option<u64> {
    if let Some(number) = value.as_u64() {
        return Some(number);
    }
    if let Some(number) = value.as_str().and_then(|text| text.trim().parse().ok()) {
        return Some(number);
    }
    // A float cast saturates, so a negative or huge number stays a number.
    number_of(value).map(|number| number as u64)
}

/// Reads a number, also from text.
pub(super) fn maybe_number<'de, D: Deserializer<'de>>(d: D) -> Result<Option<f64>, D::Error> {
    Ok(number_of(&Value::deserialize(d)?))
}

fn number_of(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.filter(|number| number.is_finite())
}

/// Writes an optional number as the text that responses carry (`"0.01"`).
pub(super) fn number_as_text<S: Serializer>(number: &Option<f64>, s: S) -> Result<S::Ok, S::Error> {
    match number {
        Some(number) => s.collect_str(number),
        None => s.serialize_none(),
    }
}

/// Reads a yes or no, also written as 0 and 1 or as text.
pub(super) fn maybe_flag<'de, D: Deserializer<'de>>(d: D) -> Result<Option<bool>, D::Error> {
    Ok(match Value::deserialize(d)? {
        Value::Bool(flag) => Some(flag),
        Value::Number(number) => number.as_f64().map(|number| number != 0.0),
        Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" => Some(true),
            "false" | "0" | "no" | "" => Some(false),
            _ => None,
        },
        _ => None,
    })
}

/// Makes an enum of known words with a last variant `Other(String)` that keeps an unknown one. Words are
/// recognised whatever their case, and written as declared.
macro_rules! open_words {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$vmeta])* $variant,)+
            /// A word that this version does not know.
            Other(String),
        }

        impl $name {
            /// The word on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)+
                    Self::Other(word) => word,
                }
            }

            /// Reads the word on the wire.
            pub fn from_word(word: &str) -> Self {
                $(if word.eq_ignore_ascii_case($word) {
                    return Self::$variant;
                })+
                Self::Other(word.to_owned())
            }
        }

        impl Default for $name {
            /// What a record without this field has: no word at all.
            fn default() -> Self {
                Self::Other(String::new())
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word = std::borrow::Cow::<str>::deserialize(deserializer)?;
                Ok(Self::from_word(&word))
            }
        }
    };
}
pub(super) use open_words;
