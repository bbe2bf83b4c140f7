//! Why remote bytes could not be read. Can be cloned, because one fetch may fail for many readers.

use std::time::Duration;

use crate::client::ClientError;
use crate::drive::DriveError;

/// A failed read.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ReadError {
    /// The content on the service is another one than was opened.
    #[error(
        "{name} changed on the service while it was open; open it again to read the new content"
    )]
    Stale {
        /// The object.
        name: String,
    },
    /// Nothing came for the whole deadline.
    #[error("{name}: nothing came from the service within {} s; reading it again tries again", .after.as_secs())]
    TimedOut {
        /// The object.
        name: String,
        /// The deadline.
        after: Duration,
    },
    /// The transfer failed after repair was tried.
    #[error(transparent)]
    Transfer(#[from] ClientError),
    /// No signed URL could be had.
    #[error(transparent)]
    NoUrl(DriveError),
    /// The fetch was given up, because the mount ends.
    #[error("{name}: the fetch was stopped")]
    Stopped {
        /// The object.
        name: String,
    },
}
