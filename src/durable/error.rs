//! The error of this layer. Every variant names its file or folder and, if the user has to act, says what
//! to do. The cause is kept as the source.

use std::io;
use std::path::{Path, PathBuf};

use crate::disk_room::is_disk_full;

#[derive(Debug, thiserror::Error)]
pub enum DurableError {
    #[error("could not {doing} {}", path.display())]
    Io {
        /// A verb phrase such as `write` or `open the lock`.
        doing: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The path is a symbolic link or not a folder.
    #[error("{} is not a folder (symbolic links are not followed here); move it away or choose another path", path.display())]
    NotAFolder { path: PathBuf },
    /// The folder belongs to another user, who could read or change its content.
    #[error("{} belongs to user {owner}, but this process runs as user {user}; choose another folder", path.display())]
    WrongOwner {
        path: PathBuf,
        owner: u32,
        /// The effective uid of this process.
        user: u32,
    },
    #[error("{} is in use by {}; stop it (a drive: unmount it), then try again", path.display(), holder(*pid))]
    Locked {
        path: PathBuf,
        /// The holder, if the lock file contains its pid.
        pid: Option<u32>,
    },
    /// The file does not start with the header of this log.
    #[error("{} is not a log of the expected kind; move it away to start a new one", path.display())]
    NotALog { path: PathBuf },
    /// The log was written by a version of the program that this version does not know.
    #[error("{} has log format {found}, this program reads format {known}; use the version that wrote it", path.display())]
    LogVersion {
        path: PathBuf,
        found: u32,
        known: u32,
    },
    /// A damaged record is followed by good ones, so it is not a torn tail.
    #[error(
        "{} is damaged at byte {offset}, and good records follow from byte {next_good}; nothing was changed: \
         restore the file from a copy",
        path.display()
    )]
    LogDamaged {
        path: PathBuf,
        offset: u64,
        next_good: u64,
    },
    /// A record exceeds the maximum size of the format.
    #[error("a record of {len} bytes is too large for the log {}", path.display())]
    RecordTooLarge {
        path: PathBuf,
        /// In bytes.
        len: usize,
    },
    #[error(
        "{} is not empty and does not belong to assetfs, or all users share it; it was not changed. Name another folder, such as {}",
        .0.display(), .0.join("assetfs").display()
    )]
    Foreign(PathBuf),
    #[error("the store {} failed", path.display())]
    Store {
        path: PathBuf,
        #[source]
        source: Box<redb::Error>,
    },
    /// A stored value is damaged or has another type.
    #[error("the store {} contains a value that cannot be read: {table}/{key}", path.display())]
    StoredValue {
        path: PathBuf,
        table: String,
        key: String,
        /// `None` if the checksum is wrong.
        #[source]
        source: Option<serde_json::Error>,
    },
}

impl DurableError {
    /// Wraps an I/O error with the operation and its file.
    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> DurableError {
        let path = path.to_path_buf();
        move |source| DurableError::Io {
            doing,
            path,
            source,
        }
    }

    /// The underlying I/O error, if there is one.
    pub fn io_error(&self) -> Option<&io::Error> {
        match self {
            DurableError::Io { source, .. } => Some(source),
            DurableError::Store { source, .. } => match source.as_ref() {
                redb::Error::Io(error) => Some(error),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether the disk or the user's quota is full.
    pub fn is_disk_full(&self) -> bool {
        self.io_error().is_some_and(|error| is_disk_full(error))
    }
}

fn holder(pid: Option<u32>) -> String {
    match pid {
        Some(pid) => format!("process {pid}"),
        None => "another process".to_owned(),
    }
}
