//! Removes what has no owner: staged uploads that broke off, blobs that no file has.
//!
//! Only what is old is looked at. A blob gets its file within moments of its last byte; one that has none
//! after an hour never gets one, so nothing that is under way is touched, whoever works on it.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::{FileStore, FilesError, blocking, disk};
use crate::service::records::{Records, RecordsError};

/// What is younger may still get its owner.
const YOUNG: Duration = Duration::from_secs(3_600);

/// Blobs that are looked up at once.
const BATCH: usize = 500;

impl FileStore {
    /// Removes what had no owner an hour before `now`; returns how many files there were.
    ///
    /// # Errors
    /// When the disk or the database fails; what was not reached stays for the next time.
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

/// The files below `root` from before `before`, as `<folder>/<file>`.
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
            // One that is gone meanwhile needs no sweeping.
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
