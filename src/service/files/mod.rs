//! The bytes of files: stored once under a key, read in ranges, removed when no record refers to them.
//!
//! A blob is complete and durable before its upload returns, and it never changes. Bytes are streamed in parts, so
//! memory is bounded. `records` knows which file has which blob. The key of a blob is recorded before the first byte
//! is stored ([`FreshBlob`]), so that the janitor can tell an upload that is under way from a left-over.

mod bucket;
mod digest;
mod error;
mod folder;
mod janitor;
pub mod owner;
mod parts;
mod stream;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use object_store::path::Path as Key;
use object_store::{GetOptions, GetRange, GetResultPayload, ObjectStore, ObjectStoreExt as _};
use tokio::time::timeout;

use super::records::{Arrived, FileId, FreshBlob, Stored};
use crate::service::causes::chain;
use crate::wire::{AssetId, SignedUrl};
use bucket::Bucket;
use digest::Digest;
use error::{ARRIVED_TIME, disk};
use folder::Folder;
use parts::{Parts, send_parts};

pub use bucket::BucketConfig;
pub use bucket::error::BucketError;
pub use bucket::incoming::TakenIn;
pub use error::FilesError;
pub use stream::ByteStream;

/// The blob store.
#[derive(Debug, Clone)]
pub struct FileStore {
    backend: Backend,
}

#[derive(Debug, Clone)]
enum Backend {
    Folder(Folder),
    Bucket(Arc<Bucket>),
}

fn make_folder_of(target: &Path) -> Result<(), FilesError> {
    match target.parent() {
        Some(folder) => std::fs::create_dir_all(folder).map_err(disk(folder)),
        None => Ok(()),
    }
}

impl Backend {
    fn bucket(&self) -> Option<&Bucket> {
        match self {
            Backend::Folder(_) => None,
            Backend::Bucket(bucket) => Some(bucket),
        }
    }

    fn store(&self) -> &dyn ObjectStore {
        match self {
            Backend::Folder(folder) => folder.store.as_ref(),
            Backend::Bucket(bucket) => &bucket.store,
        }
    }

    /// The key of a blob in the store.
    fn key(&self, blob: &str) -> Key {
        match self {
            Backend::Folder(_) => Key::from(blob),
            Backend::Bucket(bucket) => Key::from(bucket.blob_key(blob)),
        }
    }

    /// The size of the parts of an upload.
    fn part_bytes(&self) -> usize {
        match self {
            Backend::Folder(_) => folder::PART_BYTES,
            Backend::Bucket(_) => bucket::PART_BYTES,
        }
    }
}

impl FileStore {
    /// Opens the store in a folder. Creates the folder if it is missing.
    ///
    /// # Errors
    /// If the folder cannot be created.
    pub fn in_folder(root: &Path) -> Result<FileStore, FilesError> {
        let backend = Backend::Folder(Folder::open(root)?);
        Ok(FileStore { backend })
    }

    /// Opens the store in a bucket. Checks that it can be used.
    ///
    /// # Errors
    /// With what to do, if the bucket cannot be used.
    pub async fn in_bucket(config: &BucketConfig) -> Result<FileStore, BucketError> {
        let backend = Backend::Bucket(Arc::new(Bucket::open(config).await?));
        Ok(FileStore { backend })
    }

    /// What to set at the bucket so that pages of `origin` can send and read files.
    pub async fn check_cors(&self, origin: &str) -> Option<String> {
        self.backend.bucket()?.check_cors(origin).await
    }

    /// The origin of the storage, if clients send files to it and read them from it.
    pub fn direct_origin(&self) -> Option<&str> {
        Some(self.backend.bucket()?.public_origin())
    }

    /// A URL of the storage that reads a blob, if clients read from it.
    pub fn download_url(
        &self,
        blob: &str,
        name: &str,
        media_type: &str,
        lifetime: Duration,
    ) -> Option<SignedUrl> {
        let bucket = self.backend.bucket()?;
        Some(bucket.download_url(blob, name, media_type, lifetime))
    }

    /// A URL of the storage that takes the bytes of a file, if clients send to it.
    pub fn upload_url(
        &self,
        asset: AssetId,
        file: FileId,
        lifetime: Duration,
    ) -> Option<SignedUrl> {
        Some(self.backend.bucket()?.upload_url(asset, file, lifetime))
    }

    /// The files that clients have sent to the storage for an asset; `None` if clients do not send to it.
    ///
    /// # Errors
    /// When the storage fails.
    pub async fn arrived(&self, asset: AssetId) -> Result<Option<Vec<Arrived>>, FilesError> {
        let Some(bucket) = self.backend.bucket() else {
            return Ok(None);
        };
        let arrived = timeout(ARRIVED_TIME, bucket.arrived(asset)).await;
        Ok(Some(arrived.map_err(|_| FilesError::Late)??))
    }

    /// Copies a file that a client has sent to a blob, if it is still the frozen version, and puts it at `target`.
    ///
    /// # Errors
    /// When the storage or the disk fails.
    pub async fn take_in(
        &self,
        blob: &FreshBlob,
        asset: AssetId,
        frozen: &Arrived,
        target: PathBuf,
    ) -> Result<TakenIn, FilesError> {
        make_folder_of(&target)?;
        match &self.backend {
            // The storage was a bucket before.
            Backend::Folder(_) => Ok(TakenIn::Gone),
            Backend::Bucket(bucket) => bucket.take_in(blob, asset, frozen, target).await,
        }
    }

    /// Asks the store once whether it answers; a failure is not repeated.
    ///
    /// # Errors
    /// If the folder is gone, its disk is full or read-only, or the bucket cannot be used now.
    pub async fn check(&self) -> Result<(), FilesError> {
        match &self.backend {
            Backend::Folder(folder) => folder.check().await,
            Backend::Bucket(bucket) => Ok(bucket.check().await?),
        }
    }

    /// Checks with one request, without retries, whether the store can be written.
    ///
    /// # Errors
    /// If the disk of the folder is full or read-only, or the bucket cannot be used or takes no object.
    pub async fn check_writes(&self) -> Result<(), FilesError> {
        match &self.backend {
            Backend::Folder(folder) => folder.check().await,
            Backend::Bucket(bucket) => {
                bucket.check().await?;
                Ok(bucket.check_writes().await?)
            }
        }
    }

    /// Stores a body of at most `limit` bytes. An aborted upload leaves nothing behind.
    ///
    /// # Errors
    /// When the store or the sender fails.
    pub async fn receive<E: std::fmt::Display>(
        &self,
        blob: &FreshBlob,
        body: impl Stream<Item = Result<Bytes, E>>,
        limit: u64,
    ) -> Result<Stored, FilesError> {
        let store = self.backend.store();
        let key = self.backend.key(blob.key());
        let mut parts = Parts {
            body: std::pin::pin!(body),
            part_bytes: self.backend.part_bytes(),
            limit,
            size: 0,
        };
        let (first, ended) = parts.next().await?;
        if ended {
            let mut digest = Digest::default();
            digest.update(&first);
            store.put(&key, first.into()).await?;
            return Ok(digest.stored(blob.key()));
        }
        let mut upload = store.put_multipart(&key).await?;
        match send_parts(upload.as_mut(), first, parts).await {
            Ok(digest) => {
                upload.complete().await?;
                Ok(digest.stored(blob.key()))
            }
            Err(error) => {
                // The first error is reported; the janitor removes what is left over.
                let _ = upload.abort().await;
                Err(error)
            }
        }
    }

    /// Stores a few bytes, without a sync in a folder: for sample records only.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn keep(&self, blob: &FreshBlob, bytes: &'static [u8]) -> Result<Stored, FilesError> {
        match &self.backend {
            Backend::Folder(folder) => folder.keep(blob.key(), bytes)?,
            Backend::Bucket(_) => {
                let key = self.backend.key(blob.key());
                let bytes = Bytes::from_static(bytes);
                self.backend.store().put(&key, bytes.into()).await?;
            }
        }
        let mut digest = Digest::default();
        digest.update(bytes);
        Ok(digest.stored(blob.key()))
    }

    /// Moves a file that a worker wrote into the store.
    ///
    /// # Errors
    /// When the disk or the store fails.
    pub async fn adopt(&self, blob: &FreshBlob, path: PathBuf) -> Result<Stored, FilesError> {
        match &self.backend {
            Backend::Folder(folder) => folder.adopt(blob.key(), path).await,
            Backend::Bucket(_) => {
                let file = std::fs::File::open(&path).map_err(disk(&path))?;
                let size = file.metadata().map_err(disk(&path))?.len();
                let body = stream::of_file(file, 0..size);
                self.receive(blob, body, u64::MAX).await
            }
        }
    }

    /// Puts a blob at `target`, where a worker can read it. Creates the folders above it.
    ///
    /// # Errors
    /// When the store or the disk fails.
    pub async fn lay_out(&self, stored: &Stored, target: PathBuf) -> Result<(), FilesError> {
        make_folder_of(&target)?;
        match &self.backend {
            Backend::Folder(folder) => folder.lay_out(&stored.blob, target).await,
            Backend::Bucket(bucket) => bucket.lay_out(stored, target).await,
        }
    }

    /// The bytes of `range`, which lies within the blob.
    ///
    /// # Errors
    /// When the store fails or does not have the blob.
    pub async fn read(
        &self,
        blob: &str,
        range: std::ops::Range<u64>,
    ) -> Result<ByteStream, FilesError> {
        if range.is_empty() {
            return Ok(stream::nothing());
        }
        let options = GetOptions {
            range: Some(GetRange::Bounded(range.clone())),
            ..GetOptions::default()
        };
        let key = self.backend.key(blob);
        let found = self.backend.store().get_opts(&key, options).await?;
        Ok(match found.payload {
            GetResultPayload::File(file, _) => stream::of_file(file, range),
            GetResultPayload::Stream(parts) => stream::of_store(parts, range.end - range.start),
        })
    }

    /// Removes blobs that no record refers to any more. A failure is logged; the janitor removes the blob later.
    pub async fn remove(&self, blobs: &[String]) {
        // Somebody may be reading a blob of a bucket with a URL. The janitor removes it when no such URL works any more.
        let Backend::Folder(folder) = &self.backend else {
            return;
        };
        for blob in blobs {
            if let Err(error) = folder.remove(blob).await {
                tracing::warn!(error = %chain(&error), blob, "a blob could not be removed");
            }
        }
    }
}
