//! Why bytes could not be stored or read, and blocking work that fails so.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::task::spawn_blocking;

use super::bucket::error::BucketError;
use crate::disk_room::{disk_error, is_disk_full};
use crate::durable::DurableError;

/// Timeout of an upload that sends nothing.
pub(super) const SILENCE: Duration = Duration::from_secs(60);

/// How long a client waits for what the storage has received.
pub(super) const ARRIVED_TIME: Duration = Duration::from_secs(10);

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
    Durable(#[from] DurableError),
    #[error(transparent)]
    Bucket(#[from] BucketError),
    #[error("the file {blob} arrives damaged from the storage, again and again")]
    Damaged { blob: String },
    #[error(
        "the object `epoch` of the bucket cannot be read; restore it from a backup of the bucket"
    )]
    Epoch,
    #[error("the storage did not answer within {} seconds", ARRIVED_TIME.as_secs())]
    Late,
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

impl FilesError {
    /// Whether the storage did not answer or is overloaded, so that the same may succeed later.
    pub fn is_temporary(&self) -> bool {
        match self {
            // The library has repeated the request for as long as that may help.
            FilesError::Store(object_store::Error::Generic { store, .. }) => *store == "S3",
            FilesError::Bucket(error) => error.is_temporary(),
            FilesError::Late => true,
            _ => false,
        }
    }

    /// Whether the store is full.
    pub fn is_full(&self) -> bool {
        matches!(self, FilesError::Bucket(BucketError::Full { .. })) || is_disk_full(self)
    }

    /// Whether the store does not have the bytes.
    pub fn is_gone(&self) -> bool {
        matches!(
            self,
            FilesError::Store(object_store::Error::NotFound { .. })
        ) || disk_error(self).is_some_and(|error| error.kind() == std::io::ErrorKind::NotFound)
    }
}

pub(super) fn disk(path: &Path) -> impl FnOnce(std::io::Error) -> FilesError + '_ {
    |source| FilesError::Disk {
        path: path.to_owned(),
        source,
    }
}

/// Runs blocking work. Fails only if the runtime shuts down.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, FilesError> + Send + 'static,
) -> Result<T, FilesError> {
    // A panic is a bug, which the panic hook reports.
    spawn_blocking(work)
        .await
        .map_err(|_| FilesError::Stopping)?
}
