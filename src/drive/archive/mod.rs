//! What is inside a zip that lies on the service: its directory, and its members' bytes, read
//! through the block cache.
//!
//! Invariants: nothing a zip says is believed before it is checked against its own length; a member
//! never gives more bytes than the directory promised, and bytes whose checksum is wrong end in an
//! error. Knows neither inodes nor assets.

mod directory;
mod inflate;
mod member;
#[cfg(test)]
mod tests;

pub use directory::Directory;
pub use member::MemberFile;

use super::reading::ReadError;

/// Why a zip, or a member of it, cannot be read.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ArchiveError {
    /// It is no zip, or a broken or hostile one.
    #[error("the zip cannot be used: {0}")]
    Refused(String),
    /// A member's bytes are not what the directory promised.
    #[error("{name} is damaged inside the zip: {reason}; copy the model in again")]
    Damaged {
        /// The member.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// A member is packed in a way that is not read here.
    #[error(
        "{name} cannot be read out of the zip: {reason}; `.assetfs/source.zip` has it as it is"
    )]
    Unreadable {
        /// The member.
        name: String,
        /// What is in the way.
        reason: String,
    },
    /// The zip's own bytes could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

fn refused<T>(reason: impl Into<String>) -> Result<T, ArchiveError> {
    Err(ArchiveError::Refused(reason.into()))
}
