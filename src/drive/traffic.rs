//! Counts the bytes that were read and written through the drive.

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use super::error::DriveResult;

/// Bytes since the mount started. What the kernel serves itself is not counted.
#[derive(Default)]
pub(super) struct Traffic {
    read: AtomicU64,
    written: AtomicU64,
}

impl Traffic {
    pub(super) fn note_read(&self, read: &DriveResult<Bytes>) {
        if let Ok(bytes) = read {
            self.read.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        }
    }

    pub(super) fn note_written(&self, written: &DriveResult<u32>) {
        if let Ok(bytes) = written {
            self.written.fetch_add(u64::from(*bytes), Ordering::Relaxed);
        }
    }

    pub(super) fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    pub(super) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }
}
