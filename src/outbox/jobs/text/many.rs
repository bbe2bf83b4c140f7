//! The text of a request for several assets in `jobs/`. Pure.
//!
//! It is the body of the API, with two additions: `model`, a path, instead of `model_id`, and `preset`, a name,
//! instead of `preset_id`.

use serde_json::{Map, Value};

use crate::outbox::jobs::text::{Settings, read_settings, take_tags};
use crate::outbox::texts::{NAME_MAX_CHARS, is_name, parse_json};
use crate::wire::AssetId;

/// Maximum number of items in one request.
const ITEMS_MAX: usize = 1000;

/// One optimization of several.
#[derive(Debug, Clone, PartialEq)]
pub struct ManyItem {
    pub model: ModelRef,
    pub settings: Settings,
    /// Tags for the rapid model.
    pub tags: Vec<String>,
    /// Name of the exported files.
    pub export_name: Option<String>,
}

/// How a text refers to an asset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelRef {
    /// By id.
    Id(AssetId),
    /// By path, which the drive resolves.
    Path(String),
}

pub fn parse(name: &str, text: &[u8]) -> Result<Vec<ManyItem>, String> {
    let wants = || {
        format!(
            "{name} is no job for several models: it must be {{\"optimizations\": [{{\"model\": \"<path>\", \"config\": {{…}}}}, …]}}"
        )
    };
    let Value::Object(mut map) = parse_json(name, text)? else {
        return Err(wants());
    };
    let Some(Value::Array(items)) = map.shift_remove("optimizations") else {
        return Err(wants());
    };
    if let Some(other) = map.keys().next() {
        return Err(format!("{name} has {other:?} next to \"optimizations\""));
    }
    if items.is_empty() || items.len() > ITEMS_MAX {
        let count = items.len();
        return Err(format!(
            "{name}: \"optimizations\" has {count} items; it has to have 1 to {ITEMS_MAX}"
        ));
    }
    let named = |at| format!("{name}: optimizations[{at}]");
    let items = items.into_iter().enumerate();
    items.map(|(at, item)| item_of(&named(at), item)).collect()
}

fn item_of(name: &str, item: Value) -> Result<ManyItem, String> {
    let Value::Object(mut item) = item else {
        return Err(format!("{name} must be an object"));
    };
    let model = take_model(name, &mut item)?;
    let Some(Value::Object(mut config)) = item.shift_remove("config") else {
        return Err(format!("{name}: \"config\" must be an object"));
    };
    if let Some(other) = item.keys().next() {
        return Err(format!("{name} has {other:?} next to \"config\""));
    }
    let tags = take_tags(name, &mut config)?;
    let export_name = match config.shift_remove("exportName") {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) if is_name(&text) => Some(text),
        Some(_) => {
            return Err(format!(
                "{name}: \"exportName\" must be a string of 1 to {NAME_MAX_CHARS} characters"
            ));
        }
    };
    Ok(ManyItem {
        model,
        settings: read_settings(name, config)?,
        tags,
        export_name,
    })
}

fn take_model(name: &str, item: &mut Map<String, Value>) -> Result<ModelRef, String> {
    let id = item.shift_remove("model_id");
    let path = item.shift_remove("model");
    let read = match (id, path) {
        (Some(Value::Number(number)), None) => number.as_u64().map(|id| ModelRef::Id(AssetId(id))),
        (Some(Value::String(text)), None) => text.parse().ok().map(ModelRef::Id),
        (None, Some(Value::String(path))) if !path.is_empty() => Some(ModelRef::Path(path)),
        _ => None,
    };
    read.ok_or_else(|| {
        format!("{name} has to name one model: \"model_id\", its number, or \"model\", its path")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{OptimizerConfig, PresetId};

    #[test]
    fn the_services_own_body_and_the_two_additions_are_read() {
        let text = br#"{"optimizations":[
            {"model_id":7,"config":{"preset_id":3,"tags":["a"],"exportName":"seven"}},
            {"model":"rawmodels/chair","config":{"preset":"web"}},
            {"model_id":"8","config":{"limits":{"faces":{"count":5}},"tags":[]}}]}"#;
        let items = parse("all.json", text).unwrap();
        let models: Vec<&ModelRef> = items.iter().map(|item| &item.model).collect();
        let chair = ModelRef::Path("rawmodels/chair".to_owned());
        assert_eq!(
            models,
            [&ModelRef::Id(AssetId(7)), &chair, &ModelRef::Id(AssetId(8))]
        );
        assert_eq!(items[0].settings, Settings::PresetId(PresetId(3)));
        assert_eq!(
            (items[0].tags.len(), items[0].export_name.as_deref()),
            (1, Some("seven"))
        );
        assert_eq!(items[1].settings, Settings::PresetName("web".to_owned()));
        let config = OptimizerConfig::parse(r#"{"limits":{"faces":{"count":5}}}"#).unwrap();
        assert_eq!(items[2].settings, Settings::Config(config));
    }

    #[test]
    fn a_refusal_names_the_item() {
        let table = [
            ("{}", "no job for several models"),
            (r#"{"optimizations":[]}"#, "has 0 items"),
            (r#"{"optimizations":[],"more":1}"#, "has \"more\" next to"),
            (
                r#"{"optimizations":[{"config":{"preset_id":1}}]}"#,
                "optimizations[0] has to name one model",
            ),
            (
                r#"{"optimizations":[{"model_id":1,"model":"a","config":{"preset_id":1}}]}"#,
                "optimizations[0] has to name one model",
            ),
            (
                r#"{"optimizations":[{"model_id":1,"config":{"preset_id":1}},{"model_id":2,"config":{}}]}"#,
                "optimizations[1] is empty",
            ),
            (
                r#"{"optimizations":[{"model_id":1,"config":{"preset_id":1,"limits":{}}}]}"#,
                "has \"limits\" next to \"preset_id\"",
            ),
            (
                r#"{"optimizations":[{"model_id":1}]}"#,
                "\"config\" must be",
            ),
        ];
        for (text, expected) in table {
            let error = parse("all.json", text.as_bytes()).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
