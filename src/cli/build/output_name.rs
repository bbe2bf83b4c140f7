//! The names of results: a template such as `{preset}/{model}.{ext}`.

use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use serde_with::DeserializeFromStr;

use assetfs_formats::file_names::safe_stem;

/// A template of paths below the folder of results. It has a part for folders, which may be empty, and one for the name
/// without its extension: the extension is that of each exported file.
#[derive(Debug, Clone, PartialEq, Eq, DeserializeFromStr)]
pub(super) struct OutputName {
    folder: String,
    stem: String,
}

const MODEL: &str = "{model}";
const PRESET: &str = "{preset}";
const END: &str = ".{ext}";

impl Default for OutputName {
    fn default() -> OutputName {
        OutputName {
            folder: String::new(),
            stem: format!("{MODEL}.{PRESET}"),
        }
    }
}

impl FromStr for OutputName {
    type Err = String;

    fn from_str(text: &str) -> Result<OutputName, String> {
        let wrong = |why: &str| {
            format!(
                "the name `{text}` cannot be used: {why}; an example is {{preset}}/{{model}}.{{ext}}"
            )
        };
        let stem = text.strip_suffix(END);
        let stem = stem.ok_or_else(|| wrong("it does not end with .{ext}"))?;
        let rest = stem.replace(MODEL, "").replace(PRESET, "");
        if rest.contains(['{', '}']) {
            return Err(wrong("only {model}, {preset} and {ext} are replaced"));
        }
        if !stem.contains(MODEL) {
            return Err(wrong("without {model} all results would be one file"));
        }
        let parts = Path::new(stem).components();
        let is_below = parts
            .clone()
            .all(|part| matches!(part, Component::Normal(_)));
        if !is_below || stem.contains('\0') {
            return Err(wrong("it leads out of the folder of results"));
        }
        if parts
            .clone()
            .any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."))
        {
            return Err(wrong("a part of it is hidden"));
        }
        let (folder, stem) = stem.rsplit_once('/').unwrap_or(("", stem));
        match stem.is_empty() {
            true => Err(wrong("the file has no name")),
            false => Ok(OutputName {
                folder: folder.to_owned(),
                stem: stem.to_owned(),
            }),
        }
    }
}

impl OutputName {
    /// Whether results of different presets have different names.
    pub(super) fn tells_presets_apart(&self) -> bool {
        self.folder.contains(PRESET) || self.stem.contains(PRESET)
    }

    /// The folder of a result, below the folder of results.
    pub(super) fn folder(&self, model: &str, preset: &str) -> PathBuf {
        PathBuf::from(replaced(&self.folder, model, preset))
    }

    /// The name of a preset's results without their extension, in which `{model}` stands for the model.
    pub(super) fn stem_of_preset(&self, preset: &str) -> String {
        self.stem.replace(PRESET, preset)
    }

    /// The path of a result below the folder of results, without its extension.
    pub(super) fn path(&self, model: &str, preset: &str) -> PathBuf {
        let stem = replaced(&self.stem, model, preset);
        self.folder(model, preset).join(safe_stem(&stem))
    }

    /// The template as it was written, to see whether it has changed.
    pub(super) fn text(&self) -> String {
        match self.folder.is_empty() {
            true => format!("{}{END}", self.stem),
            false => format!("{}/{}{END}", self.folder, self.stem),
        }
    }
}

/// Both are replaced in one pass, so that a model named `{preset}` stays that.
fn replaced(template: &str, model: &str, preset: &str) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let (value, place) = match rest.starts_with(MODEL) {
            true => (model, MODEL),
            false => (preset, PRESET),
        };
        text.push_str(value);
        rest = rest.strip_prefix(place).unwrap_or_default();
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(template: &str) -> String {
        let name: OutputName = template.parse().unwrap();
        assert_eq!(name.text(), template);
        let stem = name.stem_of_preset("web").replace(MODEL, "chair");
        name.folder("chair", "web").join(stem).display().to_string()
    }

    #[test]
    fn model_and_preset_are_put_into_the_template() {
        assert_eq!(path("{model}.{preset}.{ext}"), "chair.web");
        assert_eq!(path("{preset}/{model}.{ext}"), "web/chair");
        assert_eq!(
            path("a/{preset}/b-{model}-{model}.{ext}"),
            "a/web/b-chair-chair"
        );
        assert_eq!(OutputName::default().text(), "{model}.{preset}.{ext}");
        let name: OutputName = "{model}/{preset}/x{model}.{ext}".parse().unwrap();
        assert_eq!(
            name.folder("{preset}", "{model}"),
            Path::new("{preset}/{model}")
        );
    }

    #[test]
    fn characters_that_files_cannot_have_are_replaced_before_names_are_compared() {
        let name = OutputName::default();
        assert_eq!(name.path("a:b", "web"), Path::new("a_b.web"));
        let name: OutputName = "{preset}/{preset}-{model}.{ext}".parse().unwrap();
        assert_eq!(name.path("c", "a-b"), Path::new("a-b/a-b-c"));
        assert_eq!(name.path("{preset}", "x"), Path::new("x/x-{preset}"));
    }

    #[test]
    fn a_template_that_cannot_work_is_refused_with_the_reason() {
        for (template, why) in [
            ("{model}", "end with .{ext}"),
            ("{preset}.{ext}", "without {model}"),
            ("{model}.{format}.{ext}", "only {model}, {preset} and {ext}"),
            ("../{model}.{ext}", "leads out"),
            ("/tmp/{model}.{ext}", "leads out"),
            (".cache/{model}.{ext}", "hidden"),
            ("{model}/.{ext}", "no name"),
        ] {
            let said = template.parse::<OutputName>().unwrap_err();
            assert!(said.contains(why), "{template}: {said}");
        }
    }

    #[test]
    fn a_template_without_the_preset_does_not_tell_presets_apart() {
        let apart = |text: &str| text.parse::<OutputName>().unwrap().tells_presets_apart();
        assert!(apart("{preset}/{model}.{ext}") && apart("{model}.{preset}.{ext}"));
        assert!(!apart("{model}.{ext}"));
    }
}
