//! Failures of the layers below, as causes of the drive. The sentences stay theirs.

use super::error::DriveError;
use super::reading::ReadError;
use crate::client::ClientError;
use crate::durable::DurableError;
use crate::outbox::OutboxError;

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
            | OutboxError::Invalid(_)
            | OutboxError::UploadFailed { .. }
            | OutboxError::ImportFailed { .. } => DriveError::Invalid(why),
            OutboxError::StagingFull { .. } | OutboxError::QuotaExceeded { .. } => {
                DriveError::NoSpace(why)
            }
            // What the client says decides the cause, what the outbox says is the sentence.
            OutboxError::TooLarge { .. } => DriveError::TooLarge(why),
            OutboxError::Service { source, .. } => with_sentence(DriveError::from(source), why),
            OutboxError::StillGoing(_) => DriveError::TimedOut(why),
            OutboxError::Cancelled(_) => DriveError::NotFound,
            OutboxError::NotWritable => DriveError::BadHandle,
            OutboxError::Staging { .. } | OutboxError::Journal { .. } => DriveError::Local(why),
            OutboxError::ShutDown => DriveError::Unreachable(why),
        }
    }
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
