//! Walks through folders and reads whole files, for commands that check contents.

use std::fs::{self, File, FileType};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use md5::{Digest as _, Md5};
use serde::de::DeserializeOwned;

use super::interrupts;
use crate::given_files;
use crate::outbox::ContentHasher;

/// Bytes in one read.
const PART_BYTES: u64 = 1 << 20;

/// True for the name of a text of a job or preset on a drive.
pub(super) fn is_json(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "json")
}

/// The records in a folder, each a `.json` file that this program wrote; none if there is no folder. `redone` says in an error
/// what removing a damaged record has done again.
pub(super) fn records_in<T: DeserializeOwned>(folder: &Path, redone: &str) -> Result<Vec<T>> {
    let mut records = Vec::new();
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(records),
        entries => entries.with_context(|| folder.display().to_string())?,
    };
    for entry in entries {
        let path = entry?.path();
        if !is_json(&path) {
            continue;
        }
        let damaged = || {
            format!(
                "the record {} cannot be read; remove it, and {redone}",
                path.display()
            )
        };
        let text = given_files::read(&path).with_context(damaged)?;
        records.push(serde_json::from_slice(&text).with_context(damaged)?);
    }
    Ok(records)
}

/// The checksum of the bytes that `read` gives, in the form of [`own_checksum`](super::mounted::own_checksum).
pub(super) fn checksum(
    read: impl FnOnce(&mut dyn FnMut(&[u8]) -> bool) -> Result<()>,
) -> Result<String> {
    let mut hasher = ContentHasher::default();
    read(&mut |part| {
        hasher.update(part);
        true
    })?;
    Ok(hasher.digest().to_string())
}

/// A file below a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileBelow {
    /// Its path relative to the folder; empty if the root is the file.
    pub(super) path: PathBuf,
    pub(super) len: u64,
}

/// All files at and below a path, sorted. Symbolic links are not followed, so no file occurs twice.
pub(super) fn below(root: &Path) -> Result<Vec<FileBelow>> {
    below_with(root, |_, _| Ok(true))
}

/// The same without what `take` refuses by its path and kind; a folder is refused with everything in it.
pub(super) fn below_with(
    root: &Path,
    take: impl Fn(&Path, FileType) -> Result<bool>,
) -> Result<Vec<FileBelow>> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    let status = fs::metadata(root).with_context(|| format!("cannot read {}", root.display()))?;
    if status.is_file() {
        let (path, len) = (PathBuf::new(), status.len());
        return Ok(vec![FileBelow { path, len }]);
    }
    while let Some(folder) = folders.pop() {
        let dir = root.join(&folder);
        let entries = fs::read_dir(&dir).with_context(|| dir.display().to_string())?;
        for entry in entries {
            let entry = entry.with_context(|| dir.display().to_string())?;
            let path = folder.join(entry.file_name());
            let kind = entry.file_type()?;
            if !take(&path, kind)? {
                continue;
            }
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                let len = entry
                    .metadata()
                    .with_context(|| entry.path().display().to_string())?
                    .len();
                found.push(FileBelow { path, len });
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The path of a file below another folder.
pub(super) fn at(root: &Path, file: &FileBelow) -> PathBuf {
    match file.path.as_os_str().is_empty() {
        true => root.to_owned(),
        false => root.join(&file.path),
    }
}

/// Reads a file in parts, until its end or until `take` returns false.
pub(super) fn read_through(path: &Path, take: impl FnMut(&[u8]) -> bool) -> Result<()> {
    let file = given_files::open(path).with_context(|| path.display().to_string())?;
    read_parts(file, path, take)
}

/// The MD5 of a file; `seen` gets how many bytes were read.
pub(super) fn md5_of(path: &Path, mut seen: impl FnMut(u64)) -> Result<String> {
    let mut digest = Md5::new();
    let mut read = 0;
    read_through(path, |part| {
        digest.update(part);
        read += part.len() as u64;
        seen(read);
        true
    })?;
    let digest = digest.finalize();
    Ok(digest.iter().map(|it| format!("{it:02x}")).collect())
}

/// Reads a file of the drive, without the kernel's page cache, so that the drive serves every byte.
pub(super) fn read_from_drive(path: &Path, take: impl FnMut(&[u8]) -> bool) -> Result<()> {
    let file = File::open(path).with_context(|| path.display().to_string())?;
    // Only advice: an error does not change the bytes.
    let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed);
    read_parts(file, path, take)
}

/// Reads a list of the drive, a JSON object a line.
pub(super) fn lines_from_drive<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let mut text = Vec::new();
    read_from_drive(path, |part| {
        text.extend_from_slice(part);
        true
    })?;
    let lines = text.split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| !line.is_empty());
    lines
        .map(serde_json::from_slice)
        .collect::<Result<_, _>>()
        .with_context(|| format!("cannot understand {}", path.display()))
}

/// Reads an open file in parts, as [`read_through`]; `path` is for messages.
pub(super) fn read_parts(
    mut file: File,
    path: &Path,
    mut take: impl FnMut(&[u8]) -> bool,
) -> Result<()> {
    // To fill a buffer of the full size with zeros takes longer than to read a small file.
    let mut part = match file.metadata().map_or(0, |it| it.len()) {
        size @ 1..PART_BYTES => vec![0; size as usize],
        _ => vec![0; PART_BYTES as usize],
    };
    loop {
        interrupts::check()?;
        match file.read(&mut part) {
            Ok(0) => return Ok(()),
            Ok(len) if !take(&part[..len]) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error).with_context(|| path.display().to_string()),
        }
    }
}

/// Whole percent; 100 if `total` is 0.
pub(super) fn percent(done: u64, total: u64) -> u64 {
    (done * 100).checked_div(total).unwrap_or(100).min(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_at_any_depth_and_links_are_left_out() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("a/b")).unwrap();
        fs::write(dir.path().join("a/b/deep"), "12345").unwrap();
        fs::write(dir.path().join("top"), "1").unwrap();
        std::os::unix::fs::symlink("top", dir.path().join("link")).unwrap();
        let found: Vec<(String, u64)> = below(dir.path())
            .unwrap()
            .into_iter()
            .map(|file| (file.path.display().to_string(), file.len))
            .collect();
        assert_eq!(found, [("a/b/deep".to_owned(), 5), ("top".to_owned(), 1)]);
        let alone = below(&dir.path().join("top")).unwrap();
        assert_eq!((alone.len(), alone[0].len), (1, 1));
    }
}
