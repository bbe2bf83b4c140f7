//! The presets that every model of a folder is optimized with, and their texts in a drive.

use std::fs;
use std::io::ErrorKind::NotFound;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_128;

use super::on_drive::{self, NAME_DIGITS};
use crate::cli::chosen_preset::{self, Config};
use crate::cli::exit::WrongUse;
use crate::cli::files;
use crate::cli::mounted;
use crate::fuse::shell_quoted;

/// One of the presets that every model is optimized with.
#[derive(Debug, Clone)]
pub(in crate::cli) struct ModelPreset {
    /// The name or the file that was given.
    given: String,
    /// The state of that file when it was read.
    stamp: Option<(SystemTime, u64)>,
    /// The stem of its file, or its name.
    pub(in crate::cli) label: String,
    pub(in crate::cli) config: Config,
    /// What the exports are called without extension, in which `{model}` stands for the model; without it, the configuration
    /// and the model say how they are named. It is no part of what is sent, so the same preset is the same text for every
    /// command.
    export_name: Option<String>,
    /// A hash of the configuration and the export name: a result is fetched again when one of them has changed.
    pub(in crate::cli) hash: String,
}

/// What stands for the name of a model in export names.
const MODEL: &str = "{model}";

impl ModelPreset {
    /// Reads the presets that were given.
    ///
    /// # Errors
    /// When one is not known or not valid, or two would have the same label.
    pub(in crate::cli) fn read(given: &[String]) -> Result<Vec<ModelPreset>> {
        let mut presets: Vec<ModelPreset> = Vec::new();
        for text in given {
            let path = Path::new(text);
            let label = match path.is_file() {
                true => path
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned(),
                false => text.replace('/', "-"),
            };
            let label = label
                .split_once(".json")
                .or(label.split_once(".rpdx"))
                .map_or(label.as_str(), |(stem, _)| stem);
            let label = label.trim_end_matches(".api").to_owned();
            if presets.iter().any(|preset| preset.label == label) {
                return Err(same_label(&label));
            }
            presets.push(ModelPreset::new(text.clone(), label, None)?);
        }
        Ok(presets)
    }

    /// The same for the models of a drive: a name that is no file is first one of the account's presets. Its text names it, so
    /// results are stale once the preset has changed.
    pub(in crate::cli) fn of_drive(root: &Path, given: &[String]) -> Result<Vec<ModelPreset>> {
        let is_own = |text: &&String| {
            let own = root.join("presets").join(format!("{text}.json"));
            !text.contains('/') && !Path::new(text).is_file() && own.is_file()
        };
        let (own, other): (Vec<&String>, Vec<&String>) = given.iter().partition(is_own);
        let other: Vec<String> = other.into_iter().cloned().collect();
        let known = names_in(&root.join("presets"));
        for name in &other {
            chosen_preset::check_name(name, &known)?;
        }
        let mut presets = ModelPreset::read(&other)?;
        for name in own {
            if presets.iter().any(|preset| preset.label == *name) {
                return Err(same_label(name));
            }
            let config = Config::from_iter([("preset".to_owned(), name.as_str().into())]);
            presets.push(ModelPreset {
                given: name.clone(),
                stamp: None,
                label: name.clone(),
                hash: hash_of(&config)?,
                config,
                export_name: None,
            });
        }
        Ok(presets)
    }

    /// The preset `given`, with this label.
    ///
    /// # Errors
    /// When it is not known or not valid.
    pub(in crate::cli) fn new(
        given: String,
        label: String,
        export_name: Option<String>,
    ) -> Result<ModelPreset> {
        let stamp = stamp_of(&given);
        let config = chosen_preset::choose(&given)?;
        Ok(ModelPreset {
            given,
            stamp,
            label,
            hash: hash_with_name(&config, export_name.as_deref())?,
            config,
            export_name,
        })
    }

    /// What the exports of a model are called without extension, if the preset says so.
    pub(in crate::cli) fn export_name(&self, model: &str) -> Option<String> {
        let name = self.export_name.as_ref();
        name.map(|name| name.replace(MODEL, model))
    }

    /// Reads its file again if that has changed.
    ///
    /// # Errors
    /// Once for each change that makes it invalid; then the preset stays as it was.
    pub(in crate::cli) fn read_again(&mut self) -> Result<()> {
        let stamp = stamp_of(&self.given);
        if stamp == self.stamp {
            return Ok(());
        }
        self.stamp = stamp;
        self.config = chosen_preset::choose(&self.given)?;
        self.hash = hash_with_name(&self.config, self.export_name.as_deref())?;
        Ok(())
    }

    /// The path that its text has, or would have, in a model's `optimize/`.
    pub(in crate::cli) fn text_in(&self, model: &Path) -> PathBuf {
        model.join(format!("optimize/{}.json", self.label))
    }

    /// Whether its text is in a model's `optimize/`, and not one of the same name with another configuration.
    pub(in crate::cli) fn is_in(&self, model: &Path) -> bool {
        let has_config = on_drive::has_config(&self.text_in(model), &self.config);
        has_config.is_ok_and(|it| it == Some(true))
    }

    /// The preset of the account that its text names, if it does.
    pub(in crate::cli) fn named(&self) -> Option<&str> {
        self.config.get("preset")?.as_str()
    }

    /// The same, or its id if the text names it by that.
    pub(super) fn preset_in_text(&self) -> Option<&Value> {
        let keys = ["preset", "preset_id"].into_iter();
        keys.filter_map(|key| self.config.get(key)).next()
    }

    /// Its text in a drive.
    fn text(&self) -> Result<Vec<u8>> {
        Ok(serde_json::to_vec_pretty(&self.config)?)
    }

    /// The checksum of its text, as drives note it on results.
    pub(in crate::cli) fn text_hash(&self) -> Result<String> {
        let text = self.text()?;
        files::checksum(|take| {
            take(&text);
            Ok(())
        })
    }

    /// Puts it into the model's folder of jobs, unless it is there; returns its text. A text with an earlier configuration is
    /// overwritten, as by `cp`, so that the name leads to the result of the present configuration on all machines.
    pub(in crate::cli) fn drop_into(&self, model: &Path) -> Result<PathBuf> {
        let text = self.text_in(model);
        match on_drive::has_config(&text, &self.config)? {
            Some(true) if text.with_extension("status").exists() => return Ok(text),
            Some(false) => keep_typed(&text)?,
            // The status of a text that another machine wrote is shown here without the text. Writing the text joins its result.
            Some(true) | None => {}
        }
        if let Err(error) = fs::write(&text, self.text()?) {
            match mounted::why(&text).ok().flatten() {
                Some(why) => bail!("{why}"),
                None => {
                    return Err(error).with_context(|| format!("cannot write {}", text.display()));
                }
            }
        }
        Ok(text)
    }
}

/// Copies a text to a name with digits of its content, unless it is in the form in which these commands write presets: somebody
/// else has written it. The copy joins its result.
fn keep_typed(text: &Path) -> Result<()> {
    let cannot = || format!("cannot keep {} under another name", text.display());
    let typed = fs::read(text).with_context(cannot)?;
    let written =
        serde_json::from_slice::<Config>(&typed).and_then(|it| serde_json::to_vec_pretty(&it));
    // A command that was killed while it wrote has left an empty one.
    if typed.is_empty() || written.is_ok_and(|written| written == typed) {
        return Ok(());
    }
    let hash = format!("{:032x}", xxh3_128(&typed));
    let stem = text.with_extension("").to_string_lossy().into_owned();
    for digits in [NAME_DIGITS, hash.len()] {
        let kept = format!("{stem}-{}.json", &hash[..digits]);
        match fs::read(&kept) {
            Ok(other) if other == typed => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == NotFound => {
                fs::write(&kept, typed).with_context(cannot)?;
                eprintln!(
                    "{}: no command of this program wrote it, so it is kept as {}",
                    shell_quoted(text),
                    shell_quoted(Path::new(&kept))
                );
                return Ok(());
            }
            Err(error) => return Err(error).with_context(cannot),
        }
    }
    bail!(cannot())
}

/// The names of the texts in a folder; none if it cannot be read.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let texts = entries
        .map(|entry| entry.path())
        .filter(|path| files::is_json(path));
    let names = texts.filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned()));
    names.collect()
}

fn same_label(label: &str) -> anyhow::Error {
    WrongUse(format!(
        "two presets are named {label}; rename one of the files"
    ))
    .into()
}

fn hash_with_name(config: &Config, name: Option<&str>) -> Result<String> {
    let mut config = config.clone();
    if let Some(name) = name {
        config.insert("exportName".to_owned(), name.into());
    }
    hash_of(&config)
}

fn hash_of(config: &Config) -> Result<String> {
    Ok(format!("{:032x}", xxh3_128(&serde_json::to_vec(config)?)))
}

/// Time and length of a file; `None` if it is none, as the pipe of a shell.
fn stamp_of(given: &str) -> Option<(SystemTime, u64)> {
    let found = fs::metadata(given).ok().filter(fs::Metadata::is_file)?;
    Some((found.modified().ok()?, found.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_results_is_no_part_of_what_is_sent_and_known_results_stay_known() {
        let named = |export_name: Option<&str>| {
            let export_name = export_name.map(str::to_owned);
            ModelPreset::new("Web Viewer".into(), "web".into(), export_name).unwrap()
        };
        let (plain, build) = (named(None), named(Some("{model}.web")));
        assert_eq!(build.text().unwrap(), plain.text().unwrap());
        assert_eq!(
            build.text_in(Path::new("/nowhere")),
            plain.text_in(Path::new("/nowhere"))
        );
        assert_eq!(build.export_name("chair").as_deref(), Some("chair.web"));
        // Records of earlier versions hold the checksum of a configuration that contains the export name.
        let mut earlier = plain.config.clone();
        earlier.insert("exportName".into(), "{model}.web".into());
        assert_eq!(build.hash, hash_of(&earlier).unwrap());
        assert_ne!(build.hash, plain.hash);
    }
}
