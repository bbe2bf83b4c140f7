//! Blobs in a local folder: a file of a worker is renamed into it, and a worker gets a hard link.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use object_store::local::LocalFileSystem;
use object_store::path::Path as Key;

use super::digest::Digest;
use super::error::{FilesError, blocking, disk};
use crate::disk_room::check_room;
use crate::durable;
use crate::service::records::Stored;

/// Between the key of a blob and a number, in the name of a file that is still being written.
const STAGED_MARK: char = '#';

#[derive(Debug, Clone)]
pub(super) struct Folder {
    pub(super) store: Arc<LocalFileSystem>,
    root: Arc<Path>,
}

impl Folder {
    /// Opens the folder, and creates it if it is missing.
    pub(super) fn open(root: &Path) -> Result<Folder, FilesError> {
        fs::create_dir_all(root).map_err(disk(root))?;
        let store = LocalFileSystem::new_with_prefix(root)?.with_fsync(true);
        Ok(Folder {
            store: Arc::new(store),
            root: Arc::from(root),
        })
    }

    fn path_of(&self, blob: &str) -> Result<PathBuf, FilesError> {
        Ok(self.store.path_to_filesystem(&Key::from(blob))?)
    }

    /// Stores a few bytes without a sync.
    pub(super) fn keep(&self, blob: &str, bytes: &[u8]) -> Result<(), FilesError> {
        let path = self.path_of(blob)?;
        let folder = path.parent().expect("a key lies below the root");
        fs::create_dir_all(folder).map_err(disk(folder))?;
        fs::write(&path, bytes).map_err(disk(&path))
    }

    /// Moves a file into the folder.
    pub(super) async fn adopt(&self, blob: &str, path: PathBuf) -> Result<Stored, FilesError> {
        let target = self.path_of(blob)?;
        let blob = blob.to_owned();
        blocking(move || {
            let mut file = File::open(&path).map_err(disk(&path))?;
            let mut digest = Digest::default();
            let mut buffer = vec![0; PART_BYTES];
            loop {
                let len = file.read(&mut buffer).map_err(disk(&path))?;
                if len == 0 {
                    break;
                }
                digest.update(&buffer[..len]);
            }
            file.sync_all().map_err(disk(&path))?;
            let folder = target.parent().expect("a key lies below the root");
            if !folder.is_dir() {
                fs::create_dir_all(folder).map_err(disk(folder))?;
                durable::sync_dir(
                    folder
                        .parent()
                        .expect("a folder of keys lies below the root"),
                )?;
            }
            fs::rename(&path, &target).map_err(disk(&target))?;
            durable::sync_dir(folder)?;
            Ok(digest.stored(&blob))
        })
        .await
    }

    /// Puts a blob at `target`, where a worker can read it.
    pub(super) async fn lay_out(&self, blob: &str, target: PathBuf) -> Result<(), FilesError> {
        let source = self.path_of(blob)?;
        blocking(move || {
            // A hard link costs nothing. It fails across file systems; then the file is copied.
            if fs::hard_link(&source, &target).is_err() {
                fs::copy(&source, &target).map_err(disk(&target))?;
            }
            Ok(())
        })
        .await
    }

    /// Fails if the folder is gone or cannot be read, or if its disk is full or read-only.
    pub(super) async fn check(&self) -> Result<(), FilesError> {
        let root = Arc::clone(&self.root);
        blocking(move || {
            fs::read_dir(&root).map_err(disk(&root))?;
            check_room(&root).map_err(disk(&root))
        })
        .await
    }

    /// The names of all files: blobs, and unfinished uploads.
    pub(super) async fn names(&self) -> Result<Vec<String>, FilesError> {
        let root = Arc::clone(&self.root);
        blocking(move || names(&root)).await
    }

    /// Removes a file by its name.
    pub(super) async fn remove(&self, name: &str) -> Result<(), FilesError> {
        let path = self.root.join(name);
        blocking(move || match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(disk(&path)(error)),
            _ => Ok(()),
        })
        .await
    }
}

/// The blob that a file belongs to.
pub(super) fn blob_of(name: &str) -> &str {
    name.split(STAGED_MARK).next().unwrap_or(name)
}

/// The files below `root`, as `<folder>/<file>`.
fn names(root: &Path) -> Result<Vec<String>, FilesError> {
    let mut found = Vec::new();
    for folder in fs::read_dir(root).map_err(disk(root))? {
        let folder = folder.map_err(disk(root))?.path();
        if !folder.is_dir() {
            continue;
        }
        for file in fs::read_dir(&folder).map_err(disk(&folder))? {
            let file = file.map_err(disk(&folder))?;
            if let (Some(folder), Some(name)) = (
                folder.file_name().and_then(|name| name.to_str()),
                file.file_name().to_str(),
            ) {
                found.push(format!("{folder}/{name}"));
            }
        }
    }
    Ok(found)
}

/// Size of a part in a folder.
pub(super) const PART_BYTES: usize = 1 << 20;
