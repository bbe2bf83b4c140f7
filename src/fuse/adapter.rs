//! The kernel's operations, each translated and handed to the drive.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use fuser::{
    BsdFileFlags, Errno, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData,
    ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, ReplyXattr,
    Request, TimeOrNow, WriteFlags,
};

use crate::drive::{Drive, Entry, Fh, Opened, SetAttributes};

use super::dispatch::Dispatcher;
use super::modes::{KernelMode, OpenModes};
use super::translate::{
    caller, file_attr, file_type, ino, open_flags, permissions, rename_mode, set_time, xattr_mode,
};

/// Largest write in one request; the kernel takes no more than its page limit allows.
const MAX_WRITE_LEN_BYTES: u32 = 1 << 20;
/// Requests the kernel may have waiting in the background (readahead, direct I/O).
const MAX_BACKGROUND_REQUESTS: u16 = 64;
/// How often a stacked file system may lie under a backing file: 2 allows overlayfs.
const MAX_STACK_DEPTH: u32 = 2;
/// Inode numbers are never used again for something else, so one generation is enough.
const GENERATION: Generation = Generation(0);

/// The drive as fuser sees it.
pub(super) struct Adapter {
    drive: Drive,
    dispatcher: Dispatcher,
    modes: Arc<OpenModes>,
}

impl Adapter {
    pub(super) fn new(drive: Drive, dispatcher: Dispatcher) -> Adapter {
        Adapter {
            drive,
            dispatcher,
            modes: Arc::new(OpenModes::new()),
        }
    }

    /// A clone for one request to own.
    fn drive(&self) -> Drive {
        self.drive.clone()
    }
}

fn reply_entry(reply: ReplyEntry, result: Result<Entry, Errno>) {
    match result {
        Ok(entry) => reply.entry(&entry.ttl, &file_attr(&entry.attributes), GENERATION),
        Err(errno) => reply.error(errno),
    }
}

fn reply_attr(reply: ReplyAttr, result: Result<Entry, Errno>) {
    match result {
        Ok(entry) => reply.attr(&entry.ttl, &file_attr(&entry.attributes)),
        Err(errno) => reply.error(errno),
    }
}

fn reply_empty(reply: ReplyEmpty, result: Result<(), Errno>) {
    match result {
        Ok(()) => reply.ok(),
        Err(errno) => reply.error(errno),
    }
}

/// Size where the caller asks for it, the value where its buffer holds it.
fn reply_xattr(reply: ReplyXattr, size: u32, result: Result<Vec<u8>, Errno>) {
    match result {
        Err(errno) => reply.error(errno),
        Ok(value) if size == 0 => reply.size(u32::try_from(value.len()).unwrap_or(u32::MAX)),
        Ok(value) if value.len() > size as usize => reply.error(Errno::ERANGE),
        Ok(value) => reply.data(&value),
    }
}

impl Filesystem for Adapter {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let wanted = [
            InitFlags::FUSE_ATOMIC_O_TRUNC,
            InitFlags::FUSE_PARALLEL_DIROPS,
            InitFlags::FUSE_ASYNC_DIO,
            InitFlags::FUSE_HANDLE_KILLPRIV_V2,
            InitFlags::FUSE_CACHE_SYMLINKS,
        ];
        for flag in wanted {
            // What an older kernel lacks costs speed, never truth.
            let _ = config.add_capabilities(flag);
        }
        let passthrough = config.add_capabilities(InitFlags::FUSE_PASSTHROUGH).is_ok()
            && config.set_max_stack_depth(MAX_STACK_DEPTH).is_ok();
        self.modes.allow_passthrough(passthrough);
        let _ = config.set_max_write(MAX_WRITE_LEN_BYTES);
        let _ = config.set_max_background(MAX_BACKGROUND_REQUESTS);
        let _ = config.set_max_readahead(MAX_WRITE_LEN_BYTES);
        Ok(())
    }

    fn lookup(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let (drive, name, caller) = (self.drive(), name.to_owned(), caller(request));
        self.dispatcher.answer(
            caller.pid,
            async move { drive.lookup(ino(parent), &name, &caller).await },
            move |result| reply_entry(reply, result),
        );
    }

    fn forget(&self, _request: &Request, number: INodeNo, count: u64) {
        self.drive.forget(ino(number), count);
    }

    fn getattr(
        &self,
        request: &Request,
        number: INodeNo,
        fh: Option<FileHandle>,
        reply: ReplyAttr,
    ) {
        let (drive, caller, fh) = (self.drive(), caller(request), fh.map(|fh| Fh(fh.0)));
        self.dispatcher.answer(
            caller.pid,
            async move { drive.getattr(ino(number), fh, &caller).await },
            move |result| reply_attr(reply, result),
        );
    }

    fn setattr(
        &self,
        request: &Request,
        number: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        fh: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let (drive, caller) = (self.drive(), caller(request));
        let change = SetAttributes {
            mode: mode.map(|mode| permissions(mode, 0)),
            uid,
            gid,
            size,
            atime: atime.map(set_time),
            mtime: mtime.map(set_time),
            fh: fh.map(|fh| Fh(fh.0)),
        };
        self.dispatcher.answer(
            caller.pid,
            async move { drive.setattr(ino(number), &change, &caller).await },
            move |result| reply_attr(reply, result),
        );
    }

    fn readlink(&self, request: &Request, number: INodeNo, reply: ReplyData) {
        let drive = self.drive();
        self.dispatcher.answer(
            request.pid(),
            async move { drive.readlink(ino(number)).await },
            move |result| match result {
                Ok(target) => reply.data(target.as_encoded_bytes()),
                Err(errno) => reply.error(errno),
            },
        );
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _rdev: u32,
        reply: ReplyEntry,
    ) {
        if mode & libc::S_IFMT != libc::S_IFREG {
            return reply.error(Errno::EPERM);
        }
        let (drive, name, caller) = (self.drive(), name.to_owned(), caller(request));
        let mode = permissions(mode, umask);
        self.dispatcher.answer(
            caller.pid,
            async move { drive.make_node(ino(parent), &name, mode, &caller).await },
            move |result| reply_entry(reply, result),
        );
    }

    fn mkdir(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        reply: ReplyEntry,
    ) {
        let (drive, name, caller) = (self.drive(), name.to_owned(), caller(request));
        let mode = permissions(mode, umask);
        self.dispatcher.answer(
            caller.pid,
            async move { drive.make_dir(ino(parent), &name, mode, &caller).await },
            move |result| reply_entry(reply, result),
        );
    }

    fn unlink(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let (drive, name, caller) = (self.drive(), name.to_owned(), caller(request));
        self.dispatcher.answer(
            caller.pid,
            async move { drive.remove_file(ino(parent), &name, &caller).await },
            move |result| reply_empty(reply, result),
        );
    }

    fn rmdir(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let (drive, name, caller) = (self.drive(), name.to_owned(), caller(request));
        self.dispatcher.answer(
            caller.pid,
            async move { drive.remove_dir(ino(parent), &name, &caller).await },
            move |result| reply_empty(reply, result),
        );
    }

    fn symlink(
        &self,
        _request: &Request,
        _parent: INodeNo,
        _name: &OsStr,
        _target: &Path,
        reply: ReplyEntry,
    ) {
        reply.error(Errno::EPERM);
    }

    fn rename(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let Some(mode) = rename_mode(flags) else {
            return reply.error(Errno::EINVAL);
        };
        let (drive, caller) = (self.drive(), caller(request));
        let (name, new_name) = (name.to_owned(), new_name.to_owned());
        self.dispatcher.answer(
            caller.pid,
            async move {
                drive
                    .rename(
                        ino(parent),
                        &name,
                        ino(new_parent),
                        &new_name,
                        mode,
                        &caller,
                    )
                    .await
            },
            move |result| reply_empty(reply, result),
        );
    }

    fn open(&self, request: &Request, number: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let (drive, caller, modes) = (self.drive(), caller(request), Arc::clone(&self.modes));
        let flags = open_flags(flags);
        self.dispatcher.answer(
            caller.pid,
            async move { drive.open_file(ino(number), flags, &caller).await },
            move |result| match result {
                Ok(Opened { fh, mode }) => {
                    let register = |file: &std::fs::File| reply.open_backing(file);
                    match modes.opened(ino(number), &mode, register) {
                        KernelMode::Flags(flags) => reply.opened(FileHandle(fh.0), flags),
                        KernelMode::Backed(backing) => reply.opened_passthrough(
                            FileHandle(fh.0),
                            FopenFlags::empty(),
                            &backing,
                        ),
                    }
                }
                Err(errno) => reply.error(errno),
            },
        );
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let (drive, name, caller) = (self.drive(), name.to_owned(), caller(request));
        let (modes, mode, flags) = (
            Arc::clone(&self.modes),
            permissions(mode, umask),
            open_flags(OpenFlags(flags)),
        );
        self.dispatcher.answer(
            caller.pid,
            async move { drive.create(ino(parent), &name, mode, flags, &caller).await },
            move |result| match result {
                Ok((entry, Opened { fh, mode })) => {
                    let attr = file_attr(&entry.attributes);
                    let register = |file: &std::fs::File| reply.open_backing(file);
                    match modes.opened(entry.attributes.ino, &mode, register) {
                        KernelMode::Flags(flags) => {
                            reply.created(&entry.ttl, &attr, GENERATION, FileHandle(fh.0), flags);
                        }
                        KernelMode::Backed(backing) => reply.created_passthrough(
                            &entry.ttl,
                            &attr,
                            GENERATION,
                            FileHandle(fh.0),
                            FopenFlags::empty(),
                            &backing,
                        ),
                    }
                }
                Err(errno) => reply.error(errno),
            },
        );
    }

    fn read(
        &self,
        request: &Request,
        number: INodeNo,
        fh: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let drive = self.drive();
        self.dispatcher.answer(
            request.pid(),
            async move { drive.read(ino(number), Fh(fh.0), offset, size).await },
            move |result| match result {
                Ok(data) => reply.data(&data),
                Err(errno) => reply.error(errno),
            },
        );
    }

    fn write(
        &self,
        request: &Request,
        number: INodeNo,
        fh: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let (drive, caller) = (self.drive(), caller(request));
        let reply = move |result| match result {
            Ok(len) => reply.written(len),
            Err(errno) => reply.error(errno),
        };
        let staged = || drive.write_staged(ino(number), Fh(fh.0), offset, data);
        match self.dispatcher.at_hand(staged) {
            Ok(Some(written)) => reply(written.map_err(|error| super::errno::errno(&error))),
            Ok(None) => {
                let data = data.to_vec();
                let work = async move {
                    drive
                        .write(ino(number), Fh(fh.0), offset, &data, &caller)
                        .await
                };
                self.dispatcher.answer(caller.pid, work, reply);
            }
            Err(errno) => reply(Err(errno)),
        }
    }

    fn fallocate(
        &self,
        request: &Request,
        number: INodeNo,
        fh: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let keep_size = match mode {
            0 => false,
            libc::FALLOC_FL_KEEP_SIZE => true,
            _ => return reply.error(Errno::ENOTSUP),
        };
        let drive = self.drive();
        self.dispatcher.answer(
            request.pid(),
            async move {
                drive
                    .allocate(ino(number), Fh(fh.0), offset, length, keep_size)
                    .await
            },
            move |result| reply_empty(reply, result),
        );
    }

    fn flush(
        &self,
        request: &Request,
        number: INodeNo,
        fh: FileHandle,
        _lock_owner: LockOwner,
        reply: ReplyEmpty,
    ) {
        let (drive, caller) = (self.drive(), caller(request));
        self.dispatcher.answer(
            caller.pid,
            async move { drive.flush(ino(number), Fh(fh.0), &caller).await },
            move |result| reply_empty(reply, result),
        );
    }

    fn release(
        &self,
        request: &Request,
        number: INodeNo,
        fh: FileHandle,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        let (drive, modes) = (self.drive(), Arc::clone(&self.modes));
        self.dispatcher.answer(
            request.pid(),
            async move { drive.release(ino(number), Fh(fh.0)).await },
            move |result| {
                modes.released(ino(number));
                reply_empty(reply, result);
            },
        );
    }

    fn fsync(
        &self,
        request: &Request,
        number: INodeNo,
        fh: FileHandle,
        _datasync: bool,
        reply: ReplyEmpty,
    ) {
        let (drive, caller) = (self.drive(), caller(request));
        self.dispatcher.answer(
            caller.pid,
            async move { drive.fsync(ino(number), Fh(fh.0), &caller).await },
            move |result| reply_empty(reply, result),
        );
    }

    fn opendir(&self, request: &Request, number: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        let (drive, caller) = (self.drive(), caller(request));
        self.dispatcher.answer(
            caller.pid,
            async move { drive.open_dir(ino(number), &caller).await },
            move |result| match result {
                Ok(fh) => reply.opened(FileHandle(fh.0), FopenFlags::empty()),
                Err(errno) => reply.error(errno),
            },
        );
    }

    fn readdir(
        &self,
        request: &Request,
        number: INodeNo,
        fh: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let drive = self.drive();
        self.dispatcher.answer(
            request.pid(),
            async move { drive.read_dir(ino(number), Fh(fh.0), offset).await },
            move |result| match result {
                Ok(rows) => {
                    for row in rows {
                        let kind = file_type(row.kind);
                        if reply.add(INodeNo(row.ino.0), row.offset, kind, &row.name) {
                            break;
                        }
                    }
                    reply.ok();
                }
                Err(errno) => reply.error(errno),
            },
        );
    }

    fn releasedir(
        &self,
        request: &Request,
        number: INodeNo,
        fh: FileHandle,
        _flags: OpenFlags,
        reply: ReplyEmpty,
    ) {
        let drive = self.drive();
        self.dispatcher.answer(
            request.pid(),
            async move { drive.release_dir(ino(number), Fh(fh.0)).await },
            move |result| reply_empty(reply, result),
        );
    }

    fn fsyncdir(
        &self,
        request: &Request,
        number: INodeNo,
        fh: FileHandle,
        _datasync: bool,
        reply: ReplyEmpty,
    ) {
        let (drive, caller) = (self.drive(), caller(request));
        self.dispatcher.answer(
            caller.pid,
            async move { drive.sync_dir(ino(number), Fh(fh.0), &caller).await },
            move |result| reply_empty(reply, result),
        );
    }

    fn statfs(&self, request: &Request, _number: INodeNo, reply: ReplyStatfs) {
        let drive = self.drive();
        self.dispatcher.answer(
            request.pid(),
            async move { drive.statfs().await },
            move |result| match result {
                Ok(status) => reply.statfs(
                    status.blocks,
                    status.blocks_free,
                    status.blocks_available,
                    status.files,
                    u64::from(u32::MAX),
                    status.block_size,
                    status.name_max,
                    status.block_size,
                ),
                Err(errno) => reply.error(errno),
            },
        );
    }

    fn setxattr(
        &self,
        request: &Request,
        number: INodeNo,
        name: &OsStr,
        value: &[u8],
        flags: i32,
        _position: u32,
        reply: ReplyEmpty,
    ) {
        let (drive, caller) = (self.drive(), caller(request));
        let (name, value, mode) = (name.to_owned(), value.to_vec(), xattr_mode(flags));
        self.dispatcher.answer(
            caller.pid,
            async move {
                drive
                    .set_xattr(ino(number), &name, &value, mode, &caller)
                    .await
            },
            move |result| reply_empty(reply, result),
        );
    }

    fn getxattr(
        &self,
        request: &Request,
        number: INodeNo,
        name: &OsStr,
        size: u32,
        reply: ReplyXattr,
    ) {
        let (drive, name, caller) = (self.drive(), name.to_owned(), caller(request));
        self.dispatcher.answer(
            caller.pid,
            async move { drive.get_xattr(ino(number), &name, &caller).await },
            move |result| reply_xattr(reply, size, result),
        );
    }

    fn listxattr(&self, request: &Request, number: INodeNo, size: u32, reply: ReplyXattr) {
        let (drive, caller) = (self.drive(), caller(request));
        let names = async move {
            let mut list = Vec::new();
            for name in drive.list_xattr(ino(number), &caller).await? {
                list.extend_from_slice(name.as_encoded_bytes());
                list.push(0);
            }
            Ok(list)
        };
        self.dispatcher.answer(caller.pid, names, move |result| {
            reply_xattr(reply, size, result)
        });
    }

    fn removexattr(&self, request: &Request, number: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let (drive, name, caller) = (self.drive(), name.to_owned(), caller(request));
        self.dispatcher.answer(
            caller.pid,
            async move { drive.remove_xattr(ino(number), &name, &caller).await },
            move |result| reply_empty(reply, result),
        );
    }
}
