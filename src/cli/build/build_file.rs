//! `assetfs.toml`: which models, with which presets, into which folder, within which budgets.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Deserializer, de};

use super::super::budget::Budget;
use super::super::exit::WrongUse;
use super::super::unanswered;
use super::output_name::OutputName;
use crate::given_files;
use crate::wire::PresetText;

/// The usual name of the file.
pub(super) const USUAL_NAME: &str = "assetfs.toml";

/// What the file says. Paths are complete.
#[derive(Debug)]
pub(super) struct BuildFile {
    /// The folder of the file.
    pub(super) folder: PathBuf,
    /// The folders of models.
    pub(super) models: Vec<PathBuf>,
    /// The folder of results.
    pub(super) out: PathBuf,
    pub(super) name: OutputName,
    /// The mounted drive that does the work; else the engine on this machine.
    pub(super) drive: Option<PathBuf>,
    /// By label.
    pub(super) presets: BTreeMap<String, BuildPreset>,
    /// The budget of every result.
    pub(super) budget: Budget,
}

#[derive(Debug, PartialEq)]
pub(super) struct BuildPreset {
    /// The name of a factory preset, or the path of a file.
    pub(super) preset: String,
    /// The budget of its results, which comes before the general one.
    pub(super) budget: Budget,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    models: Folders,
    #[serde(default = "usual_out")]
    out: PathBuf,
    #[serde(default)]
    name: OutputName,
    drive: Option<PathBuf>,
    presets: BTreeMap<String, PresetEntry>,
    #[serde(default)]
    budget: Budget,
}

fn usual_out() -> PathBuf {
    "dist".into()
}

/// One folder, or a list.
struct Folders(Vec<PathBuf>);

impl<'de> Deserialize<'de> for Folders {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Folders, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Folders;

            fn expecting(&self, to: &mut std::fmt::Formatter) -> std::fmt::Result {
                to.write_str("a folder, or a list of folders")
            }

            fn visit_str<E: de::Error>(self, folder: &str) -> Result<Folders, E> {
                Ok(Folders(vec![folder.into()]))
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, list: A) -> Result<Folders, A::Error> {
                Deserialize::deserialize(de::value::SeqAccessDeserializer::new(list)).map(Folders)
            }
        }
        from.deserialize_any(Visitor)
    }
}

/// A preset alone, or `{ preset = …, max-bytes = … }`.
struct PresetEntry(BuildPreset);

#[derive(Deserialize)]
struct PresetTable {
    preset: String,
    #[serde(flatten)]
    budget: BTreeMap<String, toml::Value>,
}

impl<'de> Deserialize<'de> for PresetEntry {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<PresetEntry, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = PresetEntry;

            fn expecting(&self, to: &mut std::fmt::Formatter) -> std::fmt::Result {
                to.write_str(
                    "the name or the file of a preset, or a table with `preset` and a budget",
                )
            }

            fn visit_str<E: de::Error>(self, preset: &str) -> Result<PresetEntry, E> {
                let budget = Budget::default();
                let preset = preset.to_owned();
                Ok(PresetEntry(BuildPreset { preset, budget }))
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<PresetEntry, A::Error> {
                let table = de::value::MapAccessDeserializer::new(map);
                let PresetTable { preset, budget } = Deserialize::deserialize(table)?;
                let budget = toml::Value::Table(budget.into_iter().collect());
                let budget = budget.try_into().map_err(de::Error::custom)?;
                Ok(PresetEntry(BuildPreset { preset, budget }))
            }
        }
        from.deserialize_any(Visitor)
    }
}

impl BuildFile {
    /// Reads the file at `path`, or `assetfs.toml` in a folder.
    ///
    /// # Errors
    /// If there is none, or it says something that cannot work.
    pub(super) fn read(path: &Path) -> Result<BuildFile> {
        let path = match path.is_dir() {
            true => path.join(USUAL_NAME),
            false => path.to_owned(),
        };
        let shown = path.display();
        let text = given_files::read_text(&path).map_err(|error| {
            WrongUse(format!(
                "cannot read {shown}: {error}; `assetfs build --help` shows one"
            ))
        })?;
        let folder = std::path::absolute(&path).context("cannot tell the working folder")?;
        let folder = folder.parent().unwrap_or(Path::new("/")).to_owned();
        let text: Text = toml::from_str(&text)
            .map_err(|error| WrongUse(format!("{shown}: {}", error.to_string().trim_end())))?;
        checked(&text).map_err(|why| WrongUse(format!("{shown}: {why}")))?;
        let place = |path: &Path| folder.join(of_home(path));
        let presets = text.presets.into_iter().map(|(label, PresetEntry(entry))| {
            let preset = match names_file(&entry.preset) {
                true => place(Path::new(&entry.preset)).display().to_string(),
                false => entry.preset,
            };
            (label, BuildPreset { preset, ..entry })
        });
        let models: Vec<PathBuf> = text.models.0.iter().map(|it| place(it)).collect();
        let out = place(&text.out);
        for folder in models.iter().chain([&out]) {
            unanswered::watch(folder);
        }
        Ok(BuildFile {
            presets: presets.collect(),
            models,
            out,
            drive: text.drive.map(|it| place(&it)),
            name: text.name,
            budget: text.budget,
            folder,
        })
    }
}

fn names_file(preset: &str) -> bool {
    preset.contains('/') || PresetText::is_file_name(preset)
}

/// `~/` at the beginning is the home folder.
fn of_home(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), std::env::home_dir()) {
        (Ok(below), Some(home)) => home.join(below),
        _ => path.to_owned(),
    }
}

fn checked(text: &Text) -> Result<(), String> {
    if text.models.0.is_empty() {
        return Err("`models` names no folder".to_owned());
    }
    if text.presets.is_empty() {
        return Err("`presets` has no preset, for example web = \"Web Viewer\"".to_owned());
    }
    if let Some(label) = text.presets.keys().find(|label| !is_label(label)) {
        return Err(format!(
            "the preset `{label}` needs a name that files can have: letters, digits, spaces, `-`, `_` and `.` inside"
        ));
    }
    if text.presets.len() > 1 && !text.name.tells_presets_apart() {
        return Err(format!(
            "`name` is {}, so the results of several presets would be one file; put {{preset}} into it",
            text.name.text()
        ));
    }
    Ok(())
}

fn is_label(label: &str) -> bool {
    let is_inside = |c: char| c.is_alphanumeric() || " -_.".contains(c);
    !label.is_empty()
        && label.len() <= 64
        && label.chars().all(is_inside)
        && !label.starts_with(['.', ' '])
        && !label.ends_with(['.', ' '])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (tempfile::TempDir, Result<BuildFile>) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(USUAL_NAME), text).unwrap();
        let file = BuildFile::read(dir.path());
        (dir, file)
    }

    #[test]
    fn paths_begin_in_the_folder_of_the_file() {
        let (dir, file) = read(
            "models = ['props', '/srv/chairs']\nbudget = { max-bytes = '2M' }\n[presets]\nweb = 'Web Viewer'\n\
             phone = { preset = 'presets/phone.json', max-triangles = 5000 }\n",
        );
        let (dir, file) = (dir.path(), file.unwrap());
        assert_eq!(file.models, [dir.join("props"), "/srv/chairs".into()]);
        assert_eq!(file.out, dir.join("dist"));
        assert_eq!(file.presets["web"].preset, "Web Viewer");
        let phone = &file.presets["phone"];
        assert_eq!(Path::new(&phone.preset), dir.join("presets/phone.json"));
        assert_eq!(phone.budget.or(&file.budget).max_triangles, Some(5000));
        assert_eq!(
            phone.budget.or(&file.budget).max_bytes.unwrap().0,
            2_000_000
        );
        assert_eq!(file.name, OutputName::default());
        assert_eq!(file.drive, None);
    }

    #[test]
    fn a_file_that_cannot_work_is_refused_with_what_is_wrong() {
        let presets = "[presets]\nweb = 'Web Viewer'\n";
        let two = "[presets]\na = 'Web Viewer'\nb = 'Mobile AR'\n";
        for (text, why) in [
            (format!("models = []\n{presets}"), "names no folder"),
            (
                format!("models = 3\n{presets}"),
                "a folder, or a list of folders",
            ),
            ("models = 'm'\n[presets]\n".to_owned(), "has no preset"),
            ("models = 'm'\n".to_owned(), "missing field `presets`"),
            (
                format!("models = 'm'\nname = '{{model}}.{{ext}}'\n{two}"),
                "put {preset} into it",
            ),
            (
                format!("models = 'm'\nname = 'x'\n{presets}"),
                "end with .{ext}",
            ),
            (
                format!("models = 'm'\nbudgets = 1\n{presets}"),
                "unknown field `budgets`",
            ),
            (
                "models = 'm'\n[presets]\n'a/b' = 'Web Viewer'\n".to_owned(),
                "a name that files can have",
            ),
            (
                "models = 'm'\n[presets.a]\npreset = 'x'\nmax-polygons = 1\n".to_owned(),
                "max-polygons",
            ),
            (
                "models = 'm'\n[presets.a]\nmax-bytes = 1\n".to_owned(),
                "missing field `preset`",
            ),
        ] {
            let error = read(&text).1.unwrap_err();
            let said = error.to_string();
            assert!(
                error.is::<WrongUse>() && said.contains(why),
                "{text}: {said}"
            );
        }
        let missing = BuildFile::read(Path::new("/nowhere/assetfs.toml")).unwrap_err();
        assert!(missing.to_string().contains("--help"), "{missing}");
    }
}
