//! The text forms of presets: a bare configuration, the body that creates a preset (`NAME.api.json`), the
//! file of the command line (`NAME.rpdx`), or the record of a preset.
//!
//! Requests, the folders of the drive and the command line all use this reader. Any other form is refused, so
//! that an unknown wrapper is never read as an empty configuration.

use serde_json::{Map, Value};

use super::config::{ConfigError, OptimizerConfig};

/// Keys that a preset may have in addition to `config`.
const PRESET_KEYS: &[&str] = &[
    "id",
    "name",
    "description",
    "rpdx_version",
    "engine_core_version",
    "engineCoreVersion",
    "category_id",
    "user_id",
    "created_at",
    "updated_at",
    "meta",
];

/// Extensions of preset files, in lower case.
const FILE_EXTENSIONS: &[&str] = &["json", "rpdx"];

/// The parsed text of a preset.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PresetText {
    pub config: OptimizerConfig,
    pub description: Option<String>,
}

/// Why a text is not a preset.
#[derive(Debug, thiserror::Error)]
pub enum PresetTextError {
    /// The text or its configuration is not a JSON object.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// It has a key of preset files but no configuration.
    #[error("has {0:?}, as a preset has, but no \"config\"")]
    NoConfig(&'static str),
    /// It has a key that presets do not have.
    #[error(
        "has {key:?} beside \"config\"; a preset has its name, its description and its versions there"
    )]
    UnexpectedKey {
        /// The first such key.
        key: String,
    },
}

impl PresetText {
    /// Whether a file of this name can contain a preset.
    pub fn is_file_name(name: &str) -> bool {
        let extension = name.rsplit_once('.').map(|(_, extension)| extension);
        extension.is_some_and(|it| FILE_EXTENSIONS.contains(&it.to_lowercase().as_str()))
    }

    /// Accepts a configuration or a preset as a JSON value, or a text that contains one.
    ///
    /// # Errors
    /// If it is not an object, or a wrapper that is not a preset.
    pub fn from_value(value: Value) -> Result<PresetText, PresetTextError> {
        PresetText::from_map(OptimizerConfig::from_value(value)?.0)
    }

    /// Accepts the keys of a configuration or a preset.
    ///
    /// # Errors
    /// If it is a wrapper that is not a preset.
    pub fn from_map(mut map: Map<String, Value>) -> Result<PresetText, PresetTextError> {
        let Some(config) = map.shift_remove("config") else {
            // Every preset file has a format version, and no configuration has one.
            let sign = ["rpdx_version", "engineCoreVersion", "engine_core_version"];
            if let Some(sign) = sign.into_iter().find(|sign| map.contains_key(*sign)) {
                return Err(PresetTextError::NoConfig(sign));
            }
            return Ok(PresetText {
                config: OptimizerConfig(map),
                description: None,
            });
        };
        if let Some(key) = map.keys().find(|key| !is_preset_key(key)) {
            return Err(PresetTextError::UnexpectedKey { key: key.clone() });
        }
        let description = map.get("description").and_then(Value::as_str);
        let description = description.filter(|text| !text.is_empty());
        // A preset may be nested, if a client sends a preset file as the configuration.
        let inner = PresetText::from_value(config)?;
        Ok(PresetText {
            description: description.map(str::to_owned).or(inner.description),
            config: inner.config,
        })
    }
}

/// Whether a preset may have this key in addition to its configuration.
pub fn is_preset_key(key: &str) -> bool {
    PRESET_KEYS.contains(&key)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_form_of_a_preset_gives_its_configuration() {
        let config = json!({ "limits": { "faces": { "count": 5 } } });
        let text = config.to_string();
        let api = json!({ "name": "Web", "description": "for pages", "config": config });
        for form in [
            config.clone(),
            json!(text),
            json!({ "config": config }),
            json!({ "config": text }),
            api.clone(),
            json!({ "rpdx_version": "2.5", "name": "Web", "description": "", "config": config }),
            json!({ "config": api }),
            json!({ "id": 1001, "name": "Web", "user_id": 1, "meta": "{}", "created_at": "2026-01-01",
                    "updated_at": null, "engine_core_version": "0.1.0", "config": config }),
        ] {
            let read = PresetText::from_value(form.clone()).unwrap();
            assert_eq!(json!(read.config.0), config, "{form}");
        }
        let read = PresetText::from_value(api).unwrap();
        assert_eq!(read.description.as_deref(), Some("for pages"));
    }

    #[test]
    fn a_wrapper_that_is_not_a_preset_is_refused() {
        for (form, reason) in [
            (
                json!({ "rpdx_version": "2.5", "name": "Web" }),
                "no \"config\"",
            ),
            (
                json!({ "config": {}, "limits": {} }),
                "has \"limits\" beside",
            ),
            (json!({ "config": [] }), "a list"),
            (json!([]), "a list"),
            (json!("{"), "not JSON at line 1"),
        ] {
            let error = PresetText::from_value(form.clone())
                .unwrap_err()
                .to_string();
            assert!(error.contains(reason), "{form}: {error}");
        }
    }

    #[test]
    fn preset_files_are_recognized_by_their_names() {
        for (name, expected) in [
            ("web.json", true),
            ("Web.RPDX", true),
            ("web.api.json", true),
            ("web.txt", false),
            ("rpdx", false),
        ] {
            assert_eq!(PresetText::is_file_name(name), expected, "{name}");
        }
    }
}
