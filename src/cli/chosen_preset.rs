//! Resolves a preset: a factory preset by its name, or a file (`.json`, `.rpdx`) in any of the forms of a drop
//! folder.

use std::path::Path;

use anyhow::Result;
use serde_json::{Map, Value};

use super::engine_settings;
use super::exit::WrongUse;
use super::this_build::PRESET_LIST;
use crate::factory_presets::{FACTORY, FactoryPreset};
use crate::given_files;
use crate::outbox::{JobSettings, parse_job_text};
use crate::wire::PresetText;

/// Minimum similarity of suggested names, from 0 (nothing in common) to 1 (equal).
const ALIKE: f64 = 0.8;

/// A configuration of the engine.
pub(super) type Config = Map<String, Value>;

/// The configuration of `preset`, which the engine accepts.
///
/// An existing file takes precedence over a name. A text that looks like a path is never a name.
pub(super) fn choose(preset: &str) -> Result<Config> {
    let path = Path::new(preset);
    let looks_like_a_path = preset.contains('/') || PresetText::is_file_name(preset);
    if path.is_file() || looks_like_a_path {
        return of_file(path);
    }
    by_name(preset)
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
        None => Err(WrongUse(unknown(name)).into()),
    }
}

/// A name without case and separators.
fn plain(name: &str) -> String {
    let words = name.split(|c: char| !c.is_alphanumeric());
    let words: Vec<String> = words
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    words.join(" ")
}

fn unknown(name: &str) -> String {
    let near = near(name);
    let hint = if near.is_empty() {
        format!("{PRESET_LIST} lists them; a JSON file is possible, too")
    } else {
        format!("did you mean {}?", near.join(" or "))
    };
    format!("there is no factory preset `{name}`; {hint}")
}

/// The names most similar to `name`, best first.
fn near(name: &str) -> Vec<String> {
    let wanted = plain(name);
    let likeness = |preset: &FactoryPreset| {
        let known = plain(preset.name);
        if !wanted.is_empty() && known.contains(&wanted) {
            1.0
        } else {
            strsim::jaro_winkler(&known, &wanted)
        }
    };
    let mut found: Vec<(f64, &FactoryPreset)> = FACTORY
        .iter()
        .map(|preset| (likeness(preset), preset))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .collect();
    found.sort_by(|one, two| two.0.total_cmp(&one.0));
    let names = found.into_iter().take(3);
    names
        .map(|(_, preset)| format!("`{}`", preset.name))
        .collect()
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
    fn a_wrong_name_is_answered_with_near_ones() {
        for (name, near) in [
            ("Web Veiwer", "did you mean `Web Viewer`"),
            ("mobil ar", "did you mean `Mobile AR`"),
            (
                "marketplace",
                "`Marketplace Standard` or `Marketplace Small`",
            ),
            ("zzz", "--list-presets"),
        ] {
            let said = choose(name).unwrap_err().to_string();
            assert!(said.contains(near), "{name}: {said}");
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
            (r#"{"preset": "nope"}"#, "no factory preset `nope`"),
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
