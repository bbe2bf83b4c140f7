//! Requests that start optimizations. A request contains a configuration or a preset id, never both.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::config::OptimizerConfig;
use super::id::{AssetId, PresetId, RapidId};
use super::lenient::{self, Other};
use super::rapid::SourceModel;
use super::status::OptimizationStatus;
use super::time::Timestamp;

/// The header with the idempotency key, which the client chooses. Of all requests with the same key, a service that
/// supports the header performs only one.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// The header with the join key of an upload, which clients make of its name and its content. A service that supports the
/// header answers a start with the upload that another client has started with the same key. Not a part of the API.
pub const JOIN_KEY: &str = "join-key";

/// The value of [`IDEMPOTENCY_KEY`] in each reply of a service that supports it, so that a client knows that it may repeat a
/// request that costs points.
pub const KEYS_ARE_KEPT: &str = "kept";

/// How an asset is to be optimized.
#[derive(Debug, Clone, PartialEq)]
pub enum OptimizeSettings {
    Config(OptimizerConfig),
    Preset(PresetId),
    /// The service's default.
    ServiceDefault,
}

/// Body that optimizes one base asset.
#[derive(Debug, Clone, PartialEq)]
pub struct OptimizeRequest {
    pub settings: OptimizeSettings,
    /// Tags for the new rapid model.
    pub tags: Vec<String>,
}

impl OptimizeRequest {
    pub fn by_preset(preset_id: PresetId) -> Self {
        Self {
            settings: OptimizeSettings::Preset(preset_id),
            tags: Vec::new(),
        }
    }
}

#[serde_with::skip_serializing_none]
#[derive(Serialize, Deserialize)]
struct RawRequest {
    config: Option<OptimizerConfig>,
    preset_id: Option<PresetId>,
    #[serde(
        default,
        deserialize_with = "null_is_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    tags: Vec<String>,
}

/// Requests are read strictly: a tag that is not a text must not be dropped silently.
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
                let text = "config and preset_id exclude each other; send only one of them";
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
    /// One item per optimization.
    pub optimizations: Vec<MultiOptimizeItem>,
}

/// One optimization of several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MultiOptimizeItem {
    pub model_id: AssetId,
    pub config: MultiOptimizeConfig,
}

/// The settings of one optimization of several: a configuration whose object may also carry a preset id,
/// tags and a name.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MultiOptimizeConfig {
    /// A saved or factory preset.
    pub preset_id: Option<PresetId>,
    /// Tags for the new rapid model.
    #[serde(
        default,
        deserialize_with = "null_is_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub tags: Vec<String>,
    /// Name of the exported files.
    #[serde(rename = "exportName")]
    pub export_name: Option<String>,
    /// All other keys.
    #[serde(flatten)]
    pub config: Other,
}

/// Body of the deprecated process call.
#[serde_with::skip_serializing_none]
#[serde_with::apply(_ => #[serde(default, deserialize_with = "lenient::field")])]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LegacyProcess {
    /// Target file size in MB, 1 to 25.
    pub max_size_mb: Option<f64>,
    /// A JSON text with command-line keys.
    pub config: Option<Value>,
}

/// Reply to the deprecated process and optimize calls.
#[serde_with::apply(_ => #[serde(default, deserialize_with = "lenient::field")])]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LegacyOptimizeReply {
    #[serde_with(skip_apply)]
    pub id: RapidId,
    pub rawmodel: Option<SourceModel>,
    pub accepted: Option<bool>,
    /// The configuration in use.
    pub configuration: Value,
    pub optimization_status: OptimizationStatus,
    pub name: String,
    pub updated_at: Option<Timestamp>,
    pub created_at: Option<Timestamp>,
    #[serde_with(skip_apply)]
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
    fn a_tag_that_is_not_text_is_refused_not_dropped() {
        assert!(
            serde_json::from_str::<OptimizeRequest>(r#"{"preset_id": 7, "tags": ["a", 1]}"#)
                .is_err()
        );
    }
}
