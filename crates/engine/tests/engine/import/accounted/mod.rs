//! Everything that a file declares is read or named: for each row of the tables of a format, a file with it is compared with
//! the same file without it. If the scenes are equal and no warning has its name, the importer is silent, and the test fails.

mod extensions;
mod meshes;
mod scenes;
mod stl;

use super::texts::import_texts;

/// The files of an upload.
pub type Upload = Vec<(String, Vec<u8>)>;

/// Whether the importer neither reads nor names nor refuses what `with` has and `without` has not.
fn is_silent(name: &str, without: &Upload, with: &Upload) -> bool {
    let read = |upload: &Upload| {
        let files: Vec<(&str, &[u8])> = upload
            .iter()
            .map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
            .collect();
        import_texts(&files)
    };
    let without = read(without).unwrap();
    let Ok(with) = read(with) else { return false };
    let mut new = with.warnings.iter();
    let is_named =
        new.any(|warning| warning.text.contains(name) && !without.warnings.contains(warning));
    !is_named && format!("{:?}", with.scene) == format!("{:?}", without.scene)
}

/// Fails with the names of all rows that are silent.
pub fn no_row_is_silent(rows: impl Iterator<Item = (String, Upload, Upload)>) {
    let silent: Vec<String> = rows
        .filter(|(name, without, with)| is_silent(name, without, with))
        .map(|(name, ..)| name)
        .collect();
    assert!(silent.is_empty(), "neither read nor named: {silent:?}");
}
