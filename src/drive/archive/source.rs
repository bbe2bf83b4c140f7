//! Where the bytes of a zip are: on the service, read through the block cache, or in a local file.

use std::fmt;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use super::error::ArchiveError;
use super::verified_bytes::on_disk;
use crate::drive::reading::RemoteFile;

/// The bytes of a zip.
#[derive(Debug)]
pub enum ZipSource {
    Remote(Box<RemoteFile>),
    Local(LocalZip),
}

/// A zip in a local file, which its owner may still change.
pub struct LocalZip {
    /// Its name, for messages.
    pub name: String,
    /// The file, open for reading.
    pub file: Arc<File>,
    /// Its length when it was opened.
    pub size: u64,
    /// False once its bytes may be others than when it was opened.
    pub is_unchanged: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl ZipSource {
    pub fn size(&self) -> u64 {
        match self {
            ZipSource::Remote(remote) => remote.size(),
            ZipSource::Local(local) => local.size,
        }
    }

    /// Reads; shorter than asked only at the end.
    pub async fn read(&self, offset: u64, len: u64) -> Result<Bytes, ArchiveError> {
        match self {
            ZipSource::Remote(remote) => Ok(remote.read(offset, len).await?),
            ZipSource::Local(local) => local.read(offset, len).await,
        }
    }
}

impl LocalZip {
    /// Reads a range, which ends at the end of the file. Fails when the file was changed meanwhile.
    pub async fn read(&self, offset: u64, len: u64) -> Result<Bytes, ArchiveError> {
        let len = len.min(self.size.saturating_sub(offset));
        let file = Arc::clone(&self.file);
        let read = on_disk(move || {
            let mut bytes = BytesMut::zeroed(usize::try_from(len).unwrap_or(0));
            file.read_exact_at(&mut bytes, offset)?;
            Ok(bytes.freeze())
        })
        .await;
        // Looked at after the read: a writer is known before its first byte.
        match (self.is_unchanged)() {
            true => read,
            false => Err(ArchiveError::Changed(self.name.clone())),
        }
    }
}

impl fmt::Debug for LocalZip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalZip")
            .field("name", &self.name)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}
