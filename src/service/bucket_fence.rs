//! Which copy of the records holds the bucket. Only the holder removes files from it.
//!
//! A restored backup has the id of its original and names fewer files. If it ran beside the original, it would remove the
//! newer files. So the bucket has an epoch that names the database of its holder. Each start and each round of the
//! janitor replaces the epoch by a new one. Another database, or one that does not know the epoch (a backup that was
//! restored in its place, a primary server that comes back after a failover), has no hold until the operator takes the
//! bucket over with `--adopt-files`.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use super::files::owner::Epoch;
use super::files::{FileStore, FilesError};
use super::records::{Records, RecordsError};

/// Why the holder of the bucket is unknown.
#[derive(Debug, thiserror::Error)]
pub enum FenceError {
    #[error(transparent)]
    Files(#[from] FilesError),
    #[error(transparent)]
    Records(#[from] RecordsError),
}

#[derive(Debug)]
pub struct BucketFence {
    /// `None` also for files in a folder, which belong to the process that has locked it.
    database: Option<String>,
    is_lost: AtomicBool,
}

impl BucketFence {
    /// Does not access the bucket yet. `file` is the file of the records if they are in SQLite.
    pub async fn new(records: &Records, file: &Path) -> BucketFence {
        BucketFence {
            database: records.epochs().database(file).await,
            is_lost: AtomicBool::new(false),
        }
    }

    /// Whether these records hold the bucket. A bucket without an epoch is held by its owner.
    pub async fn is_ours(&self, files: &FileStore, records: &Records) -> Result<bool, FenceError> {
        match files.epoch().await? {
            Some(found) => self.knows(records, &found).await,
            None => Ok(true),
        }
    }

    async fn knows(&self, records: &Records, found: &Epoch) -> Result<bool, FenceError> {
        let is_other = matches!((&found.database, &self.database), (Some(a), Some(b)) if a != b);
        Ok(!is_other && records.epochs().is_known(&found.epoch).await?)
    }

    /// Writes a new epoch; returns false, and writes nothing, if other records hold the bucket.
    pub async fn renew(&self, files: &FileStore, records: &Records) -> Result<bool, FenceError> {
        let found = files.epoch().await?;
        let is_ours = match &found {
            Some(found) => self.knows(records, found).await?,
            None => true,
        };
        if is_ours {
            self.begin(files, records, found.as_ref()).await?;
        }
        self.is_lost.store(!is_ours, Ordering::Relaxed);
        Ok(is_ours)
    }

    /// Takes the bucket over. Nothing is removed from it for a day.
    pub async fn adopt(&self, files: &FileStore, records: &Records) -> Result<(), FenceError> {
        records.epochs().adopted().await?;
        self.begin(files, records, None).await
    }

    async fn begin(
        &self,
        files: &FileStore,
        records: &Records,
        found: Option<&Epoch>,
    ) -> Result<(), FenceError> {
        let kept = found.map(|found| found.epoch.as_str());
        let epoch = Epoch {
            epoch: records.epochs().begin(kept).await?,
            database: self.database.clone(),
        };
        Ok(files.set_epoch(&epoch).await?)
    }

    /// Whether the last round of the janitor found that other records hold the bucket.
    pub fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }
}
