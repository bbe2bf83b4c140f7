//! Open modes of files. The kernel allows one mode per inode at a time: a second open in another mode, or with
//! another backing file, fails with EIO. So the first open of an inode chooses the mode, and later opens use
//! the same until the last close. The same holds for a file that is written without the page cache: the kernel drops
//! the pages of a range before it writes it, so a reader with pages of its own could keep old bytes.

use std::collections::HashMap;
use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
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
    /// A file without the page cache can be mapped (Linux 6.6), so writers may go without it.
    maps_direct: AtomicBool,
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
    shared: Shared,
}

/// What all handles of an inode have in common.
enum Shared {
    Backed(Arc<Backing>),
    /// Nobody uses the page cache.
    Direct,
    /// Each open by itself.
    Any,
}

impl Shared {
    fn mode(&self, wanted: &OpenedMode) -> KernelMode {
        match self {
            Shared::Backed(backing) => KernelMode::Backed(Arc::clone(backing)),
            Shared::Direct => KernelMode::Flags(FopenFlags::FOPEN_DIRECT_IO),
            Shared::Any => KernelMode::Flags(flags_of(wanted)),
        }
    }
}

impl OpenModes {
    pub(super) fn new() -> OpenModes {
        OpenModes {
            open: Mutex::default(),
            passthrough: Mutex::new(Passthrough::Off),
            maps_direct: AtomicBool::new(false),
        }
    }

    /// The kernel said at INIT that files without the page cache can be mapped.
    pub(super) fn allow_direct_writes(&self) {
        self.maps_direct.store(true, Ordering::Relaxed);
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
            return inode.shared.mode(wanted);
        }
        let shared = self.shared(wanted, reply);
        let mode = shared.mode(wanted);
        open.insert(ino, OpenInode { handles: 1, shared });
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

    /// What the first open of an inode decides for all others.
    fn shared(&self, wanted: &OpenedMode, reply: &impl BackingReply) -> Shared {
        match wanted {
            OpenedMode::Passthrough(file) => {
                self.back(file, reply).map_or(Shared::Any, Shared::Backed)
            }
            OpenedMode::Written if self.maps_direct.load(Ordering::Relaxed) => Shared::Direct,
            _ => Shared::Any,
        }
    }

    fn back(&self, file: &File, reply: &impl BackingReply) -> Option<Arc<Backing>> {
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
        OpenedMode::Cached | OpenedMode::Written => FopenFlags::empty(),
        OpenedMode::Direct => FopenFlags::FOPEN_DIRECT_IO,
        // Without FOPEN_NONSEEKABLE, tools take it for an empty file.
        OpenedMode::Stream => FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_NONSEEKABLE,
    }
}
