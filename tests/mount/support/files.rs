//! Functions that read local files and files of the drive.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

/// The files directly in a folder, sorted.
pub fn file_names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir)
        .unwrap_or_else(|error| panic!("{}: {error}", dir.display()))
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| entry.file_type().expect("a type").is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// All names in a folder, sorted.
pub fn names_in(dir: &Path) -> Vec<OsString> {
    let entries = fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    let mut names: Vec<_> = entries
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    names.sort();
    names
}

/// Asserts that every file of `source` is in `copy` with the same bytes, and no other file.
pub fn assert_same_files(source: &Path, copy: &Path) {
    assert_eq!(file_names(source), file_names(copy));
    for name in file_names(source) {
        let (left, right) = (read(source.join(&name)), read(copy.join(&name)));
        assert!(
            left == right,
            "{name} differs: {} and {} bytes",
            left.len(),
            right.len()
        );
    }
}

pub fn read(path: impl AsRef<Path>) -> Vec<u8> {
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()))
}

/// True if a name exists in a folder; links are not followed.
pub fn exists(path: impl AsRef<Path>) -> bool {
    fs::symlink_metadata(path).is_ok()
}
