//! Whether a model or draft of the drive has the files of a source: the one comparison of all commands that bring files in. A
//! model that a drive has noted is known by that checksum. Otherwise files that were copied in on this machine are known by
//! theirs, others by the MD5 of the storage, or they are read. A zip is compared with what a model shows of it by the checksums
//! in its directory.

use std::fs;
use std::io::ErrorKind::{NotADirectory, NotFound};
use std::path::Path;

use anyhow::{Context as _, Result};

use super::new_files::{NewFiles, SourceFile};
use super::source::Source;
use crate::cli::files::{self, FileBelow};
use crate::cli::mounted::{noted_source, own_checksum, told_md5};
use crate::drive::files_of_zip;
use crate::given_files;
use crate::outbox::{is_never_sent, is_service_folder};
use assetfs_formats::extension;

/// What a model has of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Content {
    /// Every file with its bytes, and no other.
    Same,
    /// Some of the files. What is there has the bytes of the source.
    Partly,
    /// Other bytes, other files, or none of the source's.
    Other,
    /// A zip that was copied in elsewhere is shown as what is in it, under names that do not match those in the zip.
    Unknown,
}

/// The files of a source that the drive would send. A folder with symbolic links is refused, because the model would be
/// incomplete.
pub(in crate::cli) fn files_of(source: &Source) -> Result<NewFiles> {
    match source.root == source.path {
        true => NewFiles::open(&source.path),
        false => NewFiles::of_file(&source.path, &source.root, &source.files),
    }
}

/// Compares a model with a source. `bytes` is the size that the list of models tells, if it does: with it, a model with the
/// files of the source is not listed, which asks the service for what it made.
pub(in crate::cli) fn compare(
    source: &NewFiles,
    model: &Path,
    bytes: Option<u64>,
) -> Result<Content> {
    if let Some(noted) = noted_source(model)? {
        return Ok(match source.source_hash()? == noted {
            true => Content::Same,
            false => Content::Other,
        });
    }
    let (mut same, mut missing) = (0, 0);
    for file in source.files() {
        match is_same(file, &model.join(&file.place))? {
            Some(true) => same += 1,
            Some(false) => return Ok(Content::Other),
            None => missing += 1,
        }
    }
    let is_zip = source.files().iter().all(|file| is_zip(&file.place));
    if let ([zip], 0, 1, true) = (source.files(), same, missing, is_zip)
        && !has_others(source, model, true)?
    {
        return compare_zip(zip, source, model);
    }
    let total = source.files().iter().map(|file| file.len).sum();
    Ok(match (same, missing) {
        (_, 0) if bytes == Some(total) => Content::Same,
        (_, 0) if has_others(source, model, is_zip)? => Content::Other,
        (_, 0) => Content::Same,
        (0, _) if is_zip && !has_others(source, model, true)? => Content::Unknown,
        (0, _) => Content::Other,
        _ => Content::Partly,
    })
}

/// Compares a zip with a model that was made of a zip and shows the files in it. Files of the same names are compared by their
/// checksums. If the names differ, the service may have changed them, so the result is [`Content::Unknown`].
fn compare_zip(zip: &SourceFile, source: &NewFiles, model: &Path) -> Result<Content> {
    let opened = given_files::open(&zip.at).with_context(|| zip.at.display().to_string())?;
    let Ok(mut inside) = files_of_zip(&opened) else {
        return Ok(Content::Unknown);
    };
    inside.retain(|file| !is_never_sent(&file.path));
    inside.sort_by(|a, b| Path::new(&a.path).cmp(Path::new(&b.path)));
    let there = own_files(model, source)?;
    let pairs = || inside.iter().zip(&there);
    if inside.len() != there.len() || pairs().any(|(a, b)| Path::new(&a.path) != b.path) {
        return Ok(Content::Unknown);
    }
    if pairs().any(|(here, file)| here.size != file.len) {
        return Ok(Content::Other);
    }
    // Last, because it reads the files of the model.
    for (here, file) in pairs() {
        if crc_of(&files::at(model, file))? != here.crc {
            return Ok(Content::Other);
        }
    }
    Ok(Content::Same)
}

fn crc_of(path: &Path) -> Result<u32> {
    let mut hasher = crc32fast::Hasher::new();
    files::read_from_drive(path, |part| {
        hasher.update(part);
        true
    })?;
    Ok(hasher.finalize())
}

impl NewFiles {
    /// True if a model has the files of the source, and no other.
    pub(in crate::cli) fn equals_model(&self, model: &Path) -> Result<bool> {
        Ok(compare(self, model, None)? == Content::Same)
    }

    /// True if a draft, or a model that is being uploaded, has the files of the source. Its bytes are on the local disk.
    pub(in crate::cli) fn equals_staged(&self, draft: &Path) -> Result<bool> {
        if !draft.is_file() {
            return self.equals_model(draft);
        }
        Ok(self.file_name().is_some() && is_same(&self.files()[0], draft)? == Some(true))
    }
}

/// True if a model has own files that the source lacks. What a zip is shown as counts only if it was copied in here, and so is
/// no part of a zip.
fn has_others(source: &NewFiles, model: &Path, is_zip: bool) -> Result<bool> {
    for file in own_files(model, source)? {
        let is_known = source.files().iter().any(|it| it.place == file.path);
        if !is_known && (!is_zip || own_checksum(&files::at(model, &file))?.is_some()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a model of another name has the files of a source. The one file of a model may have another name, too.
pub(in crate::cli) fn is_under_other_name(source: &NewFiles, model: &Path) -> Result<bool> {
    let there = own_files(model, source)?;
    if let ([here], [only]) = (source.files(), there.as_slice()) {
        let is_kind =
            extension(&here.place.to_string_lossy()) == extension(&only.path.to_string_lossy());
        return Ok(is_kind && is_same(here, &files::at(model, only))? == Some(true));
    }
    let is_there = |file: &SourceFile| {
        let place = |it: &&FileBelow| it.path == file.place && it.len == file.len;
        there.iter().any(|it| place(&it))
    };
    let places_are_same =
        there.len() == source.files().len() && source.files().iter().all(is_there);
    Ok(places_are_same && compare(source, model, None)? == Content::Same)
}

/// Whether a file has the bytes of one of the source; `None` if it does not exist.
fn is_same(here: &SourceFile, there: &Path) -> Result<Option<bool>> {
    let status = match fs::metadata(there) {
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => return Ok(None),
        status => status.with_context(|| there.display().to_string())?,
    };
    if status.len() != here.len {
        return Ok(Some(false));
    }
    if let Some(known) = own_checksum(there)? {
        return Ok(Some(known == here.checksum()?));
    }
    if let Some(told) = told_md5(there) {
        return Ok(Some(files::md5_of(&here.at, |_| {})? == told));
    }
    let read = files::checksum(|take| files::read_from_drive(there, take))?;
    Ok(Some(read == here.checksum()?))
}

fn is_zip(place: &Path) -> bool {
    extension(&place.to_string_lossy()) == "zip"
}

/// The files of a model but for those that the service made. Folders of the service are not read, unless a file of the source
/// is in a folder of that name.
fn own_files(model: &Path, source: &NewFiles) -> Result<Vec<FileBelow>> {
    files::below_with(model, |path, kind| {
        let name = path.to_string_lossy();
        let is_own = || source.files().iter().any(|it| it.place.starts_with(path));
        Ok(match kind.is_dir() {
            true => !is_service_folder(name.trim_end_matches('@')) || is_own(),
            false => !is_never_sent(&name) && name != "ERROR.txt",
        })
    })
}
