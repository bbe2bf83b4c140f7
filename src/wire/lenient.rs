//! Reading of loosely written JSON.
//!
//! The invariant: a field never fails because of its value's type. A value that cannot be understood
//! becomes the default, so one odd field never hides a whole record. Records apply [`field`] to all their
//! fields by `serde_with::apply`. Also holds the macro that makes an enum of known words with a variant for
//! unknown ones.

use serde::de::{DeserializeOwned, Deserializer};
use serde::{Deserialize, Serializer};
use serde_json::Value;

/// Fields of a record that this version does not know, kept unchanged.
pub type Other = serde_json::Map<String, Value>;

/// A field of our own service, which the API does not have: why a model or a job waits.
pub const WAITS_BECAUSE: &str = "waits_because";

/// The text of [`WAITS_BECAUSE`] among the other fields of a record.
pub(super) fn waits_because(other: &Other) -> Option<String> {
    other.get(WAITS_BECAUSE)?.as_str().map(str::to_owned)
}

/// The same: which of the folders that a finished model may have, it has.
pub const FOLDERS: &str = "folders";

/// Whether [`FOLDERS`] among the other fields of a record names a folder; `None` if there is no such field.
pub(super) fn has_folder(other: &Other, name: &str) -> Option<bool> {
    let folders = other.get(FOLDERS)?.as_array()?;
    Some(folders.iter().any(|folder| folder == name))
}

/// The same: the name of the token with which the model was uploaded or the result requested.
pub const MADE_BY: &str = "made_by";

/// The text of [`MADE_BY`] among the other fields of a record.
pub(super) fn made_by(other: &Other) -> Option<String> {
    let name = other.get(MADE_BY)?.as_str()?.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// The same: the triangles of the model, or of the result.
pub const TRIANGLES: &str = "triangles";

/// The number in [`TRIANGLES`] among the other fields of a record.
pub(super) fn triangles(other: &Other) -> Option<u64> {
    other.get(TRIANGLES)?.as_u64()
}

/// A type that can be read from loosely written JSON.
pub(super) trait Lenient: Sized {
    /// The value as this type, or `None` if it cannot be understood.
    fn from_loose(value: Value) -> Option<Self>;
}

/// Reads a field of a record; a value that cannot be understood becomes the default.
pub(super) fn field<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Lenient,
{
    Ok(T::from_loose(Value::deserialize(deserializer)?).unwrap_or_default())
}

impl<T: Lenient> Lenient for Option<T> {
    fn from_loose(value: Value) -> Option<Self> {
        match value {
            Value::Null => None,
            value => Some(T::from_loose(value)),
        }
    }
}

/// A list leaves out items that cannot be read. An object counts as the list of its values, because some
/// servers write a list with gaps that way.
impl<T: DeserializeOwned> Lenient for Vec<T> {
    fn from_loose(value: Value) -> Option<Self> {
        Some(items(value).0)
    }
}

/// A number or a bool becomes its text.
impl Lenient for String {
    fn from_loose(value: Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(text),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(flag) => Some(flag.to_string()),
            _ => None,
        }
    }
}

/// Also read from text or from a float such as `3.0`; a negative number becomes 0.
impl Lenient for u64 {
    fn from_loose(value: Value) -> Option<Self> {
        if let Some(number) = value.as_u64() {
            return Some(number);
        }
        if let Some(number) = value.as_str().and_then(|text| text.trim().parse().ok()) {
            return Some(number);
        }
        // A float cast saturates: negative numbers become 0, huge ones the maximum.
        f64::from_loose(value).map(|number| number as u64)
    }
}

/// Also read from text; infinities and NaN are refused.
impl Lenient for f64 {
    fn from_loose(value: Value) -> Option<Self> {
        let number = match value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        number.filter(|number: &f64| number.is_finite())
    }
}

/// Also read from 0 and 1 and from text.
impl Lenient for bool {
    fn from_loose(value: Value) -> Option<Self> {
        match value {
            Value::Bool(flag) => Some(flag),
            Value::Number(number) => number.as_f64().map(|number| number != 0.0),
            Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
                "true" | "1" | "yes" => Some(true),
                "false" | "0" | "no" | "" => Some(false),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Types whose own `Deserialize` decides what can be understood.
macro_rules! by_deserialize {
    ($($name:ty),+ $(,)?) => {$(
        impl $crate::wire::lenient::Lenient for $name {
            fn from_loose(value: serde_json::Value) -> Option<Self> {
                serde_json::from_value(value).ok()
            }
        }
    )+};
}

pub(super) use by_deserialize;

by_deserialize!(Value);

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

/// Writes an optional number as the text that responses carry (`"0.01"`).
pub(super) fn number_as_text<S: Serializer>(number: &Option<f64>, s: S) -> Result<S::Ok, S::Error> {
    match number {
        Some(number) => s.collect_str(number),
        None => s.serialize_none(),
    }
}

/// Declares an enum of known words with a last variant `Other(String)` that keeps an unknown word. Words
/// are compared without case and written as declared. `else if` names a function for further words of a variant.
macro_rules! open_words {
    (
        $(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $word:literal,)+ }
        $(else if $is_also:ident => $also:ident)?
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$vmeta])* $variant,)+
            Other(String),
        }

        impl $name {
            /// All words but the unknown ones.
            pub const KNOWN: &[&str] = &[$($word,)+];

            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)+
                    Self::Other(word) => word,
                }
            }

            pub fn from_word(word: &str) -> Self {
                $(if word.eq_ignore_ascii_case($word) {
                    return Self::$variant;
                })+
                $(if $is_also(word) {
                    return Self::$also;
                })?
                Self::Other(word.to_owned())
            }
        }

        impl Default for $name {
            /// The empty word, which a record without this field has.
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
pub(crate) use open_words;
