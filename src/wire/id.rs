//! Ids of the service's objects. Each kind has its own type, so ids of different kinds cannot be confused.
//!
//! On the wire an id is an integer; a numeric string is also accepted.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};

macro_rules! ids {
    ($($(#[$meta:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = ParseIntError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.trim().parse().map(Self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(IdVisitor).map(Self)
            }
        }
    )+};
}

ids! {
    /// A base asset (path segment `rawmodel`).
    AssetId,
    /// An optimized model (path segment `rapidmodel`).
    RapidId,
    /// A preset, the user's own or a factory preset.
    PresetId,
    EmbedId,
    /// A tag on one asset or one rapid model.
    TagId,
    /// An API token; not secret.
    TokenId,
    WebhookId,
    UserId,
}

/// The id of a model of either kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelId {
    Asset(AssetId),
    Rapid(RapidId),
}

impl ModelId {
    /// The number without its kind.
    pub fn number(self) -> u64 {
        match self {
            Self::Asset(asset) => asset.0,
            Self::Rapid(rapid) => rapid.0,
        }
    }
}

/// A stable text, such as `raw/1042`; names of cached objects start with it.
impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asset(asset) => write!(f, "raw/{asset}"),
            Self::Rapid(rapid) => write!(f, "rapid/{rapid}"),
        }
    }
}

struct IdVisitor;

impl Visitor<'_> for IdVisitor {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an id: a whole number, or a text that contains one")
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<u64, E> {
        Ok(number)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<u64, E> {
        u64::try_from(number).map_err(|_| E::invalid_value(de::Unexpected::Signed(number), &self))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<u64, E> {
        // Above 2^53 a float cannot represent every integer.
        let whole = number.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&number);
        if whole {
            Ok(number as u64)
        } else {
            Err(E::invalid_value(de::Unexpected::Float(number), &self))
        }
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<u64, E> {
        text.trim()
            .parse()
            .map_err(|_| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

super::lenient::by_deserialize!(AssetId, RapidId, UserId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_numbers_and_as_numeric_text() {
        for text in ["1042", "\"1042\"", "\" 1042 \"", "1042.0"] {
            assert_eq!(
                serde_json::from_str::<AssetId>(text).unwrap(),
                AssetId(1042),
                "{text}"
            );
        }
        assert_eq!(serde_json::to_string(&AssetId(1042)).unwrap(), "1042");
    }

    #[test]
    fn anything_else_is_refused_as_an_id() {
        for text in [
            "-1", "1.5", "\"x\"", "null", "[]", "{}", "true", "1e300", "\"\"",
        ] {
            assert!(serde_json::from_str::<RapidId>(text).is_err(), "{text}");
        }
    }
}
