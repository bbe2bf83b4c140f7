//! A file that is written, in memory.

use bytes::Bytes;

/// A file to be written.
#[derive(Debug, Clone)]
pub struct OutFile {
    /// Its name in the export folder.
    pub name: String,
    pub bytes: Bytes,
}
