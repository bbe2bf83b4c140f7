//! What a drive has of the models of a folder: whether a model in it has the bytes of the watched one, and which text of its
//! `optimize/` is a preset. Both are known by their content, because a name can stand for something else by now.

use std::fs;
use std::io::ErrorKind::{NotADirectory, NotFound};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::source::Source;
use crate::cli::chosen_preset::Config;
use crate::cli::files;
use crate::cli::mounted::own_checksum;
use crate::outbox::{is_never_sent, service_folder_of};
use assetfs_formats::extension;

/// How many letters and digits of a content tell names apart that would be the same.
pub(in crate::cli) const NAME_DIGITS: usize = 8;

/// The folder of a model or a draft of the drive.
pub(in crate::cli) fn folder(root: &Path, name: &str) -> PathBuf {
    root.join("rawmodels").join(name)
}

/// What a folder of the drive has of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Match {
    /// Every file, with its bytes.
    Same,
    /// Some of the files, or a zip, which is shown as what is in it. What is there has the bytes of the source.
    Partly,
    /// Other bytes under a name of the source, or none of its files.
    Other,
}

/// Compares a model's folder with a source: files that were copied in on this machine by the checksum that the drive has of
/// them, others byte by byte. Files that the drive does not send are left out.
pub(in crate::cli) fn compare(model: &Path, source: &Source) -> Result<Match> {
    let is_sent = |file: &&PathBuf| {
        let name = file.to_string_lossy();
        !is_never_sent(&name) && service_folder_of(&name).is_none()
    };
    let (mut found, mut missing) = (0, 0);
    for file in source.files.iter().filter(is_sent) {
        let (here, there) = (source.root.join(file), model.join(file));
        let status = match fs::metadata(&there) {
            Err(error) if matches!(error.kind(), NotFound | NotADirectory) => {
                missing += 1;
                continue;
            }
            status => status.with_context(|| there.display().to_string())?,
        };
        let is_same = status.len() == fs::metadata(&here)?.len() && {
            let known = match own_checksum(&there)? {
                Some(known) => known,
                None => files::checksum(|take| files::read_from_drive(&there, take))?,
            };
            known == files::checksum(|take| files::read_through(&here, take))?
        };
        if !is_same {
            return Ok(Match::Other);
        }
        found += 1;
    }
    let is_zip = source.files.iter().all(|file| is_zip(file));
    Ok(match (found, missing) {
        (_, 0) => Match::Same,
        (0, _) if !is_zip => Match::Other,
        _ => Match::Partly,
    })
}

fn is_zip(file: &Path) -> bool {
    extension(&file.to_string_lossy()) == "zip"
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
