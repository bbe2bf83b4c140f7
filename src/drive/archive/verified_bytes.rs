//! Verified bytes of a member: collected completely before any are returned, short ones in memory, long ones in
//! an unnamed local file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use super::error::ArchiveError;

/// Maximum length of a member in memory.
const SHORT_BYTES: u64 = 8 << 20;
/// Bytes per write to the local file.
const WRITE_BYTES: usize = 1 << 20;

/// The storage of a member's verified bytes.
#[derive(Debug, Clone)]
pub enum VerifiedBytes {
    InZip,
    Memory(Bytes),
    /// In an unnamed file.
    File(Arc<File>),
}

/// Unpacked bytes that are not verified yet.
pub(super) struct UnverifiedBuffer {
    pending: BytesMut,
    file: Option<Arc<File>>,
    written: u64,
}

impl UnverifiedBuffer {
    /// Starts collecting `size` bytes; long members go to a file in `dir`.
    pub(super) fn begin(dir: &Path, size: u64) -> Result<UnverifiedBuffer, ArchiveError> {
        let file = match size > SHORT_BYTES {
            true => {
                check_room(dir, size)?;
                Some(Arc::new(tempfile::tempfile_in(dir).map_err(no_room)?))
            }
            false => None,
        };
        Ok(UnverifiedBuffer {
            pending: BytesMut::new(),
            file,
            written: 0,
        })
    }

    pub(super) async fn push(&mut self, bytes: &[u8]) -> Result<(), ArchiveError> {
        self.pending.extend_from_slice(bytes);
        if self.file.is_some() && self.pending.len() >= WRITE_BYTES {
            self.write().await?;
        }
        Ok(())
    }

    /// All bytes are complete and verified.
    pub(super) async fn finish(mut self) -> Result<VerifiedBytes, ArchiveError> {
        self.write().await?;
        Ok(match self.file {
            Some(file) => VerifiedBytes::File(file),
            None => VerifiedBytes::Memory(self.pending.freeze()),
        })
    }

    async fn write(&mut self) -> Result<(), ArchiveError> {
        let Some(file) = self.file.clone() else {
            return Ok(());
        };
        let (bytes, at) = (self.pending.split().freeze(), self.written);
        self.written += bytes.len() as u64;
        on_disk(move || file.write_all_at(&bytes, at)).await
    }
}

/// Reads a range of verified bytes from a file.
pub(super) async fn read_file(
    file: &Arc<File>,
    offset: u64,
    len: u64,
) -> Result<Bytes, ArchiveError> {
    let file = Arc::clone(file);
    on_disk(move || {
        // A range is one read of the kernel, or a block.
        let mut bytes = BytesMut::zeroed(usize::try_from(len).unwrap_or(0));
        file.read_exact_at(&mut bytes, offset)?;
        Ok(bytes.freeze())
    })
    .await
}

/// Runs disk work on a blocking thread.
pub(super) async fn on_disk<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, ArchiveError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(io::Error::other("the reading was stopped")))
        .map_err(no_room)
}

/// A zip may declare far more bytes than it contains (a zip bomb), and other programs use the same disk.
fn check_room(dir: &Path, size: u64) -> Result<(), ArchiveError> {
    let disk = rustix::fs::statvfs(dir).map_err(|error| no_room(error.into()))?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    if size > free / 20 * 19 {
        return Err(no_room(io::Error::from_raw_os_error(libc::ENOSPC)));
    }
    Ok(())
}

fn no_room(error: io::Error) -> ArchiveError {
    ArchiveError::Spool {
        is_full: matches!(
            error.raw_os_error(),
            Some(libc::ENOSPC) | Some(libc::EDQUOT)
        ),
        reason: error.to_string(),
    }
}
