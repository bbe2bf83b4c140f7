//! The one error of the layer. Every variant names the file or folder it is about and, where a
//! person has to act, what to do; the cause below it is kept as the source.

use std::io;
use std::path::{Path, PathBuf};

/// What can go wrong between us and the local disk.
#[derive(Debug, thiserror::Error)]
pub enum DurableError {
    /// A file operation failed.
    #[error("could not {doing} {}", path.display())]
    Io {
        /// What was tried, as a verb phrase: `write`, `open the folder of`.
        doing: &'static str,
        /// The file or folder it was tried on.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The folder exists but is a symbolic link or something other than a folder.
    #[error("{} is not a folder (a symbolic link is not followed here); move it away or choose another place", path.display())]
    NotAFolder {
        /// The path that was to be a folder.
        path: PathBuf,
    },
    /// The folder belongs to somebody else, who could read or change what is kept there.
    #[error("{} belongs to user {owner}, not to the user {user} of this process; choose another folder", path.display())]
    WrongOwner {
        /// The folder.
        path: PathBuf,
        /// The uid it belongs to.
        owner: u32,
        /// Our effective uid.
        user: u32,
    },
    /// Another process holds the lock on the folder.
    #[error("{} is in use by {}; unmount that drive or end that process, then try again", path.display(), holder(*pid))]
    Locked {
        /// The folder.
        path: PathBuf,
        /// Who has it, where the lock file tells.
        pid: Option<u32>,
    },
    /// The file does not start as one of our logs does.
    #[error("{} is not a log of the expected kind; move it away to start a new one", path.display())]
    NotALog {
        /// The file.
        path: PathBuf,
    },
    /// The log was written by a version of the program that this one does not know.
    #[error("{} has log format {found}, this program reads format {known}; use the version that wrote it", path.display())]
    LogVersion {
        /// The file.
        path: PathBuf,
        /// The version in its header.
        found: u32,
        /// The version that we read.
        known: u32,
    },
    /// A record in the middle is damaged while good records follow it, so it is no torn tail.
    #[error(
        "{} is damaged at byte {offset}, and good records follow from byte {next_good}; nothing was changed: \
         restore the file from a copy",
        path.display()
    )]
    LogDamaged {
        /// The file.
        path: PathBuf,
        /// Where the damaged record starts.
        offset: u64,
        /// Where the next good one starts.
        next_good: u64,
    },
    /// A record is larger than the format can hold.
    #[error("a record of {len} bytes is too large for the log {}", path.display())]
    RecordTooLarge {
        /// The log.
        path: PathBuf,
        /// Its length in bytes.
        len: usize,
    },
    /// The metadata store failed.
    #[error("the store {} failed", path.display())]
    Store {
        /// The store's file.
        path: PathBuf,
        /// What the database said.
        #[source]
        source: Box<redb::Error>,
    },
    /// A stored value cannot be read as the type asked for, or is damaged.
    #[error("the store {} holds a value that cannot be read: {table}/{key}", path.display())]
    StoredValue {
        /// The store's file.
        path: PathBuf,
        /// The table.
        table: String,
        /// The key.
        key: String,
        /// What the decoder said; none when the checksum was wrong.
        #[source]
        source: Option<serde_json::Error>,
    },
}

impl DurableError {
    /// Wraps a system error with what was done to which file.
    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> DurableError {
        let path = path.to_path_buf();
        move |source| DurableError::Io {
            doing,
            path,
            source,
        }
    }

    /// The system error below, where there is one.
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

    /// Whether the disk, or the user's share of it, is full.
    pub fn is_disk_full(&self) -> bool {
        self.io_error().is_some_and(|error| {
            matches!(
                error.kind(),
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
            )
        })
    }
}

fn holder(pid: Option<u32>) -> String {
    match pid {
        Some(pid) => format!("process {pid}"),
        None => "another process".to_owned(),
    }
}
