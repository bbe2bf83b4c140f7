//! Open modes of files. The kernel allows one mode per inode at a time: a second open in another mode, or with
//! another backing file, fails with EIO. So the first open of an inode chooses the mode, and later opens use
//! the same until the last close.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use fuser::FopenFlags;

use crate::drive::{Ino, OpenedMode};
use crate::locks::Locked;

use super::backing::{Backing, BackingReply, BackingSource, NotRegistered};

/// The mode of one open for the kernel.
pub(super) enum KernelMode {
    Flags(FopenFlags),
    /// Passthrough: the kernel reads the backing file itself.
    Backed(Arc<Backing>),
}

/// The modes of all open inodes.
pub(super) struct OpenModes {
    open: Mutex<HashMap<Ino, OpenInode>>,
    passthrough: Mutex<Passthrough>,
}

/// Whether complete files of the cache are passed to the kernel.
enum Passthrough {
    Off,
    /// The kernel offered it at INIT.
    Offered,
    By(BackingSource),
}

struct OpenInode {
    handles: u32,
    backing: Option<Arc<Backing>>,
}

impl OpenModes {
    pub(super) fn new() -> OpenModes {
        OpenModes {
            open: Mutex::default(),
            passthrough: Mutex::new(Passthrough::Off),
        }
    }

    /// The kernel offered passthrough at INIT.
    pub(super) fn offer_passthrough(&self) {
        *self.passthrough.locked() = Passthrough::Offered;
    }

    pub(super) fn is_passthrough_offered(&self) -> bool {
        matches!(*self.passthrough.locked(), Passthrough::Offered)
    }

    /// Uses passthrough from now on.
    pub(super) fn register_by(&self, source: BackingSource) {
        *self.passthrough.locked() = Passthrough::By(source);
    }

    /// Counts a new handle of `ino` and chooses its mode. `reply` is its reply.
    pub(super) fn opened(
        &self,
        ino: Ino,
        wanted: &OpenedMode,
        reply: &impl BackingReply,
    ) -> KernelMode {
        let mut open = self.open.locked();
        if let Some(inode) = open.get_mut(&ino) {
            inode.handles += 1;
            return match &inode.backing {
                Some(backing) => KernelMode::Backed(Arc::clone(backing)),
                None => KernelMode::Flags(flags_of(wanted)),
            };
        }
        let backing = self.back(wanted, reply);
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

    fn back(&self, wanted: &OpenedMode, reply: &impl BackingReply) -> Option<Arc<Backing>> {
        let OpenedMode::Passthrough(file) = wanted else {
            return None;
        };
        let mut passthrough = self.passthrough.locked();
        let Passthrough::By(source) = &*passthrough else {
            return None;
        };
        match source.register(file, reply) {
            Ok(backing) => Some(Arc::new(backing)),
            Err(NotRegistered::ThisFile(error)) => {
                tracing::debug!(%error, "a file is not passed through; it uses the page cache instead");
                None
            }
            // Without CAP_SYS_ADMIN the kernel refuses all files.
            Err(NotRegistered::AllFiles(error)) => {
                *passthrough = Passthrough::Off;
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
