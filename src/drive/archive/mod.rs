//! What is inside a zip: its directory, and its members' bytes. The zip lies on the service and is read
//! through the block cache, or in a local file.
//!
//! Invariants: nothing a zip says is believed before it is checked against its own length; a member
//! gives no byte before its length and checksum were found to be what the directory promised. Knows neither inodes nor assets.

mod directory;
mod error;
mod inflate;
mod member;
mod proof;
mod source;
#[cfg(test)]
mod tests;

pub use directory::{Directory, Method};
pub use error::ArchiveError;
pub use member::{MemberFile, OpenMember, Proof};
pub use source::{LocalZip, ZipSource};
