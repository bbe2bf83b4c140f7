//! Where a drive has a model of a folder, and which text of its `optimize/` is a preset: known by its content, because a name
//! can stand for something else by now.

use std::fs;
use std::io::ErrorKind::NotFound;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::cli::chosen_preset::Config;

/// How many letters and digits of a content tell names apart that would be the same.
pub(in crate::cli) const NAME_DIGITS: usize = 8;

/// The folder of a model or a draft of the drive.
pub(in crate::cli) fn folder(root: &Path, name: &str) -> PathBuf {
    root.join("rawmodels").join(name)
}

/// The text of a preset in the `optimize/` of a model: the one that is there with its configuration, else a name that no
/// other text has. The results of a text belong to its content, so the text of an earlier configuration is not this one.
pub(in crate::cli) fn text_of(
    model: &Path,
    label: &str,
    hash: &str,
    config: &Config,
) -> Result<PathBuf> {
    let folder = model.join("optimize");
    let names = [
        label.to_owned(),
        format!("{label}-{}", &hash[..NAME_DIGITS]),
        format!("{label}-{hash}"),
    ];
    for name in names {
        let text = folder.join(format!("{name}.json"));
        if has_config(&text, config)?.unwrap_or(true) {
            return Ok(text);
        }
    }
    bail!(
        "{} has other texts under every name that {label} could have; remove those that are not needed",
        folder.display()
    )
}

/// Whether a text has this configuration; `None` if there is no text.
pub(in crate::cli) fn has_config(text: &Path, config: &Config) -> Result<Option<bool>> {
    match fs::read(text) {
        Ok(bytes) => {
            let known: Option<Value> = serde_json::from_slice(&bytes).ok();
            Ok(Some(
                known.is_some_and(|known| known.as_object() == Some(config)),
            ))
        }
        Err(error) if error.kind() == NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", text.display())),
    }
}
