//! Open modes of files. The kernel allows one mode per inode at a time: a second open in another mode, or with
//! another backing file, fails with EIO. So the first open of an inode chooses the mode, and later opens use
//! the same until the last close. While a program writes a file without the page cache, all programs read it without the
//! cache, too: the kernel drops the cached pages of a range before it writes the range, and a reader could load the old bytes
//! into the cache in between.
//!
//! Invariant: no write reaches a backing file. The kernel opens it with the flags of whoever opens the file, and asks
//! for no permission; FOPEN_DIRECT_IO beside FOPEN_PASSTHROUGH sends the requests of an open to the drive (Linux,
//! `fs/fuse/file.c`). What `assetfs-passthrough` opens lies on a read-only mount, so the kernel cannot open it for a
//! writer at all.

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
    /// Passthrough: the kernel reads the backing file itself. With FOPEN_DIRECT_IO, the drive is asked.
    Backed(Arc<Backing>, FopenFlags),
}

/// The modes of all open inodes.
pub(super) struct OpenModes {
    open: Mutex<HashMap<Ino, OpenInode>>,
    passthrough: Mutex<Passthrough>,
    /// The kernel can map a file that is open without the page cache (Linux 6.6), so writers may open it in that way.
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
    mode: InodeMode,
}

/// What the first open of an inode decides for all opens until the last close.
enum InodeMode {
    Passthrough(Arc<Backing>),
    /// No open uses the page cache. Maps of the file still do.
    Direct,
    /// Each open has the mode that it wants.
    PerOpen,
}

impl InodeMode {
    fn of_open(&self, wanted: &OpenedMode) -> KernelMode {
        let flags = flags_of(wanted);
        match self {
            InodeMode::Passthrough(backing) => {
                KernelMode::Backed(Arc::clone(backing), flags & FopenFlags::FOPEN_DIRECT_IO)
            }
            InodeMode::Direct => KernelMode::Flags(FopenFlags::FOPEN_DIRECT_IO),
            InodeMode::PerOpen => KernelMode::Flags(flags),
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
            return inode.mode.of_open(wanted);
        }
        let mode = self.first_mode(wanted, reply);
        let of_open = mode.of_open(wanted);
        open.insert(ino, OpenInode { handles: 1, mode });
        of_open
    }

    /// True while `ino` is open in a way in which the kernel cannot open it for writing.
    pub(super) fn refuses_writers(&self, ino: Ino) -> bool {
        let open = self.open.locked();
        let mode = open.get(&ino).map(|inode| &inode.mode);
        matches!(mode, Some(InodeMode::Passthrough(backing)) if backing.is_read_only())
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

    fn first_mode(&self, wanted: &OpenedMode, reply: &impl BackingReply) -> InodeMode {
        match wanted {
            OpenedMode::Passthrough(file) => self
                .back(file, reply)
                .map_or(InodeMode::PerOpen, InodeMode::Passthrough),
            OpenedMode::WriteOnly if self.maps_direct.load(Ordering::Relaxed) => InodeMode::Direct,
            _ => InodeMode::PerOpen,
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
        OpenedMode::Cached | OpenedMode::WriteOnly => FopenFlags::empty(),
        OpenedMode::Direct => FopenFlags::FOPEN_DIRECT_IO,
        // Without FOPEN_NONSEEKABLE, tools take it for an empty file.
        OpenedMode::Stream => FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_NONSEEKABLE,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use fuser::BackingId;

    use super::*;

    /// A kernel that registers no file.
    struct NoBacking;

    impl BackingReply for NoBacking {
        fn register(&self, _file: &File) -> io::Result<BackingId> {
            Err(io::ErrorKind::PermissionDenied.into())
        }

        fn take(&self, _id: u32) -> BackingId {
            unreachable!("nothing was registered")
        }
    }

    const INO: Ino = Ino(7);

    /// The flags of opens one after the other, while all stay open.
    fn flags_of_opens(modes: &OpenModes, wanted: &[OpenedMode]) -> Vec<FopenFlags> {
        let of_open = |wanted| match modes.opened(INO, wanted, &NoBacking) {
            KernelMode::Flags(flags) => flags,
            KernelMode::Backed(..) => panic!("nothing was registered"),
        };
        wanted.iter().map(of_open).collect()
    }

    #[test]
    fn all_opens_beside_a_writer_without_the_page_cache_go_without_it_until_the_last_close() {
        let direct = FopenFlags::FOPEN_DIRECT_IO;
        let modes = OpenModes::new();
        modes.allow_direct_writes();
        let found = flags_of_opens(&modes, &[OpenedMode::WriteOnly, OpenedMode::Cached]);
        assert_eq!(found, [direct, direct]);
        modes.released(INO);
        assert_eq!(flags_of_opens(&modes, &[OpenedMode::Cached]), [direct]);
        modes.released(INO);
        modes.released(INO);
        let cached = FopenFlags::empty();
        let found = flags_of_opens(&modes, &[OpenedMode::Cached, OpenedMode::WriteOnly]);
        assert_eq!(found, [cached, cached], "readers with pages were first");
    }

    #[test]
    fn a_kernel_that_maps_no_file_without_the_page_cache_keeps_it_for_writers() {
        let modes = OpenModes::new();
        let found = flags_of_opens(&modes, &[OpenedMode::WriteOnly, OpenedMode::Cached]);
        assert_eq!(found, [FopenFlags::empty(), FopenFlags::empty()]);
    }
}
