//! Parses the texts of job files. Pure. Invalid texts are refused with the place and the reason, because a wrong
//! request costs points. Requests for several assets are in [`many`], embeds in [`embed`].

pub mod embed;
pub mod many;

use serde_json::{Map, Value};

use self::embed::EmbedText;
use self::many::ManyItem;
use crate::outbox::ids::JobFolder;
use crate::outbox::texts::{NAME_MAX_CHARS, is_name, not_a_preset, parse_json, shortened};
use crate::wire::{NotedPreset, OptimizerConfig, PresetId, PresetText};

/// The longest tag, in characters.
const TAG_MAX_CHARS: usize = 255;

/// The request of a text.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// A rapid model of the folder's asset.
    Optimize(JobText),
    /// Rapid models of several assets.
    Many(Vec<ManyItem>),
    /// An embed of the folder's asset or rapid model.
    Embed(EmbedText),
}

/// Parses a text for its folder.
pub fn read(folder: JobFolder, name: &str, text: &[u8]) -> Result<Request, String> {
    match folder {
        JobFolder::Optimize(_) => read_job(name, text).map(Request::Optimize),
        JobFolder::Multi => many::parse(name, text).map(Request::Many),
        JobFolder::Embeds(_) | JobFolder::RapidEmbeds(_) => {
            embed::parse(name, text).map(Request::Embed)
        }
    }
    .map_err(shortened)
}

/// The text of an optimization.
#[derive(Debug, Clone, PartialEq)]
pub struct JobText {
    /// The settings of an optimization.
    pub settings: Settings,
    /// Tags for the rapid model.
    pub tags: Vec<String>,
}

/// How to optimize.
#[derive(Debug, Clone, PartialEq)]
pub enum Settings {
    /// The preset of this name.
    PresetName(String),
    /// The preset of this id.
    PresetId(PresetId),
    /// This configuration.
    Config(OptimizerConfig),
}

impl Settings {
    /// The preset that a text names. Its configuration may change after the text was sent.
    pub fn named_preset(&self) -> Option<NotedPreset> {
        match self {
            Settings::PresetName(name) => Some(NotedPreset::Name(name.clone())),
            Settings::PresetId(id) => Some(NotedPreset::Id(*id)),
            Settings::Config(_) => None,
        }
    }
}

/// Parses the text of an optimization.
pub fn parse(name: &str, text: &[u8]) -> Result<JobText, String> {
    read_job(name, text).map_err(shortened)
}

fn read_job(name: &str, text: &[u8]) -> Result<JobText, String> {
    let Value::Object(mut map) = parse_json(name, text)? else {
        return Err(format!(
            "{name} is no job: it must be a JSON object, a configuration or {{\"preset\": \"<name>\"}}"
        ));
    };
    let tags = take_tags(name, &mut map)?;
    let settings = read_settings(name, map)?;
    Ok(JobText { settings, tags })
}

/// Parses what remains of a job without its tags.
fn read_settings(name: &str, mut map: Map<String, Value>) -> Result<Settings, String> {
    let chosen: Vec<&str> = ["config", "preset", "preset_id"]
        .into_iter()
        .filter(|key| map.contains_key(*key))
        .collect();
    match chosen[..] {
        [] if map.is_empty() => Err(format!(
            "{name} is empty: give a configuration or {{\"preset\": \"<name>\"}}"
        )),
        [] | ["config"] => {
            let preset = PresetText::from_map(map).map_err(|error| not_a_preset(name, &error))?;
            match preset.config.is_empty() {
                true => Err(format!(
                    "{name}: \"config\" must be a configuration that is not empty"
                )),
                false => Ok(Settings::Config(preset.config)),
            }
        }
        [key] => {
            let value = map.shift_remove(key).unwrap_or_default();
            match map.keys().next() {
                None => take_settings(name, key, value),
                Some(other) => Err(format!(
                    "{name} has {other:?} next to {key:?}; only \"tags\" is allowed there"
                )),
            }
        }
        [first, second, ..] => Err(format!(
            "{name} has both {first:?} and {second:?}; keep one of them"
        )),
    }
}

fn take_settings(name: &str, key: &str, value: Value) -> Result<Settings, String> {
    let wrong = |wants: &str| Err(format!("{name}: {key:?} must be {wants}"));
    match (key, value) {
        ("preset", Value::String(preset)) if is_name(&preset) => Ok(Settings::PresetName(preset)),
        ("preset", _) => wrong(&format!(
            "the name of a preset, of 1 to {NAME_MAX_CHARS} characters"
        )),
        (_, value) => {
            let id = match &value {
                Value::Number(number) => number.as_u64(),
                Value::String(text) => text.parse().ok(),
                _ => None,
            };
            id.map_or_else(
                || wrong("the number of a preset"),
                |id| Ok(Settings::PresetId(PresetId(id))),
            )
        }
    }
}

fn take_tags(name: &str, map: &mut Map<String, Value>) -> Result<Vec<String>, String> {
    let Some(tags) = map.shift_remove("tags") else {
        return Ok(Vec::new());
    };
    let wrong = || format!("{name}: \"tags\" must be a list of strings");
    let Value::Array(tags) = tags else {
        return Err(wrong());
    };
    let mut read = Vec::with_capacity(tags.len());
    for tag in tags {
        let Value::String(tag) = tag else {
            return Err(wrong());
        };
        if tag.is_empty() || tag.chars().count() > TAG_MAX_CHARS {
            return Err(format!(
                "{name}: a tag has to have 1 to {TAG_MAX_CHARS} characters"
            ));
        }
        read.push(tag);
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outbox::ids::OwnerFolder;
    use crate::outbox::texts::{is_sendable, parse_config, preset_named};
    use crate::wire::AssetId;

    fn parsed(text: &str) -> Result<JobText, String> {
        parse("web.json", text.as_bytes())
    }

    #[test]
    fn every_accepted_form_is_read() {
        let config = OptimizerConfig::parse(r#"{"limits":{"faces":{"count":5}}}"#).unwrap();
        let table = [
            (
                r#"{"limits":{"faces":{"count":5}}}"#,
                Settings::Config(config.clone()),
            ),
            (
                r#"{"config":{"limits":{"faces":{"count":5}}}}"#,
                Settings::Config(config.clone()),
            ),
            (
                r#"{"rpdx_version":"2.5","name":"w","description":"","config":{"limits":{"faces":{"count":5}}}}"#,
                Settings::Config(config),
            ),
            (
                r#"{"preset":"web"}"#,
                Settings::PresetName("web".to_owned()),
            ),
            (r#"{"preset_id":7}"#, Settings::PresetId(PresetId(7))),
            (r#"{"preset_id":"7"}"#, Settings::PresetId(PresetId(7))),
        ];
        for (text, settings) in table {
            assert_eq!(parsed(text).unwrap().settings, settings, "{text}");
        }
        let tagged = parsed(r#"{"preset":"web","tags":["a","b"]}"#).unwrap();
        assert_eq!(tagged.tags, ["a", "b"]);
        let tagged = parsed(r#"{"limits":{},"tags":["a"]}"#).unwrap();
        assert_eq!(tagged.tags, ["a"]);
    }

    #[test]
    fn a_refusal_says_where_and_why() {
        let table = [
            (
                "{\n  \"limits\": }",
                "web.json is not JSON: expected value at line 2, column 13",
            ),
            (
                r#"{"limits":{},"schema":"2.5","limits":{}}"#,
                "web.json: the key \"limits\" is there twice; keep one of them at line 1, column",
            ),
            (
                r#"{"config":"{\"a\":1,\"a\":2}"}"#,
                "the key \"a\" is there twice",
            ),
            (
                r#"{"config":{"a":1},"preset_id":7}"#,
                "both \"config\" and \"preset_id\"",
            ),
            (
                r#"{"preset":"a","preset_id":7}"#,
                "both \"preset\" and \"preset_id\"",
            ),
            (
                r#"{"preset":"a","limits":{}}"#,
                "has \"limits\" next to \"preset\"",
            ),
            (r#"{"preset":7}"#, "\"preset\" must be the name of a preset"),
            (
                r#"{"preset_id":-1}"#,
                "\"preset_id\" must be the number of a preset",
            ),
            (
                r#"{"preset":"a","tags":"b"}"#,
                "\"tags\" must be a list of strings",
            ),
            ("[1]", "it must be a JSON object"),
            ("{}", "is empty"),
            (
                r#"{"rpdx_version":"2.5"}"#,
                "has \"rpdx_version\", as a preset has",
            ),
            (
                r#"{"config":{"a":1},"limits":{}}"#,
                "has \"limits\" beside \"config\"",
            ),
            (
                r#"{"config":{}}"#,
                "must be a configuration that is not empty",
            ),
        ];
        for (text, expected) in table {
            let error = parsed(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn a_refusal_is_short_whatever_the_text_quotes() {
        let long = "n".repeat(4 << 20);
        let asset = OwnerFolder::Asset(AssetId(7));
        let table = [
            (JobFolder::Optimize(asset), r#"{"preset":"LONG"}"#),
            (JobFolder::Optimize(asset), r#"{"preset":"a","LONG":1}"#),
            (JobFolder::Optimize(asset), r#"{"config":{},"LONG":1}"#),
            (JobFolder::Optimize(asset), r#"{"LONG":1,"LONG":1}"#),
            (JobFolder::Embeds(asset), r#"{"name":"LONG"}"#),
            (JobFolder::Embeds(asset), r#"{"LONG":1}"#),
            (JobFolder::Multi, r#"{"optimizations":[],"LONG":1}"#),
            (
                JobFolder::Multi,
                r#"{"optimizations":[{"model_id":7,"config":{"preset":"a","exportName":"LONG"}}]}"#,
            ),
        ];
        for (folder, text) in table {
            let whole = text.replace("LONG", &long);
            let refused = read(folder, "web.json", whole.as_bytes()).unwrap_err();
            assert!(refused.len() < 1000, "{text}: {} bytes", refused.len());
        }
        let text = format!(r#"{{"LONG":1,"{long}":1,"config":{{}}}}"#);
        let refused = parse_config("web.json", text.as_bytes()).unwrap_err();
        assert!(refused.len() < 1000, "{} bytes", refused.len());
        let refused = preset_named(&long, &[], &[]).unwrap_err();
        assert!(refused.len() < 1000, "{} bytes", refused.len());
    }

    #[test]
    fn only_finished_json_files_go_out() {
        for (name, text, goes) in [
            ("web.json", "{}", true),
            ("Web.JSON", "{}", true),
            ("web.rpdx", "{}", true),
            ("web.api.json", "{}", true),
            ("web.json", "", false),
            ("web.json", " \n", false),
            ("web.json~", "{}", false),
            (".web.json.swp", "{}", false),
            (".web.json.Xa3fG9", "{}", false),
            ("tmpa8b3", "{}", false),
            ("notes.txt", "{}", false),
        ] {
            assert_eq!(is_sendable(name, text.as_bytes()), goes, "{name}");
        }
    }
}
