//! Open modes of files. The kernel allows one mode per inode at a time: a second open in another mode, or with
//! another backing file, fails with EIO. So the first open of an inode chooses the mode, and later opens use
//! the same until the last close.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use fuser::{BackingId, FopenFlags};

use crate::drive::{Ino, OpenedMode};
use crate::locks::Locked;

/// The mode of one open for the kernel.
pub(super) enum KernelMode {
    Flags(FopenFlags),
    /// Passthrough: the kernel reads the backing file itself.
    Backed(Arc<BackingId>),
}

/// The modes of all open inodes.
pub(super) struct OpenModes {
    open: Mutex<HashMap<Ino, OpenInode>>,
    /// Cleared when the kernel refuses a backing file: without CAP_SYS_ADMIN it refuses all.
    passthrough: AtomicBool,
}

struct OpenInode {
    handles: u32,
    backing: Option<Arc<BackingId>>,
}

impl OpenModes {
    pub(super) fn new() -> OpenModes {
        OpenModes {
            open: Mutex::default(),
            passthrough: AtomicBool::new(false),
        }
    }

    /// Sets whether the kernel offered passthrough at INIT.
    pub(super) fn allow_passthrough(&self, allowed: bool) {
        self.passthrough.store(allowed, Ordering::Relaxed);
    }

    /// Counts a new handle of `ino` and chooses its mode. `register` creates a backing id for a file.
    pub(super) fn opened(
        &self,
        ino: Ino,
        wanted: &OpenedMode,
        register: impl FnOnce(&File) -> io::Result<BackingId>,
    ) -> KernelMode {
        let mut open = self.open.locked();
        if let Some(inode) = open.get_mut(&ino) {
            inode.handles += 1;
            return match &inode.backing {
                Some(backing) => KernelMode::Backed(Arc::clone(backing)),
                None => KernelMode::Flags(flags_of(wanted)),
            };
        }
        let backing = self.back(wanted, register);
        let mode = match &backing {
            Some(backing) => KernelMode::Backed(Arc::clone(backing)),
            None => KernelMode::Flags(flags_of(wanted)),
        };
        open.insert(
            ino,
            OpenInode {
                handles: 1,
                backing,
            },
        );
        mode
    }

    /// Removes a handle of `ino`; the last one releases the backing file.
    pub(super) fn released(&self, ino: Ino) {
        let mut open = self.open.locked();
        if let Some(inode) = open.get_mut(&ino) {
            inode.handles -= 1;
            if inode.handles == 0 {
                open.remove(&ino);
            }
        }
    }

    fn back(
        &self,
        wanted: &OpenedMode,
        register: impl FnOnce(&File) -> io::Result<BackingId>,
    ) -> Option<Arc<BackingId>> {
        let OpenedMode::Passthrough(file) = wanted else {
            return None;
        };
        if !self.passthrough.load(Ordering::Relaxed) {
            return None;
        }
        match register(file) {
            Ok(backing) => Some(Arc::new(backing)),
            Err(error) => {
                self.passthrough.store(false, Ordering::Relaxed);
                tracing::info!(%error, "passthrough is not available; files use the page cache instead");
                None
            }
        }
    }
}

/// Without passthrough, complete files keep their pages in the page cache.
fn flags_of(wanted: &OpenedMode) -> FopenFlags {
    match wanted {
        OpenedMode::Kept | OpenedMode::Passthrough(_) => FopenFlags::FOPEN_KEEP_CACHE,
        OpenedMode::Cached => FopenFlags::empty(),
        OpenedMode::Direct => FopenFlags::FOPEN_DIRECT_IO,
        // Without FOPEN_NONSEEKABLE, tools take it for an empty file.
        OpenedMode::Stream => FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_NONSEEKABLE,
    }
}
