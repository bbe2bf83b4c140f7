//! Atomic replacement of whole files: a reader or a crash sees the old or the new content, never a mix. Also
//! the fsync of folders, which makes names durable. Growing files are in `log`.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use super::error::DurableError;
use super::{answering, recorder};

/// Syncs a folder, which makes created, renamed and removed names in it durable.
pub fn sync_dir(path: impl AsRef<Path>) -> Result<(), DurableError> {
    answering::check_may_block("the sync of a folder");
    let path = path.as_ref();
    File::open(path)
        .and_then(|dir| dir.sync_all())
        .map_err(DurableError::io("sync the folder", path))?;
    recorder::dir_synced(path);
    Ok(())
}

/// Replaces the content of a file. The new content is durable on return; until then the old one is intact.
///
/// The file is readable only by its owner.
pub fn write_atomic(path: impl AsRef<Path>, bytes: &[u8]) -> Result<(), DurableError> {
    let path = path.as_ref();
    replace(path, bytes, true)?;
    sync_dir(folder_of(path))
}

/// Like [`write_atomic`] but without sync, for content that can be recreated: never a mix of old and new
/// while the system runs, but after a power cut it may be old, new, empty or garbage.
pub fn write_atomic_relaxed(path: impl AsRef<Path>, bytes: &[u8]) -> Result<(), DurableError> {
    replace(path.as_ref(), bytes, false)
}

fn replace(path: &Path, bytes: &[u8], sync: bool) -> Result<(), DurableError> {
    let mut temporary = tempfile::Builder::new()
        .prefix(".new-")
        .tempfile_in(folder_of(path))
        .map_err(DurableError::io("create a temporary file for", path))?;
    recorder::created(temporary.path());
    temporary
        .write_all(bytes)
        .map_err(DurableError::io("write", path))?;
    recorder::wrote(temporary.as_file(), 0, bytes);
    if sync {
        answering::check_may_block("the sync of a file");
        temporary
            .as_file()
            .sync_all()
            .map_err(DurableError::io("sync", path))?;
        recorder::synced(temporary.as_file());
    }
    let before = temporary.path().to_owned();
    temporary
        .persist(path)
        .map_err(|error| DurableError::io("replace", path)(error.error))?;
    recorder::renamed(&before, path);
    Ok(())
}

/// The parent folder; the working folder for a bare name.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_new_content_replaces_the_old_and_leaves_no_other_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state");
        write_atomic(&path, b"one").unwrap();
        write_atomic(&path, b"two").unwrap();
        write_atomic_relaxed(&path, b"three").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"three");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }

    #[test]
    fn a_failed_replacement_keeps_the_old_file_and_names_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("taken");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("inside"), b"kept").unwrap();
        let error = write_atomic(&path, b"new").unwrap_err();
        assert!(error.to_string().contains("taken"), "{error}");
        assert_eq!(fs::read(path.join("inside")).unwrap(), b"kept");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
