//! The errors of the outbox, by cause. `Display` is the message for the user (what failed, why, what to do). The
//! caller maps the variant to an errno.

use std::io;
use std::path::Path;

use thiserror::Error;

use crate::client::{ClientError, without_error_numbers};
use crate::durable::DurableError;

#[derive(Debug, Error)]
pub enum OutboxError {
    /// There is no such draft, entry, job or attribute.
    #[error("{0} does not exist")]
    NotFound(String),
    /// The name is taken.
    #[error("{0} exists already")]
    Exists(String),
    /// A folder was needed.
    #[error("{0} is not a folder")]
    NotAFolder(String),
    /// A file was needed.
    #[error("{0} is a folder")]
    IsAFolder(String),
    /// The folder still has entries.
    #[error("the folder {0} is not empty")]
    NotEmpty(String),
    /// A folder cannot be moved into itself.
    #[error("{0} cannot be moved into itself")]
    IntoItself(String),
    /// The name cannot be used for a file.
    #[error("{name:?} cannot be a name: {reason}")]
    BadName {
        /// The name asked for.
        name: String,
        reason: &'static str,
    },
    /// The name is longer than 255 bytes.
    #[error("the name is longer than 255 bytes")]
    NameTooLong,
    /// Something that must not be made, such as a trash folder.
    #[error("{0}")]
    NotPermitted(String),
    /// The service has accepted the upload, so the draft cannot change.
    #[error(
        "{0} is uploaded or on its way, and the service cannot change or add files of a model; copy the model in under another name"
    )]
    Frozen(String),
    /// There is no extended attribute of that name.
    #[error("there is no extended attribute of that name")]
    NoAttribute,
    /// The attribute exists already.
    #[error("the extended attribute exists already")]
    AttributeExists,
    /// The copy has not ended, or is incomplete.
    #[error("{what}. Finish the copy, or send it as it is with `assetfs commit --force`")]
    NotWhole { what: String },
    /// It contains nothing that can be sent.
    #[error("{0}")]
    NothingToSend(String),
    /// A text is invalid.
    #[error("{0}")]
    Invalid(String),
    /// The service refused a job because the account has no room for its result.
    #[error("{0}")]
    AccountFull(String),
    /// The staging disk is full.
    #[error(
        "no room for {what} on the disk that holds {dir}; free space there or remove drafts, then try again \
         (drafts that are complete are still sent)"
    )]
    StagingFull {
        /// The data that was being written.
        what: String,
        /// A folder on that disk.
        dir: String,
        #[source]
        source: io::Error,
    },
    /// The process may not write files of this length (`ulimit -f`).
    #[error(
        "{what} would exceed the file size limit of this process; raise the limit (`ulimit -f`, `LimitFSIZE=`) and mount \
         again"
    )]
    FileLimit {
        /// The data that was being written.
        what: String,
        #[source]
        source: io::Error,
    },
    /// The file would be too large to be sent.
    #[error(
        "a file of {asked} cannot be sent: the account takes {limit} at most; delete models or enlarge the plan"
    )]
    TooLarge {
        /// The requested length, formatted.
        asked: String,
        /// The largest length, formatted.
        limit: String,
    },
    /// The account has not enough free storage.
    #[error(
        "{name} needs {needed} and the account has {left} left; delete models or enlarge the plan, then `assetfs retry`"
    )]
    QuotaExceeded {
        name: String,
        /// Its size, formatted.
        needed: String,
        /// The free storage, formatted.
        left: String,
    },
    #[error("{name} could not be sent: {reason}")]
    UploadFailed {
        name: String,
        /// Why, and what to do.
        reason: String,
    },
    /// The service could not import the model.
    #[error("the service could not import {name}: {reason}")]
    ImportFailed {
        name: String,
        /// The message of the service.
        reason: String,
    },
    #[error("{what}: {source}")]
    Service {
        /// What was being done.
        what: String,
        #[source]
        source: ClientError,
    },
    #[error("{0} was cancelled")]
    Cancelled(String),
    #[error("the file is open for reading only")]
    NotWritable,
    /// The staging disk failed.
    #[error("cannot use the staging directory ({what}): {}", os_error_text(source))]
    Staging {
        /// What was being done.
        what: String,
        #[source]
        source: io::Error,
    },
    /// The journal cannot be read or written.
    #[error("the journal failed: {reason}; the staged files are kept in {dir}")]
    Journal {
        reason: String,
        /// The state directory.
        dir: String,
    },
    #[error("the drive is shutting down")]
    ShutDown,
}

impl OutboxError {
    /// Sets the folder of the full disk.
    pub(super) fn on_disk_of(mut self, folder: &Path) -> OutboxError {
        if let OutboxError::StagingFull { dir, .. } = &mut self {
            *dir = folder.display().to_string();
        }
        self
    }
}

pub type OutboxResult<T> = Result<T, OutboxError>;

/// Adds the failed operation to an I/O error, and recognizes a full disk.
pub fn staging_error(what: impl Into<String>) -> impl FnOnce(io::Error) -> OutboxError {
    let what = what.into();
    move |source| match is_full(&source) {
        false if source.raw_os_error() == Some(libc::EFBIG) => {
            OutboxError::FileLimit { what, source }
        }
        true => OutboxError::StagingFull {
            what,
            dir: "the staged files".to_owned(),
            source,
        },
        false => OutboxError::Staging { what, source },
    }
}

/// A failure of the files in the state folder `dir`.
pub fn journal_error(dir: &Path) -> impl Fn(DurableError) -> OutboxError + '_ {
    |error| {
        let cause = error
            .io_error()
            .map(|source| format!(": {}", os_error_text(source)));
        OutboxError::Journal {
            reason: format!("{error}{}", cause.unwrap_or_default()),
            dir: dir.display().to_string(),
        }
    }
}

/// The OS error text; for EMFILE, also how to raise the limit of open files.
fn os_error_text(source: &io::Error) -> String {
    let said = without_error_numbers(&source.to_string());
    match source.raw_os_error() {
        Some(libc::EMFILE) => format!(
            "{said}; raise the limit of this process (`ulimit -n`, `LimitNOFILE=`) and mount again"
        ),
        _ => said,
    }
}

/// True if the disk, or the disk quota of the user, is full.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_without_open_files_left_is_told_which_limit_to_raise() {
        let none_left = || io::Error::from_raw_os_error(libc::EMFILE);
        let staged = staging_error("making a file")(none_left()).to_string();
        let path = Path::new("/state").to_owned();
        let journal = journal_error(Path::new("/state"))(DurableError::Io {
            doing: "open the folder",
            path,
            source: none_left(),
        });
        for said in [staged, journal.to_string()] {
            assert!(said.contains("Too many open files; raise"), "{said}");
            assert!(said.contains("`ulimit -n`"), "{said}");
        }
    }
}
