//! Values of file system operations: inode and handle numbers, attributes, directory entries, open flags. Plain
//! data; nothing here knows FUSE or errno.

use std::ffi::OsString;
use std::fs::File;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

pub(super) use crate::outbox::process_of;
use crate::outbox::program_of;

/// An inode number. It stays the same as long as the content does, also across mounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ino(pub u64);

impl Ino {
    /// The root of the drive.
    pub const ROOT: Ino = Ino(1);
}

impl std::fmt::Display for Ino {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// The number of an open file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fh(pub u64);

impl std::fmt::Display for Fh {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// The calling thread. `pid` is a thread id, as the kernel reports it; zero if unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    /// The thread that made the system call.
    pub pid: u32,
    /// Its user.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
}

impl Caller {
    /// The id of the process, or of the thread when that is gone.
    pub fn process(&self) -> u32 {
        process_of(self.pid)
    }

    /// True for a thread of the process, and for a thread that is not known.
    pub(super) fn may_be_of(&self, process: u32) -> bool {
        self.pid == 0 || self.process() == process
    }

    /// The name of the program; empty when it is gone.
    pub fn program(&self) -> String {
        program_of(self.pid)
    }

    pub(super) fn for_outbox(&self) -> crate::outbox::Caller {
        crate::outbox::Caller {
            pid: self.pid,
            uid: self.uid,
            gid: self.gid,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileKind {
    Folder,
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    /// The inode number.
    pub ino: Ino,
    /// Folder, file or link.
    pub kind: FileKind,
    /// The true size in bytes.
    pub size: u64,
    /// Bytes on the staging disk, for a file of a draft: fewer than its size if it has holes.
    pub allocated: Option<u64>,
    /// Permission bits (07777).
    pub perm: u16,
    /// Number of links.
    pub nlink: u32,
    /// Owner shown.
    pub uid: u32,
    /// Group shown.
    pub gid: u32,
    /// Time of the last change of content.
    pub mtime: SystemTime,
    /// Time of the last change of attributes.
    pub ctime: SystemTime,
}

/// A found node, and how long the kernel may cache it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    pub attributes: Attributes,
    /// How long the kernel may cache name and attributes.
    pub ttl: Duration,
}

/// One row of a folder. `offset` is the position that the next `read_dir` continues after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// The inode number.
    pub ino: Ino,
    /// The name in the folder.
    pub name: OsString,
    /// Folder, file or link.
    pub kind: FileKind,
    /// Position after this row.
    pub offset: u64,
}

/// What a handle is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// `O_RDONLY`.
    Read,
    /// `O_WRONLY`.
    Write,
    /// `O_RDWR`.
    ReadWrite,
}

impl Access {
    /// True unless it is for reading alone.
    pub fn writes(self) -> bool {
        self != Access::Read
    }
}

/// The open flags that matter to the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFlags {
    /// Reading, writing or both.
    pub access: Access,
    /// `O_TRUNC`.
    pub truncate: bool,
    /// `O_APPEND`.
    pub append: bool,
    /// `O_EXCL`; only looked at by `create`.
    pub exclusive: bool,
}

impl OpenFlags {
    /// Opens for reading.
    pub const READ: OpenFlags = OpenFlags {
        access: Access::Read,
        truncate: false,
        append: false,
        exclusive: false,
    };
    /// Opens for writing over whatever was there.
    pub const OVERWRITE: OpenFlags = OpenFlags {
        access: Access::Write,
        truncate: true,
        append: false,
        exclusive: false,
    };
}

/// How the kernel caches the pages of an open file.
#[derive(Debug, Clone)]
pub enum OpenedMode {
    /// Immutable content: pages of an earlier open stay valid.
    Kept,
    /// The kernel may cache pages while the file is open, and drops those of earlier opens.
    Cached,
    /// No caching: content or size may change at any time or is not known yet.
    Direct,
    /// An uploaded file that is open for writing: what is written is compared with it, and refused if it differs. No
    /// caching. If the program may map the file, it can write into the pages of the map before the drive is asked: pages
    /// that the kernel has then are not used by later opens.
    Compared { may_map: bool },
    /// A local file that is only written: each byte is copied once less if the kernel keeps no pages of it. Where
    /// the kernel cannot do that for all opens of the file at once, it is treated like [`OpenedMode::Cached`].
    WriteOnly,
    /// Not a file but a stream: reads continue where the last one ended, and wait for more.
    Stream,
    /// The whole content is in this local file, which the kernel may read directly. If it cannot, it is treated
    /// like [`OpenedMode::Kept`].
    Passthrough(Arc<File>),
}

/// An open file.
#[derive(Debug, Clone)]
pub struct Opened {
    /// The handle, to be given to `read`, `write`, `flush` and `release`.
    pub fh: Fh,
    pub mode: OpenedMode,
}

/// Whether a read would wait, for `poll`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// A file: it is always ready.
    Always,
    /// A stream with something to read.
    Now,
    /// A stream that would wait.
    Later,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetTime {
    /// The current time.
    Now,
    /// The given time.
    At(SystemTime),
}

/// Changes of `setattr`; `None` keeps a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SetAttributes {
    /// Permission bits.
    pub mode: Option<u32>,
    pub uid: Option<u32>,
    pub gid: Option<u32>,
    /// New length.
    pub size: Option<u64>,
    /// Access time: accepted without effect.
    pub atime: Option<SetTime>,
    /// Modification time.
    pub mtime: Option<SetTime>,
    /// The handle that the change was requested through.
    pub fh: Option<Fh>,
}

/// What `rename` does with an existing target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenameMode {
    /// Replaces it.
    Replace,
    /// Fails when there is one.
    NoReplace,
    /// Swaps the two.
    Exchange,
}

/// What `allocate` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allocation {
    /// Reserves space and extends the file.
    Extend,
    /// Reserves space and keeps the length.
    KeepSize,
    /// Frees the space of a range, which reads as zeros then, and keeps the length.
    Hole,
    /// Anything else, such as inserting or removing a range.
    Other,
}

/// What `seek` looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// `SEEK_DATA`.
    Data,
    /// `SEEK_HOLE`; the end of a file counts as one.
    Hole,
}

/// What `set_xattr` does with an attribute of that name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum XattrMode {
    /// Makes or replaces it.
    Any,
    /// Only makes it.
    Create,
    /// Only replaces it.
    Replace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileSystemStatus {
    /// Unit of the block counts.
    pub block_size: u32,
    /// Blocks in all.
    pub blocks: u64,
    /// Blocks the account has left.
    pub blocks_free: u64,
    /// Blocks that can be written now: limited by the account and the staging disk.
    pub blocks_available: u64,
    /// Files and folders known.
    pub files: u64,
    /// Files that can still be created, which only space limits.
    pub files_free: u64,
    /// Longest name in bytes.
    pub name_max: u32,
}
