//! The content of a zip: its directory, and its members' bytes. [`formats::zip`](assetfs_formats::zip) parses the format. The zip lies on the service and is read
//! through the block cache, or in a local file.
//!
//! Invariants: data of a zip is validated before use; a member returns no byte before its length and checksum
//! were verified. Knows neither inodes nor assets.

mod directory;
mod error;
mod inflate;
mod member;
mod source;
#[cfg(test)]
mod tests;
mod verified_bytes;

pub use directory::Directory;
pub use error::ArchiveError;
pub use member::{MemberFile, OpenMember, VerifyOnce};
pub use source::{LocalZip, ZipSource};
