//! Errors of reading remote files. `Clone`, because one fetch may fail for several readers.

use std::time::Duration;

use crate::client::ClientError;
use crate::drive::error::DriveError;

/// A failed read.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ReadError {
    /// The content on the service differs from the one that was opened.
    #[error(
        "{} changed on the service while it was open; open it again to read the new content",
        file_name(.name)
    )]
    Stale { name: String },
    /// No data arrived within the deadline.
    #[error(
        "{}: the service sent no data for {} s; read it again",
        file_name(.name),
        .after.as_secs()
    )]
    TimedOut { name: String, after: Duration },
    /// The transfer failed after retries.
    #[error(transparent)]
    Transfer(#[from] ClientError),
    /// No signed URL was available.
    #[error(transparent)]
    NoUrl(DriveError),
    /// The fetch was aborted because the mount ends.
    #[error("{}: the fetch was stopped", file_name(.name))]
    Stopped { name: String },
}

impl From<ReadError> for DriveError {
    fn from(error: ReadError) -> DriveError {
        let why = error.to_string();
        match error {
            ReadError::Stale { .. } => DriveError::Stale(why),
            ReadError::TimedOut { .. } => DriveError::TimedOut(why),
            ReadError::Transfer(error) => error.into(),
            ReadError::NoUrl(error) => error,
            ReadError::Stopped { .. } => DriveError::Unreachable(why),
        }
    }
}

/// The file name of an object: its name in the cache starts with internal ids.
fn file_name(object: &str) -> &str {
    object.rsplit('/').next().unwrap_or(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_name_the_file_and_not_where_the_cache_has_it() {
        let error = ReadError::Stale {
            name: "raw/112/files/chair.bin".into(),
        };
        let said = error.to_string();
        assert!(
            said.starts_with("chair.bin changed on the service"),
            "{said}"
        );
    }
}
