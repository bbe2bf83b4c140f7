//! Presets: saved optimizer configurations, the user's own and the service's.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::config::OptimizerConfig;
use super::id::{PresetId, UserId};
use super::time::Timestamp;
use super::{Other, lenient};

/// A preset of the user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Preset {
    /// Its id.
    pub id: PresetId,
    /// Its name.
    #[serde(default, deserialize_with = "lenient::text")]
    pub name: String,
    /// What it is for.
    #[serde(
        default,
        deserialize_with = "lenient::maybe_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub description: Option<String>,
    /// The configuration itself: an object, or in lists a text that holds one.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub config: OptimizerConfig,
    /// Version of the optimizer's format.
    #[serde(
        default,
        deserialize_with = "lenient::maybe_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub rpdx_version: Option<String>,
    /// Its owner.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub user_id: Option<UserId>,
    /// When it was made.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub created_at: Option<Timestamp>,
    /// When it last changed.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub updated_at: Option<Timestamp>,
    /// How results are named; a text that holds JSON.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub meta: Option<PresetMeta>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Other,
}

/// The forms in which a preset is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PresetForm {
    /// In lists: the configuration is a text.
    List,
    /// On its own: the configuration is an object.
    Detail,
}

impl Preset {
    /// The preset in one form.
    pub fn to_form(&self, form: PresetForm) -> Value {
        let mut value = serde_json::to_value(self).expect("a preset can be written as JSON");
        if form == PresetForm::List {
            value["config"] = Value::String(self.config.to_text());
        }
        value
    }
}

/// How the results of a preset are named. Read from a text that holds JSON or from an object; written as
/// a text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PresetMeta {
    /// The rule for file names.
    pub filename: Option<FilenameRule>,
    /// Unknown fields.
    pub other: Other,
}

/// The rule for names of result files.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FilenameRule {
    /// Whether the id is in it.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub use_id: bool,
    /// A suffix, or null.
    #[serde(default)]
    pub use_suffix: Value,
    /// Whether the preset's name is in it.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub use_preset_name: bool,
}

#[derive(Serialize, Deserialize)]
struct RawMeta {
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    filename: Option<FilenameRule>,
    #[serde(flatten)]
    other: Other,
}

impl Serialize for PresetMeta {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw = RawMeta {
            filename: self.filename.clone(),
            other: self.other.clone(),
        };
        let text = serde_json::to_string(&raw).map_err(serde::ser::Error::custom)?;
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for PresetMeta {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = match Value::deserialize(deserializer)? {
            Value::String(text) => serde_json::from_str(&text).map_err(serde::de::Error::custom)?,
            value => value,
        };
        let raw: RawMeta = serde_json::from_value(value).map_err(serde::de::Error::custom)?;
        Ok(Self {
            filename: raw.filename,
            other: raw.other,
        })
    }
}

/// A preset that the service provides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FactoryPreset {
    /// Its id.
    pub id: PresetId,
    /// Its name.
    #[serde(default, deserialize_with = "lenient::text")]
    pub name: String,
    /// The configuration; written as a text.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        serialize_with = "config_as_text"
    )]
    pub config: OptimizerConfig,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Other,
}

fn config_as_text<S: Serializer>(config: &OptimizerConfig, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(&config.to_text())
}

/// A category of presets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PresetCategory {
    /// Its number.
    #[serde(default, deserialize_with = "lenient::count")]
    pub id: u64,
    /// Its name.
    #[serde(default, deserialize_with = "lenient::text")]
    pub name: String,
    /// Its name in addresses.
    #[serde(default, deserialize_with = "lenient::text")]
    pub slug: String,
    /// What it holds.
    #[serde(default, deserialize_with = "lenient::text")]
    pub description: String,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Other,
}

/// Body that creates a preset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CreatePreset {
    /// Its name.
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The oldest optimizer that can use it.
    #[serde(
        default,
        rename = "engineCoreVersion",
        skip_serializing_if = "Option::is_none"
    )]
    pub engine_core_version: Option<String>,
    /// The configuration.
    pub config: OptimizerConfig,
}

/// Body that changes a preset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UpdatePreset {
    /// Which one.
    pub id: PresetId,
    /// Its name from now on.
    pub name: String,
    /// Its configuration from now on.
    pub config: OptimizerConfig,
}

/// Body that asks for a configuration in the command-line format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RpdxRequest {
    /// The configuration.
    pub config: OptimizerConfig,
}
