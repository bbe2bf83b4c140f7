//! Disk space that is reserved, and given back when the disk is full.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

/// A file without content whose space is given back to the disk when that is full, so that deletions, which make room, can
/// still be recorded.
#[derive(Debug)]
pub struct Reserve {
    path: PathBuf,
    bytes: u64,
}

impl Reserve {
    /// Keeps nothing yet.
    pub fn new(path: PathBuf, bytes: u64) -> Reserve {
        Reserve { path, bytes }
    }

    /// Keeps the space, if that is not so and there is room for it.
    pub fn keep(&self) {
        if self.path.exists() {
            return;
        }
        let made = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&self.path)
            .and_then(|file| {
                let flags = rustix::fs::FallocateFlags::empty();
                Ok(rustix::fs::fallocate(&file, flags, 0, self.bytes)?)
            });
        if let Err(error) = made {
            tracing::debug!(path = %self.path.display(), %error, "no disk space can be reserved");
            // An incomplete reserve would look like a complete one the next time.
            let _ = fs::remove_file(&self.path);
        }
    }

    /// Gives the space back to the disk; false if none is kept.
    pub fn free(&self) -> bool {
        fs::remove_file(&self.path).is_ok()
    }
}
