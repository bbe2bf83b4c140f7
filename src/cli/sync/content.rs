//! Whether a model of the drive has the files of a source. Files that were copied in on this machine are known by their
//! checksum, others by the MD5 of the storage, or they are read.

use std::fs;
use std::io::ErrorKind::{NotADirectory, NotFound};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::super::files::{self, FileBelow};
use super::super::models_of_folder::Source;
use super::super::mounted::{own_checksum, told_md5};
use super::super::replace::{NewFiles, SourceFile};
use crate::outbox::{is_never_sent, is_service_folder};
use assetfs_formats::extension;

/// The files of a source that the drive would send.
pub(super) fn files_of(source: &Source) -> Result<NewFiles> {
    match source.root == source.path {
        true => NewFiles::open(&source.path),
        false => NewFiles::of_file(&source.path, &source.root, &source.files),
    }
}

/// What a model has of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Same,
    Other,
    /// A zip that was copied in elsewhere is shown as what is in it.
    Unknown,
}

/// Compares a model with the source of its name. `bytes` is the size that the list of models tells, if it does: with it,
/// a model that was copied in here is compared without listing its folder, which asks the service for what it made.
pub(super) fn compare(source: &NewFiles, model: &Path, bytes: Option<u64>) -> Result<Content> {
    if has_all(source, model, bytes)? || source.equals_model(model)? {
        return Ok(Content::Same);
    }
    let there = own_files(model, source)?;
    for file in &there {
        // It was copied in here, so the comparison was one of all bytes.
        if own_checksum(&files::at(model, file))?.is_some() {
            return Ok(Content::Other);
        }
    }
    if source.files().iter().all(|file| is_zip(&file.place)) {
        return match source.files().iter().any(|file| exists(model, file)) {
            true => compare_files(source, model, &there),
            false => Ok(Content::Unknown),
        };
    }
    compare_files(source, model, &there)
}

/// True if every file of the source was copied in here with its bytes, and nothing else.
fn has_all(source: &NewFiles, model: &Path, bytes: Option<u64>) -> Result<bool> {
    let total = source.files().iter().map(|file| file.len).sum();
    if bytes != Some(total) {
        return Ok(false);
    }
    for file in source.files() {
        let there = model.join(&file.place);
        let is_same = match fs::symlink_metadata(&there) {
            Ok(status) if status.len() == file.len => {
                own_checksum(&there)?.as_deref() == Some(file.checksum()?)
            }
            _ => false,
        };
        if !is_same {
            return Ok(false);
        }
    }
    Ok(true)
}

fn compare_files(source: &NewFiles, model: &Path, there: &[FileBelow]) -> Result<Content> {
    let is_known = |file: &&FileBelow| source.files().iter().any(|it| it.place == file.path);
    if there.iter().filter(is_known).count() != there.len() {
        return Ok(Content::Other);
    }
    for file in source.files() {
        if !is_same(file, &model.join(&file.place))? {
            return Ok(Content::Other);
        }
    }
    Ok(Content::Same)
}

/// Whether a model of another name has the files of a source. The one file of a model may have another name, too.
pub(super) fn is_under_other_name(source: &NewFiles, model: &Path) -> Result<bool> {
    let there = own_files(model, source)?;
    if let ([here], [only]) = (source.files(), there.as_slice()) {
        let is_kind =
            extension(&here.place.to_string_lossy()) == extension(&only.path.to_string_lossy());
        return Ok(is_kind && is_same(here, &files::at(model, only))?);
    }
    let is_there = |file: &SourceFile| {
        let place = |it: &&FileBelow| it.path == file.place && it.len == file.len;
        there.iter().any(|it| place(&it))
    };
    let places_are_same =
        there.len() == source.files().len() && source.files().iter().all(is_there);
    if !places_are_same {
        return Ok(false);
    }
    for file in source.files() {
        if !is_same(file, &model.join(&file.place))? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn is_same(here: &SourceFile, there: &Path) -> Result<bool> {
    let status = match fs::metadata(there) {
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => return Ok(false),
        status => status.with_context(|| there.display().to_string())?,
    };
    if status.len() != here.len {
        return Ok(false);
    }
    if let Some(known) = own_checksum(there)? {
        return Ok(known == here.checksum()?);
    }
    if let Some(told) = told_md5(there) {
        return Ok(files::md5_of(&here.at, |_| {})? == told);
    }
    let read = files::checksum(|take| files::read_from_drive(there, take))?;
    Ok(read == here.checksum()?)
}

fn exists(model: &Path, file: &SourceFile) -> bool {
    model.join(&file.place).exists()
}

fn is_zip(place: &Path) -> bool {
    extension(&place.to_string_lossy()) == "zip"
}

/// The files of a model but for those that the service made.
fn own_files(model: &Path, source: &NewFiles) -> Result<Vec<FileBelow>> {
    let places: Vec<PathBuf> = source.files().iter().map(|it| it.place.clone()).collect();
    files::below_with(model, |path, kind| {
        let name = path.to_string_lossy();
        let is_own = || places.iter().any(|place| place.starts_with(path));
        Ok(match kind.is_dir() {
            true => !is_service_folder(name.trim_end_matches('@')) || is_own(),
            false => !is_never_sent(&name) && name != "ERROR.txt",
        })
    })
}
