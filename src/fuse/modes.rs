//! Open modes of files. The kernel allows one mode per inode at a time: a second open in another mode, or with
//! another backing file, fails with EIO. So the first open of an inode chooses the mode, and later opens use
//! the same until the last close. While a program writes a file without the page cache, all programs read it without the
//! cache, too: the kernel drops the cached pages of a range before it writes the range, and a reader could load the old bytes
//! into the cache in between.
//!
//! Invariant: no write reaches a backing file. The kernel opens it with the flags of whoever opens the file, and asks
//! for no permission; FOPEN_DIRECT_IO beside FOPEN_PASSTHROUGH sends the requests of an open to the drive (Linux,
//! `fs/fuse/file.c`), but a map of the file would be one of the backing file. So a program that may map the file for
//! writing is refused while another one has it open. What `assetfs-passthrough` opens lies on a read-only mount, so the
//! kernel cannot open it for a writer at all.
//!
//! A program can also write into a map of an uploaded file that is not passed through. The drive refuses these bytes when
//! the kernel sends them, and the kernel keeps the pages. So readers beside such a program use no page cache, and the
//! opens after it drop the pages.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use fuser::FopenFlags;

use crate::drive::{Access, Ino, OpenedMode};
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
    open: Mutex<OpenInodes>,
    passthrough: Mutex<Passthrough>,
    /// The kernel can map a file that is open without the page cache (Linux 6.6), so writers may open it in that way.
    maps_direct: AtomicBool,
}

#[derive(Default)]
struct OpenInodes {
    by_number: HashMap<Ino, OpenInode>,
    /// The kernel may have pages of these that a program has written into a map.
    perhaps_written: HashSet<Ino>,
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
            // The kernel refuses an open without the backing file, which a map would write into.
            InodeMode::Passthrough(_) if may_write_map(wanted) => KernelMode::Flags(flags),
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
        let pages = match may_write_map(wanted) {
            true => {
                open.perhaps_written.insert(ino);
                FopenFlags::empty()
            }
            false => open.pages_for_open(ino),
        };
        let of_open = match open.by_number.get_mut(&ino) {
            Some(inode) => {
                inode.handles += 1;
                inode.mode.of_open(wanted)
            }
            None => {
                let mode = self.first_mode(wanted, reply);
                let of_open = mode.of_open(wanted);
                open.by_number.insert(ino, OpenInode { handles: 1, mode });
                of_open
            }
        };
        match of_open {
            KernelMode::Flags(flags) => {
                KernelMode::Flags(flags & (pages | !FopenFlags::FOPEN_KEEP_CACHE))
            }
            backed @ KernelMode::Backed(..) => backed,
        }
    }

    /// True while `ino` is open in a way in which the kernel cannot open it for this access, or would let the program write
    /// into the backing file.
    pub(super) fn refuses(&self, ino: Ino, access: Access) -> bool {
        let open = self.open.locked();
        match open.by_number.get(&ino).map(|inode| &inode.mode) {
            Some(InodeMode::Passthrough(backing)) if backing.is_read_only() => access.writes(),
            Some(InodeMode::Passthrough(_)) => access == Access::ReadWrite,
            _ => false,
        }
    }

    /// Removes a handle of `ino`; the last one releases the backing file.
    pub(super) fn released(&self, ino: Ino) {
        let open = &mut self.open.locked().by_number;
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
            OpenedMode::WriteOnly | OpenedMode::Compared { .. }
                if self.maps_direct.load(Ordering::Relaxed) =>
            {
                InodeMode::Direct
            }
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

impl OpenInodes {
    /// [`FopenFlags::FOPEN_KEEP_CACHE`] if an open of `ino` may use the pages of earlier ones.
    fn pages_for_open(&mut self, ino: Ino) -> FopenFlags {
        // An open beside the program that writes drops its pages, and the program can write into others.
        let is_written = match self.by_number.contains_key(&ino) {
            true => self.perhaps_written.contains(&ino),
            false => self.perhaps_written.remove(&ino),
        };
        match is_written {
            true => FopenFlags::empty(),
            false => FopenFlags::FOPEN_KEEP_CACHE,
        }
    }
}

/// True for an open with which a program can write into a map of an uploaded file.
fn may_write_map(wanted: &OpenedMode) -> bool {
    matches!(wanted, OpenedMode::Compared { may_map: true })
}

/// Without passthrough, complete files keep their pages in the page cache.
fn flags_of(wanted: &OpenedMode) -> FopenFlags {
    match wanted {
        OpenedMode::Kept | OpenedMode::Passthrough(_) => FopenFlags::FOPEN_KEEP_CACHE,
        OpenedMode::Cached | OpenedMode::WriteOnly => FopenFlags::empty(),
        OpenedMode::Direct | OpenedMode::Compared { .. } => FopenFlags::FOPEN_DIRECT_IO,
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
