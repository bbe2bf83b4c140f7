//! In which mode a file is open. The kernel allows an inode one mode at a time: a second open in
//! another mode, or with another backing file, fails with EIO. So the first open of an inode
//! chooses, and the later ones follow until the last is closed.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use fuser::{BackingId, FopenFlags};

use crate::drive::{Ino, OpenedMode};

/// What the kernel is told about one open.
pub(super) enum KernelMode {
    /// Plain flags.
    Flags(FopenFlags),
    /// The kernel reads the backing file itself.
    Backed(Arc<BackingId>),
}

/// The modes of all open inodes.
pub(super) struct OpenModes {
    open: Mutex<HashMap<Ino, OpenInode>>,
    /// Cleared when the kernel refuses a backing file: without CAP_SYS_ADMIN it refuses each.
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

    /// Says whether the kernel offered passthrough at INIT.
    pub(super) fn allow_passthrough(&self, allowed: bool) {
        self.passthrough.store(allowed, Ordering::Relaxed);
    }

    /// Counts one more handle of `ino` and chooses its mode. `register` makes a backing id of a file.
    pub(super) fn opened(
        &self,
        ino: Ino,
        wanted: &OpenedMode,
        register: impl FnOnce(&File) -> io::Result<BackingId>,
    ) -> KernelMode {
        let mut open = self.open.lock().expect("no panic while the modes are held");
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

    /// Counts one handle of `ino` less; the last one gives its backing file back.
    pub(super) fn released(&self, ino: Ino) {
        let mut open = self.open.lock().expect("no panic while the modes are held");
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
                tracing::info!(%error, "no passthrough here: the kernel's page cache is kept instead");
                None
            }
        }
    }
}

/// A file that could be backed but is not keeps its pages, as unchanging content does.
fn flags_of(wanted: &OpenedMode) -> FopenFlags {
    match wanted {
        OpenedMode::Kept | OpenedMode::Passthrough(_) => FopenFlags::FOPEN_KEEP_CACHE,
        OpenedMode::Cached => FopenFlags::empty(),
        OpenedMode::Direct => FopenFlags::FOPEN_DIRECT_IO,
    }
}
