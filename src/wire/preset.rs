//! Presets: saved optimizer configurations, the user's own and the service's.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::config::OptimizerConfig;
use super::id::{PresetId, UserId};
use super::lenient::{self, Other};
use super::time::Timestamp;

/// A preset of the user.
#[serde_with::skip_serializing_none]
#[serde_with::apply(_ => #[serde(default, deserialize_with = "lenient::field")])]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Preset {
    #[serde_with(skip_apply)]
    pub id: PresetId,
    pub name: String,
    pub description: Option<String>,
    /// An object; in lists a text that contains one.
    pub config: OptimizerConfig,
    /// Version of the optimizer's format.
    pub rpdx_version: Option<String>,
    pub user_id: Option<UserId>,
    pub created_at: Option<Timestamp>,
    pub updated_at: Option<Timestamp>,
    /// A text that contains JSON.
    pub meta: Option<PresetMeta>,
    #[serde_with(skip_apply)]
    #[serde(flatten)]
    pub other: Other,
}

/// The forms in which a preset is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PresetForm {
    /// List: the configuration is a text.
    List,
    /// Single record: the configuration is an object.
    Detail,
}

impl Preset {
    pub fn to_form(&self, form: PresetForm) -> Value {
        let mut value = serde_json::to_value(self).expect("a preset can be written as JSON");
        if form == PresetForm::List {
            value["config"] = Value::String(self.config.to_text());
        }
        value
    }
}

/// How the results of a preset are named. Read from an object or a text that contains one; written as a text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PresetMeta {
    pub filename: Option<FilenameRule>,
    pub other: Other,
}

/// The rule for names of result files.
#[serde_with::apply(_ => #[serde(default, deserialize_with = "lenient::field")])]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FilenameRule {
    pub use_id: bool,
    /// A suffix, or null.
    pub use_suffix: Value,
    pub use_preset_name: bool,
}

#[derive(Serialize, Deserialize)]
struct RawMeta {
    #[serde(
        default,
        deserialize_with = "lenient::field",
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
#[serde_with::apply(_ => #[serde(default, deserialize_with = "lenient::field")])]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FactoryPreset {
    #[serde_with(skip_apply)]
    pub id: PresetId,
    pub name: String,
    /// Written as a text.
    #[serde(serialize_with = "config_as_text")]
    pub config: OptimizerConfig,
    #[serde_with(skip_apply)]
    #[serde(flatten)]
    pub other: Other,
}

impl FactoryPreset {
    /// What it does. Not a field of the API, but our own service sends it.
    pub fn description(&self) -> Option<&str> {
        self.other.get("description")?.as_str()
    }
}

fn config_as_text<S: Serializer>(config: &OptimizerConfig, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(&config.to_text())
}

/// A category of presets.
#[serde_with::apply(_ => #[serde(default, deserialize_with = "lenient::field")])]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PresetCategory {
    pub id: u64,
    pub name: String,
    /// Its name in URLs.
    pub slug: String,
    pub description: String,
    #[serde_with(skip_apply)]
    #[serde(flatten)]
    pub other: Other,
}

/// Body that creates a preset.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CreatePreset {
    pub name: String,
    pub description: Option<String>,
    /// The oldest optimizer version that can use it.
    #[serde(rename = "engineCoreVersion")]
    pub engine_core_version: Option<String>,
    pub config: OptimizerConfig,
}

/// Body that changes a preset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UpdatePreset {
    pub id: PresetId,
    pub name: String,
    pub config: OptimizerConfig,
    /// `None` leaves it as it is. The specification does not name it; a service that does not know it ignores it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// Body that requests a configuration in the command-line format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RpdxRequest {
    pub config: OptimizerConfig,
}

super::lenient::by_deserialize!(FilenameRule, PresetMeta);
