//! Requests that start optimizations. A request names a configuration or a preset, never both.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::Other;
use super::config::OptimizerConfig;
use super::id::{AssetId, PresetId, RapidId};
use super::lenient;
use super::rapid::SourceModel;
use super::state::OptimizationStatus;
use super::time::Timestamp;

/// How an asset is to be optimized.
#[derive(Debug, Clone, PartialEq)]
pub enum OptimizeSettings {
    /// By this configuration.
    Config(OptimizerConfig),
    /// By a saved or factory preset.
    Preset(PresetId),
    /// As the service likes.
    ServiceDefault,
}

/// Body that optimizes one base asset.
#[derive(Debug, Clone, PartialEq)]
pub struct OptimizeRequest {
    /// How.
    pub settings: OptimizeSettings,
    /// Tags for the rapid model to be.
    pub tags: Vec<String>,
}

impl OptimizeRequest {
    /// Optimizes by a preset.
    pub fn by_preset(preset_id: PresetId) -> Self {
        Self {
            settings: OptimizeSettings::Preset(preset_id),
            tags: Vec::new(),
        }
    }

    /// Optimizes by a configuration.
    pub fn by_config(config: OptimizerConfig) -> Self {
        Self {
            settings: OptimizeSettings::Config(config),
            tags: Vec::new(),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct RawRequest {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    config: Option<OptimizerConfig>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    preset_id: Option<PresetId>,
    #[serde(
        default,
        deserialize_with = "null_is_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    tags: Vec<String>,
}

/// A request is read strictly: a tag that is no text must not be lost silently.
fn null_is_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl Serialize for OptimizeRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (config, preset_id) = match &self.settings {
            OptimizeSettings::Config(config) => (Some(config.clone()), None),
            OptimizeSettings::Preset(preset_id) => (None, Some(*preset_id)),
            OptimizeSettings::ServiceDefault => (None, None),
        };
        RawRequest {
            config,
            preset_id,
            tags: self.tags.clone(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for OptimizeRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawRequest::deserialize(deserializer)?;
        let settings = match (raw.config, raw.preset_id) {
            (Some(_), Some(_)) => {
                let text = "config and preset_id exclude each other; give one of them";
                return Err(serde::de::Error::custom(text));
            }
            (Some(config), None) => OptimizeSettings::Config(config),
            (None, Some(preset_id)) => OptimizeSettings::Preset(preset_id),
            (None, None) => OptimizeSettings::ServiceDefault,
        };
        Ok(Self {
            settings,
            tags: raw.tags,
        })
    }
}

/// Body that optimizes several base assets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MultiOptimize {
    /// One item an optimization.
    pub optimizations: Vec<MultiOptimizeItem>,
}

/// One optimization of several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MultiOptimizeItem {
    /// The base asset.
    pub model_id: AssetId,
    /// How.
    pub config: MultiOptimizeConfig,
}

/// The settings of one optimization of several: a configuration whose object may also carry a preset id,
/// tags and a name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MultiOptimizeConfig {
    /// A saved or factory preset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset_id: Option<PresetId>,
    /// Tags for the rapid model to be.
    #[serde(
        default,
        deserialize_with = "null_is_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub tags: Vec<String>,
    /// Name of the exported files.
    #[serde(
        default,
        rename = "exportName",
        skip_serializing_if = "Option::is_none"
    )]
    pub export_name: Option<String>,
    /// Everything else: the configuration.
    #[serde(flatten)]
    pub config: Other,
}

/// Body of the deprecated process call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LegacyProcess {
    /// Target file size in MB, 1 to 25.
    #[serde(
        default,
        deserialize_with = "lenient::maybe_number",
        skip_serializing_if = "Option::is_none"
    )]
    pub max_size_mb: Option<f64>,
    /// A JSON text with command-line keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Value>,
}

/// Answer of the deprecated process and optimize calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LegacyOptimizeReply {
    /// The rapid model.
    pub id: RapidId,
    /// The base asset.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub rawmodel: Option<SourceModel>,
    /// Whether it was accepted.
    #[serde(default, deserialize_with = "lenient::maybe_flag")]
    pub accepted: Option<bool>,
    /// The configuration that is used.
    #[serde(default)]
    pub configuration: Value,
    /// How far it is.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub optimization_status: OptimizationStatus,
    /// Its name.
    #[serde(default, deserialize_with = "lenient::text")]
    pub name: String,
    /// When it last changed.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub updated_at: Option<Timestamp>,
    /// When it was made.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub created_at: Option<Timestamp>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Other,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_with_both_config_and_preset_is_refused() {
        let error = serde_json::from_str::<OptimizeRequest>(r#"{"config": {}, "preset_id": 7}"#)
            .unwrap_err();
        assert!(error.to_string().contains("exclude each other"), "{error}");
    }

    #[test]
    fn null_counts_as_absent() {
        let text = r#"{"config": null, "preset_id": 7, "tags": null}"#;
        let request: OptimizeRequest = serde_json::from_str(text).unwrap();
        assert_eq!(request, OptimizeRequest::by_preset(PresetId(7)));
        assert_eq!(
            serde_json::to_string(&request).unwrap(),
            r#"{"preset_id":7}"#
        );
    }

    #[test]
    fn a_tag_that_is_no_text_is_refused_not_dropped() {
        assert!(
            serde_json::from_str::<OptimizeRequest>(r#"{"preset_id": 7, "tags": ["a", 1]}"#)
                .is_err()
        );
    }
}
