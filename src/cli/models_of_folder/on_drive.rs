//! Where a drive has a model of a folder, and whether a text of its `optimize/` is a preset: known by its content, because a
//! name can stand for something else by now.

use std::fs;
use std::io::ErrorKind::NotFound;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::cli::chosen_preset::Config;

/// How many letters and digits of a content tell names apart that would be the same.
pub(in crate::cli) const NAME_DIGITS: usize = 8;

/// The folder of a model or a draft of the drive.
pub(in crate::cli) fn folder(root: &Path, name: &str) -> PathBuf {
    root.join("rawmodels").join(name)
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
