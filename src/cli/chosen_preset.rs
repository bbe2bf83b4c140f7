//! Resolves a preset: a factory preset by its name, or a file (`.json`, `.rpdx`) in any of the forms of a drop
//! folder.

use std::path::Path;

use anyhow::Result;
use serde_json::{Map, Value};

use super::engine_settings;
use super::exit::WrongUse;
use super::preset_names::{PRESET_LIST, plain, unknown};
use crate::factory_presets::FACTORY;
use crate::given_files;
use crate::outbox::{JobSettings, parse_job_text};
use crate::wire::PresetText;

/// A configuration of the engine.
pub(super) type Config = Map<String, Value>;

/// The configuration of `preset`, which the engine accepts.
///
/// An existing file takes precedence over a name. A text that looks like a path is never a name.
pub(super) fn choose(preset: &str) -> Result<Config> {
    match is_name(preset) {
        true => by_name(preset),
        false => of_file(Path::new(preset)),
    }
}

/// Whether a preset is given by its name.
fn is_name(preset: &str) -> bool {
    let looks_like_a_path = preset.contains('/') || PresetText::is_file_name(preset);
    !Path::new(preset).is_file() && !looks_like_a_path
}

/// Refuses a name that neither a factory preset nor one of the presets `own` has.
pub(super) fn check_name(preset: &str, own: &[String]) -> Result<(), WrongUse> {
    let own = own.iter().map(String::as_str);
    let is_factory = || FACTORY.iter().any(|it| plain(it.name) == plain(preset));
    if !is_name(preset) || is_factory() || own.clone().any(|name| name == preset) {
        return Ok(());
    }
    let factory = FACTORY.iter().map(|preset| preset.name);
    Err(unknown(preset, own.chain(factory)))
}

fn of_file(path: &Path) -> Result<Config> {
    let wrong = |reason: String| WrongUse(reason).into();
    let shown = path.display();
    let text = given_files::read(path)
        .map_err(|error| WrongUse(format!("cannot read the preset {shown}: {error}")))?;
    let job = parse_job_text(&shown.to_string(), &text).map_err(WrongUse)?;
    match job.settings {
        JobSettings::Config(config) => match engine_settings::check(&config.0) {
            Ok(()) => Ok(config.0),
            Err(what) => Err(wrong(format!("the preset {shown} is not valid: {what}"))),
        },
        JobSettings::PresetName(name) => {
            by_name(&name).map_err(|error| wrong(format!("the preset {shown}: {error}")))
        }
        JobSettings::PresetId(id) => match FACTORY.iter().find(|preset| preset.id == id) {
            Some(preset) => Ok(preset.config().0),
            None => Err(wrong(format!(
                "{shown}: there is no factory preset with the id {id}, and the engine does not know the presets of an account; \
                 write {{\"preset\": \"NAME\"}} with a name that {PRESET_LIST} shows"
            ))),
        },
    }
}

fn by_name(name: &str) -> Result<Config> {
    let wanted = plain(name);
    match FACTORY.iter().find(|preset| plain(preset.name) == wanted) {
        Some(preset) => Ok(preset.config().0),
        None => Err(unknown(name, FACTORY.iter().map(|preset| preset.name)).into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn names_are_found_in_any_case_and_any_spelling_of_their_words() {
        for name in ["Web Viewer", "web viewer", "WEB-VIEWER", "web_viewer"] {
            assert_eq!(choose(name).unwrap(), FACTORY[0].config().0, "{name}");
        }
    }

    #[test]
    fn a_file_may_hold_a_configuration_or_name_a_preset() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("p.json");
        let chosen = |text: &str| {
            fs::write(&path, text).unwrap();
            choose(path.to_str().unwrap())
        };
        let bare = chosen(r#"{"limits": {"faces": {"count": 7}}}"#).unwrap();
        assert_eq!(bare["limits"]["faces"]["count"], 7);
        let wrapped = chosen(r#"{"config": {"export": []}, "tags": ["a"]}"#).unwrap();
        assert!(wrapped.contains_key("export"));
        for text in [r#"{"preset": "mobile ar"}"#, r#"{"preset_id": 3}"#] {
            assert_eq!(chosen(text).unwrap(), FACTORY[2].config().0);
        }
        for (text, reason) in [
            ("{", "is not JSON"),
            ("[]", "must be a JSON object"),
            ("{}", "is empty: give a configuration"),
            (r#"{"preset": "nope"}"#, "no preset `nope`"),
            (
                r#"{"preset_id": 1234}"#,
                "no factory preset with the id 1234",
            ),
        ] {
            let error = chosen(text).unwrap_err();
            assert!(
                error.is::<WrongUse>() && error.to_string().contains(reason),
                "{error}"
            );
        }
        let missing = choose("nowhere.json").unwrap_err().to_string();
        assert!(missing.contains("nowhere.json: No such file"), "{missing}");
    }
}
