//! Removes left-overs: aborted uploads, and blobs without a file.
//!
//! Only old blobs are checked. A blob gets its file moments after its last byte. A blob that has no file after an
//! hour never gets one, so nothing in use is removed.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::{FileStore, FilesError, blocking, disk};
use crate::service::records::{Records, RecordsError};

/// Younger blobs may still get a file.
const YOUNG: Duration = Duration::from_secs(3_600);

/// Blobs in one query.
const BATCH: usize = 500;

impl FileStore {
    /// Removes left-overs from more than an hour before `now`; returns their number.
    ///
    /// # Errors
    /// If the disk or the database fails. The rest is removed next time.
    pub async fn sweep(&self, records: &Records, now: SystemTime) -> Result<usize, SweepError> {
        let root = self.root.clone();
        let old = blocking(move || old_files(&root, now - YOUNG)).await?;
        let mut left_over = Vec::new();
        let (staged, blobs): (Vec<_>, Vec<_>) =
            old.into_iter().partition(|name| name.contains('#'));
        for batch in blobs.chunks(BATCH) {
            left_over.extend(records.files().unowned_blobs(batch).await?);
        }
        let root = self.root.clone();
        left_over.extend(staged);
        Ok(blocking(move || {
            for name in &left_over {
                let path = root.join(name);
                fs::remove_file(&path).map_err(disk(&path))?;
            }
            Ok(left_over.len())
        })
        .await?)
    }
}

/// Why a sweep ended early.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The disk failed.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// The database failed.
    #[error(transparent)]
    Records(#[from] RecordsError),
}

/// The files below `root` older than `before`, as `<folder>/<file>`.
fn old_files(root: &Path, before: SystemTime) -> Result<Vec<String>, FilesError> {
    let mut found = Vec::new();
    for folder in fs::read_dir(root).map_err(disk(root))? {
        let folder = folder.map_err(disk(root))?.path();
        if !folder.is_dir() {
            continue;
        }
        for file in fs::read_dir(&folder).map_err(disk(&folder))? {
            let file = file.map_err(disk(&folder))?;
            let modified = file.metadata().and_then(|file| file.modified());
            // A file that was removed meanwhile is skipped.
            if modified.is_ok_and(|modified| modified < before)
                && let (Some(folder), Some(name)) = (
                    folder.file_name().and_then(|name| name.to_str()),
                    file.file_name().to_str(),
                )
            {
                found.push(format!("{folder}/{name}"));
            }
        }
    }
    Ok(found)
}
