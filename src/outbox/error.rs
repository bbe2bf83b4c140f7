//! Everything that can go wrong in the outbox, by cause. `Display` is the sentence that a person
//! reads (what, why, what to do); the caller chooses an error number from the variant.

use std::io;
use std::path::Path;

use thiserror::Error;

use crate::client::ClientError;

/// Why the outbox could not do something.
#[derive(Debug, Error)]
pub enum OutboxError {
    /// There is no such draft, entry, job or attribute.
    #[error("{0} is not there")]
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
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The name is longer than 255 bytes.
    #[error("the name is longer than 255 bytes")]
    NameTooLong,
    /// A thing that is never made here, such as a trash folder.
    #[error("{0}")]
    NotPermitted(String),
    /// The service has accepted the upload: nothing can be added to it.
    #[error(
        "{0} has been uploaded and the service cannot add files to an asset; copy the model in under another name"
    )]
    Frozen(String),
    /// There is no extended attribute of that name.
    #[error("there is no extended attribute of that name")]
    NoAttribute,
    /// The attribute exists already.
    #[error("the extended attribute exists already")]
    AttributeExists,
    /// The copy has not ended, or what was copied is not whole.
    #[error("{what}. Finish the copy, or send it as it is with `assetfs commit --force`")]
    NotWhole {
        /// What is missing or still going on.
        what: String,
    },
    /// There is nothing in it that could be sent.
    #[error("{0}")]
    NothingToSend(String),
    /// The text is not what it has to be.
    #[error("{0}")]
    Invalid(String),
    /// No room on the staging disk.
    #[error(
        "no room for {what} on the disk that holds {dir}; free space there or remove drafts, then try again \
         (drafts that are complete are still sent)"
    )]
    StagingFull {
        /// What was to be written.
        what: String,
        /// A folder on that disk.
        dir: String,
        #[source]
        source: io::Error,
    },
    /// The file would be larger than anything that can be sent.
    #[error(
        "a file of {asked} cannot be sent: the account takes {limit} at most; delete models or enlarge the plan"
    )]
    TooLarge {
        /// The length asked for, for people.
        asked: String,
        /// The largest length, for people.
        limit: String,
    },
    /// The account has not enough room.
    #[error(
        "{name} needs {needed} and the account has {left} left; delete assets or enlarge the plan, then `assetfs retry`"
    )]
    QuotaExceeded {
        /// The draft.
        name: String,
        /// Its size, for people.
        needed: String,
        /// What is left, for people.
        left: String,
    },
    /// The upload failed and waits for the user.
    #[error("{name} could not be sent: {reason}")]
    UploadFailed {
        /// The draft.
        name: String,
        /// Why, and what to do.
        reason: String,
    },
    /// The service could not import the model.
    #[error("the service could not import {name}: {reason}")]
    ImportFailed {
        /// The draft.
        name: String,
        /// What the service said.
        reason: String,
    },
    /// The service refused, or could not be reached.
    #[error("{what}: {source}")]
    Service {
        /// What was being done.
        what: String,
        #[source]
        source: ClientError,
    },
    /// It takes longer than the caller waits; it goes on in the background.
    #[error("{0} takes longer; it goes on in the background")]
    StillGoing(String),
    /// It was cancelled or removed meanwhile.
    #[error("{0} was cancelled")]
    Cancelled(String),
    /// The handle was opened for reading only.
    #[error("the file is open for reading only")]
    NotWritable,
    /// The staging disk failed.
    #[error("the staging directory failed at {what}: {source}")]
    Staging {
        /// What was being done.
        what: String,
        #[source]
        source: io::Error,
    },
    /// The journal cannot be read or written.
    #[error("the journal failed: {reason}; the staged files are kept in {dir}")]
    Journal {
        /// What happened.
        reason: String,
        /// Where the state is.
        dir: String,
    },
    /// The outbox has been shut down.
    #[error("the drive is shutting down")]
    ShutDown,
}

impl OutboxError {
    /// Says which disk is full.
    pub(super) fn on_disk_of(mut self, folder: &Path) -> OutboxError {
        if let OutboxError::StagingFull { dir, .. } = &mut self {
            *dir = folder.display().to_string();
        }
        self
    }
}

/// The result of an operation of the outbox.
pub type OutboxResult<T> = Result<T, OutboxError>;

/// Adds to an I/O error what was being done, and recognizes a full disk.
pub fn staging_error(what: impl Into<String>) -> impl FnOnce(io::Error) -> OutboxError {
    let what = what.into();
    move |source| match is_full(&source) {
        true => OutboxError::StagingFull {
            what,
            dir: "the staged files".to_owned(),
            source,
        },
        false => OutboxError::Staging { what, source },
    }
}

/// True when the disk, or the quota of the user, is full.
pub fn is_full(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG)
    )
}
