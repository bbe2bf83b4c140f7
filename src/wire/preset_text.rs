//! The texts that presets travel in: a bare configuration, the body that creates a preset
//! (`NAME.api.json`), the file of the command line (`NAME.rpdx`), or the record of a preset.
//!
//! All of them are read here, wherever they turn up: in requests, in the folders of the drive and on the
//! command line. What is neither is refused, so that no wrapper is ever taken for a configuration that
//! asks for nothing.

use serde_json::{Map, Value};

use super::config::{ConfigError, OptimizerConfig};

/// What may stand beside `config` in a preset.
const BESIDE_CONFIG: &[&str] = &[
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

/// The extensions of files that hold presets, in lower case.
const FILE_EXTENSIONS: &[&str] = &["json", "rpdx"];

/// A preset as a text holds it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PresetText {
    /// The configuration itself.
    pub config: OptimizerConfig,
    /// What the preset is for, where the text says so.
    pub description: Option<String>,
}

/// A text that is no preset.
#[derive(Debug, thiserror::Error)]
pub enum PresetTextError {
    /// It, or the configuration in it, is no JSON object.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// It says that it is a preset and has no configuration.
    #[error("has {0:?}, as a preset has, but no \"config\"")]
    NoConfig(&'static str),
    /// Something stands beside the configuration that a preset does not have.
    #[error(
        "has {key:?} beside \"config\"; a preset has its name, its description and its versions there"
    )]
    Beside {
        /// The first such key.
        key: String,
    },
}

impl PresetText {
    /// Whether a file of this name can hold a preset.
    pub fn is_file_name(name: &str) -> bool {
        let extension = name.rsplit_once('.').map(|(_, extension)| extension);
        extension.is_some_and(|it| FILE_EXTENSIONS.contains(&it.to_lowercase().as_str()))
    }

    /// Takes a JSON value: a configuration or a preset, or a text that holds one.
    ///
    /// # Errors
    /// When it is no object, or a wrapper that is no preset.
    pub fn from_value(value: Value) -> Result<PresetText, PresetTextError> {
        PresetText::from_map(OptimizerConfig::from_value(value)?.0)
    }

    /// Takes the keys of a configuration or a preset.
    ///
    /// # Errors
    /// When it is a wrapper that is no preset.
    pub fn from_map(mut map: Map<String, Value>) -> Result<PresetText, PresetTextError> {
        let Some(config) = map.shift_remove("config") else {
            // A version of the format is in every preset file and in no configuration.
            let sign = ["rpdx_version", "engineCoreVersion", "engine_core_version"];
            if let Some(sign) = sign.into_iter().find(|sign| map.contains_key(*sign)) {
                return Err(PresetTextError::NoConfig(sign));
            }
            return Ok(PresetText {
                config: OptimizerConfig(map),
                description: None,
            });
        };
        if let Some(key) = map.keys().find(|key| !is_beside_config(key)) {
            return Err(PresetTextError::Beside { key: key.clone() });
        }
        let description = map.get("description").and_then(Value::as_str);
        let description = description.filter(|text| !text.is_empty());
        // A preset may be wrapped again: by who sends the file of a preset as the configuration.
        let inner = PresetText::from_value(config)?;
        Ok(PresetText {
            description: description.map(str::to_owned).or(inner.description),
            config: inner.config,
        })
    }
}

/// Whether a preset may have this key beside its configuration.
pub fn is_beside_config(key: &str) -> bool {
    BESIDE_CONFIG.contains(&key)
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
    fn a_wrapper_that_is_no_preset_is_refused() {
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
    fn files_of_presets_are_known_by_their_names() {
        for (name, holds) in [
            ("web.json", true),
            ("Web.RPDX", true),
            ("web.api.json", true),
            ("web.txt", false),
            ("rpdx", false),
        ] {
            assert_eq!(PresetText::is_file_name(name), holds, "{name}");
        }
    }
}
