//! Reserved disk space that staged files never use. Commands that free space, such as `rm`, `cancel` and `commit`, have
//! to write the journal, and so does every step of an upload.
//!
//! Invariant: as far as this program fills the disk, [`KEPT_FREE_BYTES`] stay free of staged bytes, and half of them of
//! new names. The journal has a reserve of its own against other programs.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Mutex;

use rustix::fs::{StatVfs, fstatvfs, statvfs};

use crate::durable::allocated_bytes;
use crate::locks::Locked;

/// Bytes that stay free of staged bytes.
const KEPT_FREE_BYTES: u64 = 256 * 1024;
/// With so many bytes free beyond a write, concurrent writes cannot use up the rest, so no lock is needed.
const PLENTY_BYTES: u64 = 64 << 20;

/// Guards the space of one staging folder.
#[derive(Debug, Default)]
pub struct SpaceReserve {
    /// Locked over check and write while there is little space.
    turn: Mutex<()>,
}

impl SpaceReserve {
    /// Fills a range of a file by `write`, unless that would take the space that is kept.
    pub fn write_if_space<T>(
        &self,
        file: &File,
        offset: u64,
        len: u64,
        write: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        if free_bytes(&fstatvfs(file)?) >= PLENTY_BYTES.saturating_add(len) {
            return write();
        }
        let _turn = self.turn.locked();
        // Bytes that are overwritten need no new space.
        let has_already = allocated_bytes(file)?;
        let end = offset.saturating_add(len);
        let needed = end.saturating_sub(has_already).min(len);
        if needed > 0 && free_bytes(&fstatvfs(file)?) < needed.saturating_add(KEPT_FREE_BYTES) {
            return Err(no_space());
        }
        write()
    }

    /// Refuses a new name in the folder while there is too little space.
    pub fn check_name(&self, dir: &Path) -> io::Result<()> {
        match free_bytes(&statvfs(dir)?) < KEPT_FREE_BYTES / 2 {
            true => Err(no_space()),
            false => Ok(()),
        }
    }
}

fn free_bytes(disk: &StatVfs) -> u64 {
    disk.f_bavail.saturating_mul(disk.f_frsize)
}

fn no_space() -> io::Error {
    io::Error::from_raw_os_error(libc::ENOSPC)
}
