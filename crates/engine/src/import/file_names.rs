//! The names of files in an upload: as messages show them, and as models refer to them.

use std::fs;
use std::path::{Path, PathBuf};

use super::super::document::DocumentError;
use super::error::ImportError;
use super::images::NoImage;
use assetfs_formats::input_files::{InputFiles, UriTarget};

pub(super) fn file_name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// The name and the bytes of a model's file.
pub(super) fn read_file(dir: &Path, model: &Path) -> Result<(String, Vec<u8>), ImportError> {
    let path = dir.join(model);
    let bytes = fs::read(&path).map_err(|source| DocumentError::Io { path, source })?;
    Ok((file_name(model), bytes))
}

/// Finds a file, such as an image, that the file `base` of a model refers to.
///
/// # Errors
/// Why there is none.
pub(super) fn find_file(files: &InputFiles, base: &Path, name: &str) -> Result<PathBuf, NoImage> {
    match files.resolve(base, name) {
        UriTarget::File(path) => Ok(path),
        other => Err(NoImage::Missing(other.absence().unwrap_or_default())),
    }
}
