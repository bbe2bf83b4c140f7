//! Why a zip, or a member of it, cannot be read.

use crate::drive::reading::ReadError;
use assetfs_formats::printable::printable_path;
use assetfs_formats::zip::DamagedZip;

#[derive(Debug, Clone, thiserror::Error)]
pub enum ArchiveError {
    /// It is not a zip, or a broken or hostile one.
    #[error("the zip cannot be used: {0}")]
    Refused(String),
    /// The data of a member does not match the directory.
    #[error(
        "{} is damaged inside {zip}: {reason}; copy the model in again",
        printable_path(name)
    )]
    Damaged {
        name: String,
        zip: String,
        reason: String,
    },
    /// The compression method or encryption of a member is not supported.
    #[error(
        "{} cannot be read from the zip: {reason}; `.assetfs/source.zip` is the whole zip",
        printable_path(name)
    )]
    Unreadable {
        name: String,
        /// The cause, as the end of a sentence.
        reason: String,
    },
    /// Writing unpacked data to the local disk failed.
    #[error("the unpacked file cannot be written to the local disk: {reason}")]
    Spool {
        /// The disk is full.
        is_full: bool,
        /// The error of the disk.
        reason: String,
    },
    /// The local zip was written to while a member of it was read.
    #[error("{0} was changed while a file in it was read; open the file again")]
    Changed(String),
    /// The zip's own bytes could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl From<DamagedZip> for ArchiveError {
    fn from(DamagedZip(reason): DamagedZip) -> ArchiveError {
        ArchiveError::Refused(reason)
    }
}

pub(super) fn refused<T>(reason: impl Into<String>) -> Result<T, ArchiveError> {
    Err(ArchiveError::Refused(reason.into()))
}
