//! What the engine reads in a configuration.

use assetfs_engine::Settings;
use serde_json::{Map, Value};

/// What a configuration says, or what is wrong with it: what the service would refuse is refused.
pub(super) fn settings_of(config: &Map<String, Value>) -> Result<Settings, String> {
    let settings = Settings::read(config).map_err(|error| error.to_string())?;
    if let Some(key) = settings.unknown.first() {
        return Err(key.to_string());
    }
    match config.get("exportName") {
        None | Some(Value::Null | Value::String(_)) => Ok(settings),
        Some(other) => Err(format!("exportName is {other}; it must be a text")),
    }
}

/// What is wrong with a configuration.
pub(super) fn check(config: &Map<String, Value>) -> Result<(), String> {
    settings_of(config).map(drop)
}
