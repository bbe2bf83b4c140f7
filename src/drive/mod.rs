//! The drive in our own types: what every path means, without a kernel.
//!
//! [`Drive`] is the front door. Its operations are futures written so that the first poll
//! completes whenever nothing has to be fetched. It knows nothing of FUSE and of errno; the same
//! drive can be served in another way, and is tested without a kernel.

#![allow(unused_variables, dead_code, clippy::todo)]

mod config;
mod error;
mod kernel;
mod status;
mod types;

pub use config::DriveConfig;
pub use error::{DriveError, DriveResult};
pub use kernel::KernelCache;
pub use status::{
    CacheStatus, DraftStatus, FailureLine, JobStatusLine, MountStatus, OrphanStatus, RateStatus,
    TransferStatus,
};
pub use types::{
    Access, Attributes, Caller, DirEntry, Entry, Fh, FileKind, FileSystemStatus, Ino, OpenFlags,
    Opened, OpenedMode, RenameMode, SetAttributes, SetTime, XattrMode,
};

use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use bytes::Bytes;

/// One account as a tree of files. Cheap to clone; all clones are the same drive.
#[derive(Clone)]
pub struct Drive {
    shared: Arc<()>,
}

impl Drive {
    /// Opens the drive.
    pub async fn open(config: DriveConfig) -> DriveResult<Drive> {
        todo!()
    }

    /// Says where changes that the kernel did not make are to be told.
    pub fn attach_kernel(&self, kernel: Arc<dyn KernelCache>) {
        todo!()
    }

    /// The mount's state at this moment.
    pub fn status(&self) -> MountStatus {
        todo!()
    }

    /// Stops and joins the drive's tasks. Drafts stay as they are.
    pub async fn shut_down(&self) {
        todo!()
    }

    /// Finds `name` in `parent`; each success counts as one reference until `forget`.
    pub async fn lookup(&self, parent: Ino, name: &OsStr, caller: &Caller) -> DriveResult<Entry> {
        todo!()
    }

    /// Takes back `count` references to `ino`.
    pub fn forget(&self, ino: Ino, count: u64) {
        todo!()
    }

    /// What `stat` shows.
    pub async fn getattr(&self, ino: Ino, fh: Option<Fh>, caller: &Caller) -> DriveResult<Entry> {
        todo!()
    }

    /// Changes attributes.
    pub async fn setattr(
        &self,
        ino: Ino,
        change: &SetAttributes,
        caller: &Caller,
    ) -> DriveResult<Entry> {
        todo!()
    }

    /// Where a link points.
    pub async fn readlink(&self, ino: Ino) -> DriveResult<OsString> {
        todo!()
    }

    /// Makes a folder.
    pub async fn make_dir(
        &self,
        parent: Ino,
        name: &OsStr,
        mode: u32,
        caller: &Caller,
    ) -> DriveResult<Entry> {
        todo!()
    }

    /// Makes an empty regular file without opening it.
    pub async fn make_node(
        &self,
        parent: Ino,
        name: &OsStr,
        mode: u32,
        caller: &Caller,
    ) -> DriveResult<Entry> {
        todo!()
    }

    /// Removes a file or a link.
    pub async fn remove_file(&self, parent: Ino, name: &OsStr, caller: &Caller) -> DriveResult<()> {
        todo!()
    }

    /// Removes an empty folder.
    pub async fn remove_dir(&self, parent: Ino, name: &OsStr, caller: &Caller) -> DriveResult<()> {
        todo!()
    }

    /// Renames.
    pub async fn rename(
        &self,
        parent: Ino,
        name: &OsStr,
        new_parent: Ino,
        new_name: &OsStr,
        mode: RenameMode,
        caller: &Caller,
    ) -> DriveResult<()> {
        todo!()
    }

    /// Opens a file that exists.
    pub async fn open_file(
        &self,
        ino: Ino,
        flags: OpenFlags,
        caller: &Caller,
    ) -> DriveResult<Opened> {
        todo!()
    }

    /// Makes a file, or opens the one that is there, and counts a reference as `lookup` does.
    pub async fn create(
        &self,
        parent: Ino,
        name: &OsStr,
        mode: u32,
        flags: OpenFlags,
        caller: &Caller,
    ) -> DriveResult<(Entry, Opened)> {
        todo!()
    }

    /// Reads; shorter than asked only at the end of the file.
    pub async fn read(&self, ino: Ino, fh: Fh, offset: u64, len: u32) -> DriveResult<Bytes> {
        todo!()
    }

    /// Writes all of `data`.
    pub async fn write(
        &self,
        ino: Ino,
        fh: Fh,
        offset: u64,
        data: &[u8],
        caller: &Caller,
    ) -> DriveResult<u32> {
        todo!()
    }

    /// Reserves room; with `keep_size` the length stays.
    pub async fn allocate(
        &self,
        ino: Ino,
        fh: Fh,
        offset: u64,
        len: u64,
        keep_size: bool,
    ) -> DriveResult<()> {
        todo!()
    }

    /// One `close` of the handle. Its error is the error of `close`.
    pub async fn flush(&self, ino: Ino, fh: Fh, caller: &Caller) -> DriveResult<()> {
        todo!()
    }

    /// The last `close` of the handle.
    pub async fn release(&self, ino: Ino, fh: Fh) -> DriveResult<()> {
        todo!()
    }

    /// Makes what was written durable.
    pub async fn fsync(&self, ino: Ino, fh: Fh, caller: &Caller) -> DriveResult<()> {
        todo!()
    }

    /// Opens a folder: its rows are those of this moment.
    pub async fn open_dir(&self, ino: Ino, caller: &Caller) -> DriveResult<Fh> {
        todo!()
    }

    /// The next rows after `offset`, a bounded number at a time; none at the end.
    pub async fn read_dir(&self, ino: Ino, fh: Fh, offset: u64) -> DriveResult<Vec<DirEntry>> {
        todo!()
    }

    /// Closes a folder.
    pub async fn release_dir(&self, ino: Ino, fh: Fh) -> DriveResult<()> {
        todo!()
    }

    /// `fsync` on a folder: from a process that did not write into a draft, commits it.
    pub async fn sync_dir(&self, ino: Ino, fh: Fh, caller: &Caller) -> DriveResult<()> {
        todo!()
    }

    /// Room in the account and on the staging disk.
    pub async fn statfs(&self) -> DriveResult<FileSystemStatus> {
        todo!()
    }

    /// One extended attribute.
    pub async fn get_xattr(&self, ino: Ino, name: &OsStr, caller: &Caller) -> DriveResult<Vec<u8>> {
        todo!()
    }

    /// Sets an extended attribute.
    pub async fn set_xattr(
        &self,
        ino: Ino,
        name: &OsStr,
        value: &[u8],
        mode: XattrMode,
        caller: &Caller,
    ) -> DriveResult<()> {
        todo!()
    }

    /// Names of the extended attributes.
    pub async fn list_xattr(&self, ino: Ino, caller: &Caller) -> DriveResult<Vec<OsString>> {
        todo!()
    }

    /// Removes an extended attribute.
    pub async fn remove_xattr(&self, ino: Ino, name: &OsStr, caller: &Caller) -> DriveResult<()> {
        todo!()
    }
}
