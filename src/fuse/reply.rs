//! Converts results of the drive to replies of fuser; one implementation per kind of reply.

use std::ffi::OsString;
use std::sync::Arc;

use bytes::Bytes;
use fuser::{
    Errno, FileHandle, FopenFlags, Generation, INodeNo, ReplyAttr, ReplyCreate, ReplyData,
    ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyIoctl, ReplyLseek, ReplyOpen, ReplyStatfs,
    ReplyWrite, ReplyXattr,
};

use crate::drive::{DirEntry, Entry, Fh, FileSystemStatus, Ino, Opened};

use super::modes::{KernelMode, OpenModes};
use super::translate::{file_attr, file_type};

/// Inode numbers are never reused, so one generation is enough.
const GENERATION: Generation = Generation(0);

/// A reply with a `T`.
pub(super) trait Reply<T>: Send + 'static {
    /// Sends the reply to the kernel.
    fn give(self, result: Result<T, Errno>);
}

impl Reply<Entry> for ReplyEntry {
    fn give(self, result: Result<Entry, Errno>) {
        match result {
            Ok(entry) => self.entry(&entry.ttl, &file_attr(&entry.attributes), GENERATION),
            Err(errno) => self.error(errno),
        }
    }
}

impl Reply<Entry> for ReplyAttr {
    fn give(self, result: Result<Entry, Errno>) {
        match result {
            Ok(entry) => self.attr(&entry.ttl, &file_attr(&entry.attributes)),
            Err(errno) => self.error(errno),
        }
    }
}

impl Reply<()> for ReplyEmpty {
    fn give(self, result: Result<(), Errno>) {
        match result {
            Ok(()) => self.ok(),
            Err(errno) => self.error(errno),
        }
    }
}

impl Reply<()> for ReplyIoctl {
    fn give(self, result: Result<(), Errno>) {
        match result {
            Ok(()) => self.ioctl(0, &[]),
            Err(errno) => self.error(errno),
        }
    }
}

/// Where data or a hole begins; `None` if there is none.
impl Reply<Option<u64>> for ReplyLseek {
    fn give(self, result: Result<Option<u64>, Errno>) {
        match result.map(|at| at.and_then(|at| i64::try_from(at).ok())) {
            Ok(Some(at)) => self.offset(at),
            Ok(None) => self.error(Errno::ENXIO),
            Err(errno) => self.error(errno),
        }
    }
}

/// The target of a symbolic link.
impl Reply<OsString> for ReplyData {
    fn give(self, result: Result<OsString, Errno>) {
        match result {
            Ok(target) => self.data(target.as_encoded_bytes()),
            Err(errno) => self.error(errno),
        }
    }
}

impl Reply<Bytes> for ReplyData {
    fn give(self, result: Result<Bytes, Errno>) {
        match result {
            Ok(data) => self.data(&data),
            Err(errno) => self.error(errno),
        }
    }
}

impl Reply<u32> for ReplyWrite {
    fn give(self, result: Result<u32, Errno>) {
        match result {
            Ok(len) => self.written(len),
            Err(errno) => self.error(errno),
        }
    }
}

/// An open folder; [`OpenedFile`] is for files.
impl Reply<Fh> for ReplyOpen {
    fn give(self, result: Result<Fh, Errno>) {
        match result {
            Ok(fh) => self.opened(FileHandle(fh.0), FopenFlags::empty()),
            Err(errno) => self.error(errno),
        }
    }
}

impl Reply<Vec<DirEntry>> for ReplyDirectory {
    fn give(mut self, result: Result<Vec<DirEntry>, Errno>) {
        match result {
            Ok(rows) => {
                for row in rows {
                    let kind = file_type(row.kind);
                    if self.add(INodeNo(row.ino.0), row.offset, kind, &row.name) {
                        break;
                    }
                }
                self.ok();
            }
            Err(errno) => self.error(errno),
        }
    }
}

impl Reply<FileSystemStatus> for ReplyStatfs {
    fn give(self, result: Result<FileSystemStatus, Errno>) {
        match result {
            Ok(status) => self.statfs(
                status.blocks,
                status.blocks_free,
                status.blocks_available,
                status.files,
                status.files_free,
                status.block_size,
                status.name_max,
                status.block_size,
            ),
            Err(errno) => self.error(errno),
        }
    }
}

/// An extended attribute, or the list of them. `size` is the caller's buffer; with 0 the reply is the size.
pub(super) struct Xattr {
    pub(super) reply: ReplyXattr,
    pub(super) size: u32,
}

impl Reply<Vec<u8>> for Xattr {
    fn give(self, result: Result<Vec<u8>, Errno>) {
        match result {
            Err(errno) => self.reply.error(errno),
            Ok(value) if self.size == 0 => {
                let len = u32::try_from(value.len()).unwrap_or(u32::MAX);
                self.reply.size(len);
            }
            Ok(value) if value.len() > self.size as usize => self.reply.error(Errno::ERANGE),
            Ok(value) => self.reply.data(&value),
        }
    }
}

/// Reply to opening a file.
pub(super) struct OpenedFile {
    pub(super) reply: ReplyOpen,
    pub(super) ino: Ino,
    pub(super) modes: Arc<OpenModes>,
}

impl Reply<Opened> for OpenedFile {
    fn give(self, result: Result<Opened, Errno>) {
        let reply = self.reply;
        match result {
            Ok(Opened { fh, mode }) => {
                let fh = FileHandle(fh.0);
                match self.modes.opened(self.ino, &mode, &reply) {
                    KernelMode::Flags(flags) => reply.opened(fh, flags),
                    KernelMode::Backed(backing, flags) => {
                        reply.opened_passthrough(fh, flags, backing.id());
                    }
                }
            }
            Err(errno) => reply.error(errno),
        }
    }
}

/// Reply to creating and opening a file.
pub(super) struct CreatedFile {
    pub(super) reply: ReplyCreate,
    pub(super) modes: Arc<OpenModes>,
}

impl Reply<(Entry, Opened)> for CreatedFile {
    fn give(self, result: Result<(Entry, Opened), Errno>) {
        let reply = self.reply;
        match result {
            Ok((entry, Opened { fh, mode })) => {
                let (attr, fh) = (file_attr(&entry.attributes), FileHandle(fh.0));
                match self.modes.opened(entry.attributes.ino, &mode, &reply) {
                    KernelMode::Flags(flags) => {
                        reply.created(&entry.ttl, &attr, GENERATION, fh, flags);
                    }
                    KernelMode::Backed(backing, flags) => reply.created_passthrough(
                        &entry.ttl,
                        &attr,
                        GENERATION,
                        fh,
                        flags,
                        backing.id(),
                    ),
                }
            }
            Err(errno) => reply.error(errno),
        }
    }
}

/// Reply to the last close of a file; releases its open mode before the reply.
pub(super) struct ClosedFile {
    pub(super) reply: ReplyEmpty,
    pub(super) ino: Ino,
    pub(super) modes: Arc<OpenModes>,
}

impl Reply<()> for ClosedFile {
    fn give(self, result: Result<(), Errno>) {
        self.modes.released(self.ino);
        self.reply.give(result);
    }
}
