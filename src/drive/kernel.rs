//! What the drive tells the kernel about changes that the kernel did not make itself.
//!
//! Calls into [`KernelCache`] are made by one task alone, fed by a bounded queue that keeps each
//! change once: never inside a request, never with a lock held, because the kernel may wait for a
//! request of ours before it answers. When the queue is full a change is dropped; the time to live
//! of entries bounds how long it goes unseen.

use std::ffi::OsStr;

use super::types::Ino;

/// The kernel's caches, as far as the drive needs to correct them. Implemented by whoever serves
/// the drive. Calls may block.
pub trait KernelCache: Send + Sync {
    /// A name in a folder came to be, or stands for something else.
    fn entry_changed(&self, parent: Ino, name: &OsStr);
    /// Size, times or owner changed.
    fn attributes_changed(&self, ino: Ino);
    /// Cached pages are no longer true. Never called for a file that is open.
    fn content_changed(&self, ino: Ino);
    /// A name is gone.
    fn entry_removed(&self, parent: Ino, child: Ino, name: &OsStr);
}
