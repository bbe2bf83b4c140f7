//! Atomic replacement of whole files: a reader or a crash sees the old or the new content, never a mix. Also
//! the fsync of folders, which makes names durable. Growing files are in `log`.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::error::DurableError;
use super::{answering, recorder};

/// Threads that wait for the disk at a time.
const MAX_THREADS: usize = 8;

/// Unit of `st_blocks`, independent of `st_blksize` (stat(2)).
const STAT_BLOCK_BYTES: u64 = 512;

/// Bytes that an open file takes on its disk.
pub fn allocated_bytes(file: &File) -> io::Result<u64> {
    Ok(file.metadata()?.blocks().saturating_mul(STAT_BLOCK_BYTES))
}

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

/// A file system, for one sync of everything that was written to it.
///
/// Such a sync costs as much as one or two of single files, but it also waits for what other programs have written.
#[derive(Debug)]
pub struct FileSystem {
    /// Opened before anything is written: the kernel reports the errors since then.
    dir: File,
    path: PathBuf,
}

impl FileSystem {
    /// The file system that the folder `path` is on.
    pub fn of(path: &Path) -> Result<FileSystem, DurableError> {
        Ok(FileSystem {
            dir: File::open(path).map_err(DurableError::io("open the folder", path))?,
            path: path.to_owned(),
        })
    }

    /// Makes all files and names durable that were written so far.
    pub fn sync(&self) -> Result<(), DurableError> {
        answering::check_may_block("the sync of a file system");
        rustix::fs::syncfs(&self.dir)
            .map_err(|errno| errno.into())
            .map_err(DurableError::io("sync the file system of", &self.path))?;
        recorder::all_synced(&self.path);
        Ok(())
    }
}

/// Does work that waits for the disk on several threads; the results are in the order of the items.
pub fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let part = items.len().div_ceil(MAX_THREADS).max(1);
    if items.len() <= 1 {
        return items.iter().map(work).collect();
    }
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = items
            .chunks(part)
            .map(|part| scope.spawn(move || part.iter().map(work).collect::<Vec<R>>()))
            .collect();
        let results = threads.into_iter().map(|thread| match thread.join() {
            Ok(results) => results,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        results.flatten().collect()
    })
}

/// Like [`write_atomic`] but without sync, for content that can be recreated: never a mix of old and new
/// while the system runs, but after a power cut it may be old, new, empty or garbage.
pub fn write_atomic_relaxed(path: impl AsRef<Path>, bytes: &[u8]) -> Result<(), DurableError> {
    replace(path.as_ref(), bytes, false)
}

fn replace(path: &Path, bytes: &[u8], sync: bool) -> Result<(), DurableError> {
    let temporary = write_temporary(path, bytes)?;
    if sync {
        answering::check_may_block("the sync of a file");
        temporary
            .as_file()
            .sync_all()
            .map_err(DurableError::io("sync", path))?;
        recorder::synced(temporary.as_file());
    }
    persist(temporary, path)
}

/// Writes the later content of `path` into a temporary file beside it.
fn write_temporary(path: &Path, bytes: &[u8]) -> Result<NamedTempFile, DurableError> {
    let mut temporary = tempfile::Builder::new()
        .prefix(".new-")
        .tempfile_in(folder_of(path))
        .map_err(DurableError::io("create a temporary file for", path))?;
    recorder::created(temporary.path());
    temporary
        .write_all(bytes)
        .map_err(DurableError::io("write", path))?;
    recorder::wrote(temporary.as_file(), 0, bytes);
    Ok(temporary)
}

fn persist(temporary: NamedTempFile, path: &Path) -> Result<(), DurableError> {
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

    #[test]
    fn results_of_parallel_work_are_in_the_order_of_the_items() {
        for count in [0, 1, 7, 8, 9, 100] {
            let numbers: Vec<usize> = (0..count).collect();
            assert_eq!(in_parallel(&numbers, |number| *number), numbers);
        }
    }
}
