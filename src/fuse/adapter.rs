//! The kernel's operations; each is translated and passed to the drive.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use fuser::{
    BsdFileFlags, Errno, FileHandle, Filesystem, INodeNo, InitFlags, IoctlFlags, KernelConfig,
    LockOwner, OpenFlags, PollEvents, PollFlags, PollNotifier, RenameFlags, ReplyAttr, ReplyCreate,
    ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyIoctl, ReplyLseek, ReplyOpen,
    ReplyPoll, ReplyStatfs, ReplyWrite, ReplyXattr, Request, TimeOrNow, WriteFlags,
};

use crate::drive::{
    Allocation, Caller, Drive, DriveResult, Extent, Fh, HelperRequests, Readiness, SetAttributes,
};

use super::command::command_in;
use super::dispatch::{Dispatcher, Route};
use super::errno::errno;
use super::modes::OpenModes;
use super::reply::{ClosedFile, CreatedFile, OpenedFile, Reply, Xattr};
use super::translate::{caller, ino, open_flags, permissions, rename_mode, set_time, xattr_mode};
use super::unanswered::KernelCall;

/// Maximum length of one write request; the kernel may use less.
const MAX_WRITE_LEN_BYTES: u32 = 1 << 20;
/// Maximum number of the kernel's background requests (readahead, direct I/O).
const MAX_BACKGROUND_REQUESTS: u16 = 64;
/// Number of stacked file systems below a backing file: 2 allows overlayfs.
const MAX_STACK_DEPTH: u32 = 2;

/// Implements fuser's trait by the drive.
pub(super) struct Adapter {
    drive: Drive,
    dispatcher: Dispatcher,
    modes: Arc<OpenModes>,
}

impl Adapter {
    pub(super) fn new(drive: Drive, dispatcher: Dispatcher, modes: Arc<OpenModes>) -> Adapter {
        Adapter {
            drive,
            dispatcher,
            modes,
        }
    }

    /// The drive and the caller of a request, for the work that [`Adapter::run`] gets.
    fn asked(&self, request: &Request) -> (Drive, Caller) {
        (self.drive.clone(), caller(request))
    }

    /// Runs an operation of the drive and sends its result or errno as the reply.
    fn run<T: Send + 'static>(
        &self,
        route: Route,
        call: KernelCall,
        reply: impl Reply<T>,
        work: impl Future<Output = DriveResult<T>> + Send + 'static,
    ) {
        self.drive.inotify().was_used();
        let give = move |result| reply.give(result);
        self.dispatcher.answer(route, call, work, give);
    }

    /// The helper for inotify, if the request is its. Its requests are answered on this thread.
    fn helper(&self, request: &Request) -> Option<HelperRequests<'_>> {
        self.drive.inotify().of_helper(request.pid())
    }

    /// Refuses to create a link, a pipe or a device.
    fn refuse_other(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let name = name.to_owned();
        let (drive, caller) = self.asked(request);
        let work = async move { drive.make_other(ino(parent), &name, &caller).await };
        self.run(Route::Memory, call("mknod", parent, request), reply, work);
    }

    /// Reads a stream. It may wait for ever, so a signal that the caller handles ends the wait too.
    fn read_stream(
        &self,
        request: &Request,
        number: INodeNo,
        fh: FileHandle,
        size: u32,
        flags: OpenFlags,
        reply: ReplyData,
    ) {
        let (drive, waits) = (self.drive.clone(), flags.0 & libc::O_NONBLOCK == 0);
        let work = async move {
            match waits {
                true => drive.read(ino(number), Fh(fh.0), 0, size).await,
                false => drive.event_streams().read_at_hand(Fh(fh.0), size),
            }
        };
        self.run(Route::Stream, call("read", number, request), reply, work);
    }
}

fn call(name: &'static str, number: INodeNo, request: &Request) -> KernelCall {
    KernelCall {
        name,
        ino: ino(number),
        caller: caller(request),
    }
}

/// Sends a result of the drive that is there already.
fn give<T>(reply: impl Reply<T>, result: DriveResult<T>) {
    reply.give(result.map_err(|error| errno(&error)));
}

impl Filesystem for Adapter {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let wanted = [
            InitFlags::FUSE_ATOMIC_O_TRUNC,
            InitFlags::FUSE_PARALLEL_DIROPS,
            InitFlags::FUSE_ASYNC_DIO,
            InitFlags::FUSE_HANDLE_KILLPRIV_V2,
        ];
        // Not FUSE_CACHE_SYMLINKS: the kernel would keep the target of a link for as long as it keeps the inode, and a link to a
        // result leads to another model after the next job.
        for flag in wanted {
            // Features that an older kernel lacks only affect speed.
            let _ = config.add_capabilities(flag);
        }
        if config
            .add_capabilities(InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP)
            .is_ok()
        {
            self.modes.allow_direct_writes();
        }
        if config.add_capabilities(InitFlags::FUSE_PASSTHROUGH).is_ok()
            && config.set_max_stack_depth(MAX_STACK_DEPTH).is_ok()
        {
            self.modes.offer_passthrough();
        }
        let _ = config.set_max_write(MAX_WRITE_LEN_BYTES);
        let _ = config.set_max_background(MAX_BACKGROUND_REQUESTS);
        let _ = config.set_max_readahead(MAX_WRITE_LEN_BYTES);
        Ok(())
    }

    fn lookup(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if let Some(answer) = self
            .helper(request)
            .and_then(|helper| helper.lookup(ino(parent), name))
        {
            return give(reply, answer);
        }
        let name = name.to_owned();
        let (drive, caller) = self.asked(request);
        let work = async move { drive.lookup(ino(parent), &name, &caller).await };
        self.run(Route::Memory, call("lookup", parent, request), reply, work);
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
        let fh = fh.map(|fh| Fh(fh.0));
        let drive = self.drive.clone();
        let work = async move { drive.getattr(ino(number), fh).await };
        self.run(Route::Memory, call("getattr", number, request), reply, work);
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
        if let Some(helper) = self.helper(request) {
            return give(reply, helper.touch(ino(number)));
        }
        let change = SetAttributes {
            mode: mode.map(|mode| permissions(mode, 0)),
            uid,
            gid,
            size,
            atime: atime.map(set_time),
            mtime: mtime.map(set_time),
            fh: fh.map(|fh| Fh(fh.0)),
        };
        let (drive, caller) = self.asked(request);
        let work = async move { drive.setattr(ino(number), &change, &caller).await };
        self.run(
            Route::Blocking,
            call("setattr", number, request),
            reply,
            work,
        );
    }

    fn readlink(&self, request: &Request, number: INodeNo, reply: ReplyData) {
        let drive = self.drive.clone();
        let work = async move { drive.readlink(ino(number)).await };
        self.run(
            Route::Memory,
            call("readlink", number, request),
            reply,
            work,
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
        if let Some(helper) = self.helper(request) {
            return give(reply, helper.make(ino(parent), name));
        }
        if mode & libc::S_IFMT != libc::S_IFREG {
            return self.refuse_other(request, parent, name, reply);
        }
        let (name, mode) = (name.to_owned(), permissions(mode, umask));
        let (drive, caller) = self.asked(request);
        let work = async move { drive.make_node(ino(parent), &name, mode, &caller).await };
        self.run(Route::Blocking, call("mknod", parent, request), reply, work);
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
        if let Some(helper) = self.helper(request) {
            return give(reply, helper.make(ino(parent), name));
        }
        let (name, mode) = (name.to_owned(), permissions(mode, umask));
        let (drive, caller) = self.asked(request);
        let work = async move { drive.make_dir(ino(parent), &name, mode, &caller).await };
        self.run(Route::Blocking, call("mkdir", parent, request), reply, work);
    }

    fn unlink(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        if let Some(helper) = self.helper(request) {
            return give(reply, helper.remove(ino(parent), name));
        }
        let name = name.to_owned();
        let (drive, caller) = self.asked(request);
        let work = async move { drive.remove_file(ino(parent), &name, &caller).await };
        self.run(
            Route::Blocking,
            call("unlink", parent, request),
            reply,
            work,
        );
    }

    fn rmdir(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        if let Some(helper) = self.helper(request) {
            return give(reply, helper.remove(ino(parent), name));
        }
        let name = name.to_owned();
        let (drive, caller) = self.asked(request);
        let work = async move { drive.remove_dir(ino(parent), &name, &caller).await };
        self.run(Route::Blocking, call("rmdir", parent, request), reply, work);
    }

    fn symlink(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        _target: &Path,
        reply: ReplyEntry,
    ) {
        if let Some(helper) = self.helper(request) {
            return give(reply, helper.make(ino(parent), name));
        }
        self.refuse_other(request, parent, name, reply);
    }

    fn link(
        &self,
        request: &Request,
        _number: INodeNo,
        parent: INodeNo,
        name: &OsStr,
        reply: ReplyEntry,
    ) {
        self.refuse_other(request, parent, name, reply);
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
        let (from, name) = (ino(parent), name.to_owned());
        let (to, new_name) = (ino(new_parent), new_name.to_owned());
        let (drive, caller) = self.asked(request);
        let work = async move {
            drive
                .rename(from, &name, to, &new_name, mode, &caller)
                .await
        };
        self.run(
            Route::Blocking,
            call("rename", parent, request),
            reply,
            work,
        );
    }

    fn open(&self, request: &Request, number: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let (ino, flags) = (ino(number), open_flags(flags));
        let modes = Arc::clone(&self.modes);
        let reply = OpenedFile {
            reply,
            ino,
            modes: Arc::clone(&modes),
        };
        let (drive, caller) = self.asked(request);
        let work = async move {
            let opened = drive.open_file(ino, flags, &caller).await?;
            if modes.refuses(ino, flags.access) {
                return drive.refuse_writer(ino, opened.fh, &caller).await;
            }
            Ok(opened)
        };
        let route = match flags.access.writes() || flags.truncate {
            true => Route::Blocking,
            false => Route::Disk,
        };
        self.run(route, call("open", number, request), reply, work);
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
        let (name, mode) = (name.to_owned(), permissions(mode, umask));
        let flags = open_flags(OpenFlags(flags));
        let modes = Arc::clone(&self.modes);
        let (drive, caller) = self.asked(request);
        let used = Arc::clone(&modes);
        let work = async move {
            let (entry, opened) = drive
                .create(ino(parent), &name, mode, flags, &caller)
                .await?;
            let ino = entry.attributes.ino;
            if used.refuses(ino, flags.access) {
                let refused = drive.refuse_writer(ino, opened.fh, &caller).await;
                drive.forget(ino, 1);
                return refused.map(|opened| (entry, opened));
            }
            Ok((entry, opened))
        };
        let reply = CreatedFile { reply, modes };
        self.run(
            Route::Blocking,
            call("create", parent, request),
            reply,
            work,
        );
    }

    fn read(
        &self,
        request: &Request,
        number: INodeNo,
        fh: FileHandle,
        offset: u64,
        size: u32,
        flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        if self.drive.event_streams().has(Fh(fh.0)) {
            return self.read_stream(request, number, fh, size, flags, reply);
        }
        let drive = self.drive.clone();
        let work = async move { drive.read(ino(number), Fh(fh.0), offset, size).await };
        self.run(Route::Disk, call("read", number, request), reply, work);
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
        let (ino, fh) = (ino(number), Fh(fh.0));
        let staged = || self.drive.try_write_staged(ino, fh, offset, data);
        match self.dispatcher.try_disk_now(staged) {
            Some(Ok(Some(written))) => give(reply, written),
            Some(Err(errno)) => reply.give(Err(errno)),
            // No session thread is free, the disk is full, or the file is not staged.
            Some(Ok(None)) | None => {
                let data = data.to_vec();
                let drive = self.drive.clone();
                let work = async move { drive.write(ino, fh, offset, &data).await };
                self.run(Route::Blocking, call("write", number, request), reply, work);
            }
        }
    }

    /// Only the stream of events is ever not ready.
    fn poll(
        &self,
        _request: &Request,
        _number: INodeNo,
        fh: FileHandle,
        notifier: PollNotifier,
        _events: PollEvents,
        flags: PollFlags,
        reply: ReplyPoll,
    ) {
        let schedule = flags.contains(PollFlags::FUSE_POLL_SCHEDULE_NOTIFY);
        let wake = schedule.then_some(|| {
            if let Err(error) = notifier.notify() {
                tracing::debug!(%error, "the kernel took no wake-up of a poll");
            }
        });
        reply.poll(match self.drive.event_streams().poll(Fh(fh.0), wake) {
            Readiness::Always => PollEvents::POLLIN | PollEvents::POLLOUT,
            Readiness::Now => PollEvents::POLLIN,
            Readiness::Later => PollEvents::empty(),
        });
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
        const HOLE: i32 = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        let how = match mode {
            0 => Allocation::Extend,
            libc::FALLOC_FL_KEEP_SIZE => Allocation::KeepSize,
            HOLE => Allocation::Hole,
            _ => Allocation::Other,
        };
        let (ino, fh) = (ino(number), Fh(fh.0));
        let drive = self.drive.clone();
        let work = async move { drive.allocate(ino, fh, offset, length, how).await };
        self.run(
            Route::Blocking,
            call("fallocate", number, request),
            reply,
            work,
        );
    }

    fn lseek(
        &self,
        request: &Request,
        number: INodeNo,
        fh: FileHandle,
        offset: i64,
        whence: i32,
        reply: ReplyLseek,
    ) {
        let what = match whence {
            libc::SEEK_DATA => Extent::Data,
            libc::SEEK_HOLE => Extent::Hole,
            // The kernel answers the others itself.
            _ => return reply.error(Errno::EINVAL),
        };
        let Ok(offset) = u64::try_from(offset) else {
            return reply.error(Errno::ENXIO);
        };
        let drive = self.drive.clone();
        let work = async move { drive.seek(ino(number), Fh(fh.0), offset, what).await };
        self.run(Route::Disk, call("lseek", number, request), reply, work);
    }

    fn flush(
        &self,
        request: &Request,
        number: INodeNo,
        fh: FileHandle,
        _lock_owner: LockOwner,
        reply: ReplyEmpty,
    ) {
        let (drive, caller) = self.asked(request);
        let work = async move { drive.flush(ino(number), Fh(fh.0), &caller).await };
        self.run(Route::Blocking, call("flush", number, request), reply, work);
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
        let (ino, fh, modes) = (ino(number), Fh(fh.0), Arc::clone(&self.modes));
        let reply = ClosedFile { reply, ino, modes };
        let drive = self.drive.clone();
        let work = async move { drive.release(ino, fh).await };
        let route = match self.drive.is_open_for_writing(fh) {
            true => Route::Blocking,
            false => Route::Memory,
        };
        self.run(route, call("release", number, request), reply, work);
    }

    fn fsync(
        &self,
        request: &Request,
        number: INodeNo,
        fh: FileHandle,
        _datasync: bool,
        reply: ReplyEmpty,
    ) {
        let drive = self.drive.clone();
        let work = async move { drive.fsync(ino(number), Fh(fh.0)).await };
        self.run(Route::Blocking, call("fsync", number, request), reply, work);
    }

    fn opendir(&self, request: &Request, number: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        let (drive, caller) = self.asked(request);
        let work = async move { drive.open_dir(ino(number), &caller).await };
        self.run(Route::Memory, call("opendir", number, request), reply, work);
    }

    fn readdir(
        &self,
        request: &Request,
        number: INodeNo,
        fh: FileHandle,
        offset: u64,
        reply: ReplyDirectory,
    ) {
        let drive = self.drive.clone();
        let work = async move { drive.read_dir(ino(number), Fh(fh.0), offset).await };
        self.run(Route::Memory, call("readdir", number, request), reply, work);
    }

    fn releasedir(
        &self,
        request: &Request,
        number: INodeNo,
        fh: FileHandle,
        _flags: OpenFlags,
        reply: ReplyEmpty,
    ) {
        let drive = self.drive.clone();
        let work = async move { drive.release_dir(Fh(fh.0)).await };
        self.run(
            Route::Memory,
            call("releasedir", number, request),
            reply,
            work,
        );
    }

    fn fsyncdir(
        &self,
        request: &Request,
        number: INodeNo,
        _fh: FileHandle,
        _datasync: bool,
        reply: ReplyEmpty,
    ) {
        let (drive, caller) = self.asked(request);
        let work = async move { drive.sync_dir(ino(number), &caller).await };
        self.run(
            Route::Blocking,
            call("fsyncdir", number, request),
            reply,
            work,
        );
    }

    fn ioctl(
        &self,
        request: &Request,
        number: INodeNo,
        _fh: FileHandle,
        _flags: IoctlFlags,
        opcode: u32,
        argument: &[u8],
        _out_size: u32,
        reply: ReplyIoctl,
    ) {
        let Some(line) = command_in(opcode, argument) else {
            return reply.error(Errno::ENOTTY);
        };
        let (drive, caller) = self.asked(request);
        let work = async move { drive.command(ino(number), &line, &caller).await };
        self.run(Route::Blocking, call("ioctl", number, request), reply, work);
    }

    fn statfs(&self, request: &Request, number: INodeNo, reply: ReplyStatfs) {
        let drive = self.drive.clone();
        let work = async move { drive.statfs().await };
        self.run(Route::Memory, call("statfs", number, request), reply, work);
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
        let (ino, mode) = (ino(number), xattr_mode(flags));
        let (name, value) = (name.to_owned(), value.to_vec());
        let drive = self.drive.clone();
        let work = async move { drive.set_xattr(ino, &name, &value, mode).await };
        self.run(
            Route::Blocking,
            call("setxattr", number, request),
            reply,
            work,
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
        let name = name.to_owned();
        let drive = self.drive.clone();
        let work = async move { drive.get_xattr(ino(number), &name).await };
        let reply = Xattr { reply, size };
        self.run(
            Route::Memory,
            call("getxattr", number, request),
            reply,
            work,
        );
    }

    fn listxattr(&self, request: &Request, number: INodeNo, size: u32, reply: ReplyXattr) {
        let drive = self.drive.clone();
        let work = async move {
            let mut list = Vec::new();
            for name in drive.list_xattr(ino(number)).await? {
                list.extend_from_slice(name.as_encoded_bytes());
                list.push(0);
            }
            Ok(list)
        };
        let reply = Xattr { reply, size };
        self.run(
            Route::Memory,
            call("listxattr", number, request),
            reply,
            work,
        );
    }

    fn removexattr(&self, request: &Request, number: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let name = name.to_owned();
        let drive = self.drive.clone();
        let work = async move { drive.remove_xattr(ino(number), &name).await };
        self.run(
            Route::Blocking,
            call("removexattr", number, request),
            reply,
            work,
        );
    }
}
