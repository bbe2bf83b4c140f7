//! Errors of the drive, by cause. A cause that a user can act on carries a message (what, why, what to do),
//! which `user.assetfs.why` shows for the path. The code that serves the drive maps causes to errno.

use thiserror::Error;

use super::failures::Outcome;
use crate::client::ClientError;
use crate::durable::DurableError;
use crate::outbox::OutboxError;

/// Why an operation on the drive failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DriveError {
    /// The name does not exist, or no longer.
    #[error("there is nothing of that name")]
    NotFound,
    /// A folder was expected.
    #[error("this is not a folder")]
    NotAFolder,
    /// A file was expected.
    #[error("this is a folder")]
    IsAFolder,
    /// The name exists.
    #[error("something of that name exists")]
    Exists,
    /// The folder still has entries.
    #[error("the folder is not empty")]
    NotEmpty,
    /// The path cannot be written to at all.
    #[error("{0}")]
    ReadOnly(String),
    /// The action is not allowed here.
    #[error("{0}")]
    NotPermitted(String),
    /// The service does not accept the token, or the token is missing.
    #[error("{0}")]
    AccessDenied(String),
    /// The content or the request is refused.
    #[error("{0}")]
    Invalid(String),
    /// An upload or an import failed, and repeating the request as it is does not help.
    #[error("{0}")]
    ModelFailed(String),
    /// The name is not text.
    #[error("{0}")]
    NotText(String),
    /// The name is longer than a name may be.
    #[error("the name is longer than 255 bytes")]
    NameTooLong,
    /// The staging disk or the account is full.
    #[error("{0}")]
    NoSpace(String),
    /// The file would be larger than anything that can be sent.
    #[error("{0}")]
    TooLarge(String),
    /// The service limits the rate of requests, and the wait was too long.
    #[error("{0}")]
    Busy(String),
    /// The service cannot be reached, or failed, after retries.
    #[error("{0}")]
    Unreachable(String),
    /// No progress within the deadline.
    #[error("{0}")]
    TimedOut(String),
    /// The content changed under an open file.
    #[error("{0}")]
    Stale(String),
    /// The kernel asked for a file that is gone. It looks the path up again: another file may have the path now.
    #[error("the file is gone")]
    FileGone,
    /// The local disk or the local state failed.
    #[error("{0}")]
    Local(String),
    /// The handle is not open, or not open for this.
    #[error("the handle is not open for this")]
    BadHandle,
    /// A stream has nothing to read now, and the reader does not want to wait.
    #[error("there is nothing to read now")]
    NothingYet,
    /// There is no extended attribute of that name.
    #[error("there is no such extended attribute")]
    NoAttribute,
    /// The path does not support the operation.
    #[error("{0}")]
    Unsupported(String),
}

impl DriveError {
    /// True for failures that do not prove that the object is gone: what was known still holds.
    pub fn may_still_exist(&self) -> bool {
        matches!(
            self,
            DriveError::AccessDenied(_)
                | DriveError::Busy(_)
                | DriveError::Unreachable(_)
                | DriveError::TimedOut(_)
                | DriveError::Local(_)
        )
    }

    /// Whether it is a fault, or the refusal of what cannot be done.
    pub(super) fn outcome(&self) -> Outcome {
        match self {
            DriveError::ReadOnly(_)
            | DriveError::NotPermitted(_)
            | DriveError::Invalid(_)
            | DriveError::NotText(_)
            | DriveError::Unsupported(_) => Outcome::Refused,
            _ => Outcome::Failed,
        }
    }

    /// True if the message says more than the errno would.
    pub(super) fn has_user_message(&self) -> bool {
        !matches!(
            self,
            DriveError::NotFound
                | DriveError::NotAFolder
                | DriveError::IsAFolder
                | DriveError::Exists
                | DriveError::NotEmpty
                | DriveError::NameTooLong
                | DriveError::FileGone
                | DriveError::BadHandle
                | DriveError::NothingYet
                | DriveError::NoAttribute
        )
    }
}

/// The result of an operation on the drive.
pub type DriveResult<T> = Result<T, DriveError>;

impl From<ClientError> for DriveError {
    fn from(error: ClientError) -> DriveError {
        let why = error.to_string();
        match error {
            ClientError::NoToken
            | ClientError::Unauthorized { .. }
            | ClientError::Forbidden { .. } => DriveError::AccessDenied(why),
            ClientError::NotFound { .. } => DriveError::NotFound,
            ClientError::Rejected { .. } => DriveError::Invalid(why),
            ClientError::RateLimited { .. } => DriveError::Busy(why),
            ClientError::Timeout { .. } => DriveError::TimedOut(why),
            ClientError::Changed { .. } => DriveError::Stale(why),
            ClientError::LocalRead(_) | ClientError::LocalChanged { .. } => DriveError::Local(why),
            ClientError::BadBaseUrl { .. }
            | ClientError::Unavailable { .. }
            | ClientError::LostReply { .. }
            | ClientError::Protocol { .. }
            | ClientError::TooLarge { .. }
            | ClientError::Insecure { .. }
            | ClientError::Untrusted { .. }
            | ClientError::Expired { .. }
            | ClientError::CutShort { .. } => DriveError::Unreachable(why),
        }
    }
}

impl From<OutboxError> for DriveError {
    fn from(error: OutboxError) -> DriveError {
        let why = error.to_string();
        match error {
            OutboxError::NotFound(_) => DriveError::NotFound,
            OutboxError::Exists(_) | OutboxError::AttributeExists => DriveError::Exists,
            OutboxError::NotAFolder(_) => DriveError::NotAFolder,
            OutboxError::IsAFolder(_) => DriveError::IsAFolder,
            OutboxError::NotEmpty(_) => DriveError::NotEmpty,
            OutboxError::NameTooLong => DriveError::NameTooLong,
            OutboxError::NotPermitted(_) => DriveError::NotPermitted(why),
            OutboxError::Frozen(_) => DriveError::ReadOnly(why),
            OutboxError::NoAttribute => DriveError::NoAttribute,
            OutboxError::IntoItself(_)
            | OutboxError::BadName { .. }
            | OutboxError::NotWhole { .. }
            | OutboxError::NothingToSend(_)
            | OutboxError::Invalid(_) => DriveError::Invalid(why),
            OutboxError::UploadFailed { .. } | OutboxError::ImportFailed { .. } => {
                DriveError::ModelFailed(why)
            }
            OutboxError::StagingFull { .. }
            | OutboxError::QuotaExceeded { .. }
            | OutboxError::AccountFull(_) => DriveError::NoSpace(why),
            // The client's error decides the cause, the outbox's text is the message.
            OutboxError::TooLarge { .. } | OutboxError::FileLimit { .. } => {
                DriveError::TooLarge(why)
            }
            OutboxError::Service { source, .. } => with_sentence(DriveError::from(source), why),
            OutboxError::Cancelled(_) => DriveError::NotFound,
            OutboxError::NotWritable => DriveError::BadHandle,
            OutboxError::Staging { .. } | OutboxError::Journal { .. } => DriveError::Local(why),
            OutboxError::ShutDown => DriveError::Unreachable(why),
        }
    }
}

impl From<DurableError> for DriveError {
    fn from(error: DurableError) -> DriveError {
        if error.is_disk_full() {
            DriveError::NoSpace(error.to_string())
        } else {
            DriveError::Local(error.to_string())
        }
    }
}

fn with_sentence(error: DriveError, why: String) -> DriveError {
    match error {
        DriveError::AccessDenied(_) => DriveError::AccessDenied(why),
        DriveError::Invalid(_) => DriveError::Invalid(why),
        DriveError::Busy(_) => DriveError::Busy(why),
        DriveError::Unreachable(_) => DriveError::Unreachable(why),
        DriveError::TimedOut(_) => DriveError::TimedOut(why),
        DriveError::Stale(_) => DriveError::Stale(why),
        DriveError::Local(_) => DriveError::Local(why),
        other => other,
    }
}
