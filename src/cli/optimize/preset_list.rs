//! `assetfs optimize --list-presets`.

use serde_json::json;

use crate::factory_presets::FACTORY;

/// All factory presets as a table, or as JSON with their configurations.
pub(super) fn text(as_json: bool) -> String {
    if as_json {
        let presets = FACTORY.iter().map(|preset| {
            json!({
                "id": preset.id,
                "name": preset.name,
                "description": preset.description,
                "config": preset.config().0,
            })
        });
        return serde_json::Value::Array(presets.collect()).to_string();
    }
    let width = FACTORY.iter().map(|preset| preset.name.len()).max();
    let width = width.unwrap_or_default();
    let lines = FACTORY
        .iter()
        .map(|preset| format!("{:width$}  {}", preset.name, preset.description));
    lines.collect::<Vec<_>>().join("\n")
}
