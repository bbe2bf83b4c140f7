//! The janitor compares the stored bytes with the records and removes what nothing refers to.
//!
//! It never judges by the age of a file. A blob is recorded before its first byte and belongs to that record until a
//! commit gives it to a file, so bytes without either are left-overs, whichever process stored them.

use futures_util::TryStreamExt as _;
use jiff::{SignedDuration, Timestamp};

use super::bucket::Bucket;
use super::error::FilesError;
use super::folder::{Folder, blob_of};
use super::{Backend, FileStore};
use crate::service::causes::chain;
use crate::service::records::{Awaited, FileId, Records, RecordsError};

/// Blobs in one query.
const BATCH: usize = 500;

/// Longer than a URL works, for reading or for sending.
const URL_GRACE: SignedDuration = SignedDuration::from_hours(24);

/// How long the files of an incomplete upload are kept, and those of one whose analysis failed, which may be repeated.
const UPLOAD_LIFETIME: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Why the janitor ended early.
#[derive(Debug, thiserror::Error)]
pub enum JanitorError {
    #[error(transparent)]
    Files(#[from] FilesError),
    #[error(transparent)]
    Records(#[from] RecordsError),
}

impl Backend {
    /// Time between the moment when nothing refers to a blob any more and its removal.
    fn grace(&self) -> SignedDuration {
        match self {
            // A reader has the file open, so it can be removed at once.
            Backend::Folder(_) => SignedDuration::ZERO,
            // A reader has a URL, which stays valid for some hours.
            Backend::Bucket(_) => URL_GRACE,
        }
    }
}

impl FileStore {
    /// Removes what nothing refers to; returns the number of removed files.
    ///
    /// # Errors
    /// If the store or the database fails. The rest is removed next time.
    pub async fn clean(&self, records: &Records, now: Timestamp) -> Result<usize, JanitorError> {
        let given_up = records.blobs().give_up_expired(now).await?;
        if given_up > 0 {
            tracing::info!(blobs = given_up, "uploads that never ended are given up");
        }
        let removed = match &self.backend {
            Backend::Folder(folder) => clean_folder(folder, records, now).await?,
            Backend::Bucket(bucket) => clean_bucket(bucket, records, now).await?,
        };
        Ok(removed + self.remove_strays(records, now).await?)
    }

    /// Removes the strays whose grace has ended.
    async fn remove_strays(
        &self,
        records: &Records,
        now: Timestamp,
    ) -> Result<usize, JanitorError> {
        let until = now - self.backend.grace();
        let (mut removed, mut failed) = (0, 0);
        loop {
            let strays = records.blobs().strays(until, BATCH, failed).await?;
            if strays.is_empty() {
                return Ok(removed);
            }
            let mut gone = Vec::with_capacity(strays.len());
            for blob in strays {
                let removal = match &self.backend {
                    Backend::Folder(folder) => folder.remove(&blob).await,
                    Backend::Bucket(bucket) => bucket.remove(&blob).await,
                };
                match removal {
                    Ok(()) => gone.push(blob),
                    Err(error) if error.is_temporary() => return Err(error.into()),
                    Err(error) => {
                        failed += 1;
                        skip(&blob, &error);
                    }
                }
            }
            records.blobs().forget_strays(&gone).await?;
            removed += gone.len();
        }
    }
}

/// Logs a file that cannot be removed. The others are removed all the same.
fn skip(name: &str, error: &FilesError) {
    tracing::warn!(file = name, error = %chain(error), "a file without an owner could not be removed");
}

/// Notes those of the stored blobs that nothing refers to.
async fn note_strays(
    records: &Records,
    blobs: &[String],
    now: Timestamp,
) -> Result<(), RecordsError> {
    let strays = records.blobs().unowned(blobs).await?;
    records.blobs().note_strays(&strays, now).await
}

async fn clean_folder(
    folder: &Folder,
    records: &Records,
    now: Timestamp,
) -> Result<usize, JanitorError> {
    let (blobs, unfinished): (Vec<_>, Vec<_>) = folder
        .names()
        .await?
        .into_iter()
        .partition(|name| blob_of(name) == name);
    for blobs in blobs.chunks(BATCH) {
        note_strays(records, blobs, now).await?;
    }
    let mut removed = 0;
    for name in unfinished {
        let blob = blob_of(&name).to_owned();
        if !records.blobs().unowned(&[blob]).await?.is_empty() {
            match folder.remove(&name).await {
                Ok(()) => removed += 1,
                Err(error) => skip(&name, &error),
            }
        }
    }
    Ok(removed)
}

async fn clean_bucket(
    bucket: &Bucket,
    records: &Records,
    now: Timestamp,
) -> Result<usize, JanitorError> {
    let mut blobs = bucket.blobs().try_chunks(BATCH);
    while let Some(blobs) = blobs.try_next().await.map_err(|error| error.1)? {
        note_strays(records, &blobs, now).await?;
    }
    let mut removed = 0;
    let mut incoming = bucket.incoming().try_chunks(BATCH);
    while let Some(objects) = incoming.try_next().await.map_err(|error| error.1)? {
        let files: Vec<FileId> = objects.iter().map(|object| object.file).collect();
        let awaited = records.incoming().awaited(&files).await?;
        for object in objects {
            let lifetime = match awaited.get(&object.file) {
                Some(Awaited::Frozen) => continue,
                Some(Awaited::Open | Awaited::Refused) => UPLOAD_LIFETIME,
                None => URL_GRACE,
            };
            if object.stored_at < now - lifetime {
                match bucket.remove_incoming(&object).await {
                    Ok(()) => removed += 1,
                    Err(error) if error.is_temporary() => return Err(error.into()),
                    Err(error) => skip(&object.key, &error),
                }
            }
        }
    }
    records.incoming().forget_deleted().await?;
    // Some storages cannot list unfinished uploads. A lifecycle rule removes them there.
    match bucket.abort_unfinished(now).await {
        Ok(aborted) => removed += aborted,
        Err(error) => {
            tracing::warn!(error = %chain(&error), "unfinished uploads could not be removed")
        }
    }
    Ok(removed)
}

/// What tests see of a bucket.
#[cfg(test)]
impl FileStore {
    fn bucket(&self) -> &Bucket {
        self.backend.bucket().expect("a bucket")
    }

    pub async fn blobs(&self) -> std::collections::BTreeSet<String> {
        self.bucket().blobs().try_collect().await.unwrap()
    }

    /// The folders that clients sent files to.
    pub async fn sent_folders(&self) -> std::collections::BTreeSet<String> {
        let objects: Vec<_> = self.bucket().incoming().try_collect().await.unwrap();
        let folder =
            |key: &str| key[key.find("/in/").unwrap() + 1..=key.rfind('/').unwrap()].to_owned();
        objects.iter().map(|object| folder(&object.key)).collect()
    }

    /// Begins an upload in parts and never ends it.
    pub async fn begin_and_forget_upload(&self) {
        use object_store::{MultipartUpload as _, ObjectStoreExt as _};
        let bucket = self.bucket();
        let key = bucket.blob_key("ab/unfinished");
        let mut upload = bucket.store.put_multipart(&key.into()).await.unwrap();
        let part = vec![0; super::bucket::PART_BYTES];
        upload.put_part(part.into()).await.unwrap();
    }
}
