//! The bytes of files: stored once under a key, read in ranges, removed when no record refers to them.
//!
//! A blob is complete and on disk before its key is returned, and it never changes. Bytes are streamed in parts, so
//! memory is bounded. `records` knows which file has which blob. A blob without a file (the service died in between)
//! is removed later by the sweep.

mod stream;
mod sweep;

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt as _};
use md5::{Digest as _, Md5};
use object_store::local::LocalFileSystem;
use object_store::path::Path as Key;
use object_store::{
    GetOptions, GetRange, GetResultPayload, MultipartUpload, ObjectStore, ObjectStoreExt as _,
};
use tokio::task::spawn_blocking;

use super::ids::{hex, random_name};
use crate::durable;

pub use stream::ByteStream;

/// Size of a part.
const PART_BYTES: usize = 1 << 20;

/// Timeout of an upload that sends nothing.
const SILENCE: Duration = Duration::from_secs(60);

/// Why bytes could not be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    #[error("the file store failed")]
    Store(#[from] object_store::Error),
    /// The disk failed.
    #[error("{path}: the disk failed", path = path.display())]
    Disk {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("the file store failed")]
    Durable(#[from] durable::DurableError),
    /// The client aborted the upload.
    #[error("the upload was aborted: {0}")]
    BrokeOff(String),
    /// The client sent nothing for too long.
    #[error("no byte was received for {} seconds", SILENCE.as_secs())]
    Silent,
    /// More bytes than allowed.
    #[error("more than {limit} bytes")]
    TooLarge { limit: u64 },
    /// A background task was stopped; the service is going down.
    #[error("the service is stopping")]
    Stopping,
}

/// Bytes that are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    pub blob: String,
    pub size: u64,
    /// MD5, in hexadecimal digits.
    pub md5: String,
    pub crc32: u32,
}

/// Size and checksums, computed while bytes are streamed.
#[derive(Debug, Default)]
struct Digest {
    md5: Md5,
    crc32: crc32fast::Hasher,
}

impl Digest {
    fn update(&mut self, bytes: &[u8]) {
        self.md5.update(bytes);
        self.crc32.update(bytes);
    }

    fn stored(self, key: &Key, size: u64) -> Stored {
        Stored {
            blob: key.to_string(),
            size,
            md5: hex(&self.md5.finalize()),
            crc32: self.crc32.finalize(),
        }
    }
}

/// The blob store.
#[derive(Debug, Clone)]
pub struct FileStore {
    /// A folder. Other stores can replace this type.
    store: Arc<LocalFileSystem>,
    root: Arc<Path>,
}

fn disk(path: &Path) -> impl FnOnce(std::io::Error) -> FilesError + '_ {
    |source| FilesError::Disk {
        path: path.to_owned(),
        source,
    }
}

/// Runs blocking work. Fails only if the runtime shuts down.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, FilesError> + Send + 'static,
) -> Result<T, FilesError> {
    // A panic is a bug, which the panic hook reports.
    spawn_blocking(work)
        .await
        .map_err(|_| FilesError::Stopping)?
}

impl FileStore {
    /// Opens the store in a folder. Creates the folder if it is missing.
    ///
    /// # Errors
    /// If the folder cannot be created.
    pub fn open(root: &Path) -> Result<FileStore, FilesError> {
        std::fs::create_dir_all(root).map_err(disk(root))?;
        let store = LocalFileSystem::new_with_prefix(root)?.with_fsync(true);
        Ok(FileStore {
            store: Arc::new(store),
            root: Arc::from(root),
        })
    }

    /// Stores a body of at most `limit` bytes. An aborted upload leaves nothing behind.
    ///
    /// # Errors
    /// When the store or the sender fails.
    pub async fn receive<E: std::fmt::Display>(
        &self,
        body: impl Stream<Item = Result<Bytes, E>>,
        limit: u64,
    ) -> Result<Stored, FilesError> {
        let key = new_key();
        let mut upload = self.store.put_multipart(&key).await?;
        match self.fill(upload.as_mut(), body, limit).await {
            Ok((size, digest)) => {
                upload.complete().await?;
                Ok(digest.stored(&key, size))
            }
            Err(error) => {
                // The first error is reported; the sweep removes what is left over.
                let _ = upload.abort().await;
                Err(error)
            }
        }
    }

    async fn fill<E: std::fmt::Display>(
        &self,
        upload: &mut dyn MultipartUpload,
        body: impl Stream<Item = Result<Bytes, E>>,
        limit: u64,
    ) -> Result<(u64, Digest), FilesError> {
        let mut body = std::pin::pin!(body);
        let mut hash = Digest::default();
        let mut size = 0_u64;
        let mut part = BytesMut::with_capacity(PART_BYTES);
        loop {
            let next = tokio::time::timeout(SILENCE, body.next());
            // The timeout error carries no details.
            let next = next.await.map_err(|_| FilesError::Silent)?;
            let ended = next.is_none();
            if let Some(chunk) = next {
                let chunk = chunk.map_err(|error| FilesError::BrokeOff(error.to_string()))?;
                size += chunk.len() as u64;
                if size > limit {
                    return Err(FilesError::TooLarge { limit });
                }
                part.extend_from_slice(&chunk);
            }
            if part.len() >= PART_BYTES || (ended && !part.is_empty()) {
                let full = std::mem::replace(&mut part, BytesMut::with_capacity(PART_BYTES));
                let full = full.freeze();
                let writing = upload.put_part(full.clone().into());
                let hashing = blocking(move || {
                    hash.update(&full);
                    Ok(hash)
                });
                let (written, hashed) = tokio::join!(writing, hashing);
                written?;
                hash = hashed?;
            }
            if ended {
                return Ok((size, hash));
            }
        }
    }

    /// Stores a few bytes without a sync: for sample records only.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn keep(&self, bytes: &[u8]) -> Result<Stored, FilesError> {
        let key = new_key();
        let path = self.store.path_to_filesystem(&key)?;
        let folder = path.parent().expect("a key lies below the root");
        std::fs::create_dir_all(folder).map_err(disk(folder))?;
        std::fs::write(&path, bytes).map_err(disk(&path))?;
        let mut digest = Digest::default();
        digest.update(bytes);
        Ok(digest.stored(&key, bytes.len() as u64))
    }

    /// Moves a file that a worker wrote into the store.
    ///
    /// # Errors
    /// When the disk fails.
    pub async fn adopt(&self, path: PathBuf) -> Result<Stored, FilesError> {
        let key = new_key();
        let target = self.store.path_to_filesystem(&key)?;
        blocking(move || {
            let mut file = std::fs::File::open(&path).map_err(disk(&path))?;
            let mut hash = Digest::default();
            let mut size = 0;
            let mut buffer = vec![0; PART_BYTES];
            loop {
                let len = file.read(&mut buffer).map_err(disk(&path))?;
                if len == 0 {
                    break;
                }
                hash.update(&buffer[..len]);
                size += len as u64;
            }
            // The sweep judges by this time, so the file must not look old.
            file.set_modified(SystemTime::now()).map_err(disk(&path))?;
            file.sync_all().map_err(disk(&path))?;
            let folder = target.parent().expect("a key lies below the root");
            if !folder.is_dir() {
                std::fs::create_dir_all(folder).map_err(disk(folder))?;
                durable::sync_dir(
                    folder
                        .parent()
                        .expect("a folder of keys lies below the root"),
                )?;
            }
            std::fs::rename(&path, &target).map_err(disk(&target))?;
            durable::sync_dir(folder)?;
            Ok(hash.stored(&key, size))
        })
        .await
    }

    /// Puts a blob at `target`, where a worker can read it.
    ///
    /// # Errors
    /// When the store or the disk fails.
    pub async fn lay_out(&self, blob: &str, target: PathBuf) -> Result<(), FilesError> {
        let source = self.store.path_to_filesystem(&Key::from(blob))?;
        blocking(move || {
            if let Some(folder) = target.parent() {
                std::fs::create_dir_all(folder).map_err(disk(folder))?;
            }
            // A hard link costs nothing. It fails across file systems; then the file is copied.
            if std::fs::hard_link(&source, &target).is_err() {
                std::fs::copy(&source, &target).map_err(disk(&target))?;
            }
            Ok(())
        })
        .await
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
        let found = self.store.get_opts(&Key::from(blob), options).await?;
        Ok(match found.payload {
            GetResultPayload::File(file, _) => stream::of_file(file, range),
            GetResultPayload::Stream(parts) => stream::of_store(parts),
        })
    }

    /// Removes blobs. A failure is logged; the sweep removes the blob later.
    pub async fn remove(&self, blobs: &[String]) {
        for blob in blobs {
            if let Err(error) = self.store.delete(&Key::from(blob.as_str())).await {
                tracing::warn!(%error, blob, "a blob could not be removed");
            }
        }
    }
}

/// A new key; the first two digits spread the blobs over folders.
fn new_key() -> Key {
    let name = random_name();
    Key::from(format!("{}/{name}", &name[..2]))
}
