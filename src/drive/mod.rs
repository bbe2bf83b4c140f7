//! The drive: an account as a tree of files, without a kernel.
//!
//! [`Drive`] is the public face. Its operations are futures that complete at the first poll if no request is
//! needed. It does not know FUSE or errno, can be served in another way, and is tested without a kernel.

mod archive;
mod background;
mod catalog;
mod config;
mod deletions;
mod error;
mod estimates;
mod event_streams;
mod events;
mod failures;
mod files;
mod history;
mod inodes;
mod inotify;
mod inotify_reports;
mod mount;
mod ops;
mod places;
mod posix;
mod reading;
mod refusal;
mod signs;
mod status;
#[cfg(test)]
mod tests;
mod traffic;
mod tree;
mod values;
mod verification;

pub use crate::durable::Answering;
pub use catalog::files_of_zip;
pub use config::{DriveConfig, WebhookConfig};
pub use error::{DriveError, DriveResult};
pub use event_streams::EventStreams;
pub use events::{DriveEvent, EventKind, ItemKind};
pub use history::{HistoryCounts, HistoryEvent, HistoryKind};
pub use inotify::{HelperOperation, InotifyHelper};
pub use inotify_reports::{HelperRequests, InotifyReports};
pub use ops::attributes::NAME_TTL;
pub use places::EMBED_LISTED_WITHIN;
pub use posix::{
    Access, Allocation, Attributes, Caller, DirEntry, Entry, Extent, Fh, FileKind,
    FileSystemStatus, Ino, OpenFlags, Opened, OpenedMode, Readiness, RenameMode, SetAttributes,
    SetTime, XattrMode,
};
pub use refusal::{Refusal, RefusalSender, RefusedUser};
pub use status::{
    CacheStatus, Direction, DraftStatus, FailureLine, FileTransferStatus, JobStatusLine,
    MountStatus, OrphanStatus, RateStatus, RecoveredStatus, TrafficStatus, TransferStatus,
    VerifyStatus,
};

use std::ffi::{OsStr, OsString};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::cache::BlockCache;
use crate::client::Client;
use crate::drive::catalog::{note_away, restore_names, restore_uploaded_assets};
use crate::drive::ops::attributes::getattr;
use crate::drive::ops::control::command;
use crate::drive::ops::create::{make_dir, make_node};
use crate::drive::ops::events::{refresh_for_readers, report_events};
use crate::drive::ops::inotify::report_to_inotify;
use crate::drive::ops::list::{open_dir, read_dir};
use crate::drive::ops::lookup::lookup;
use crate::drive::ops::open::{create, open_file};
use crate::drive::ops::read::{read, seek};
use crate::drive::ops::remove::{remove_dir, remove_file};
use crate::drive::ops::setattr::setattr;
use crate::drive::ops::statfs::statfs;
use crate::drive::ops::sync::sync_dir;
use crate::drive::ops::write::{
    allocate, flush, fsync, is_open_for_writing, release, try_write_staged, write,
};
use crate::drive::ops::xattr::{get_xattr, list_xattr, remove_xattr, set_xattr};
use crate::durable::MetaStore;
use crate::locks::Locked;
pub use crate::outbox::StatusWord;
use crate::outbox::{JobFolder, Outbox, OutboxEvent};
use crate::wire::Event;
pub use values::names::{ends_in_id, split_id, with_ending};

use catalog::{Receiver, follow, keep_pins, probe_until_reachable, store_soon, take_hint, watch};
use failures::OperationKind;
use inotify::Own;
use mount::Mount;
use ops::history::{note_history, remember_standings};
use ops::overwrite::remove_left;
use ops::rename::rename;
use ops::why::{note_outcome, noted, noted_at, tell_refused, told, told_at};
use places::{job_folder_path, mount_status, refusals};

/// One mounted account. Clones share it.
#[derive(Clone)]
pub struct Drive {
    mount: Arc<Mount>,
    tasks: Arc<Mutex<Vec<JoinHandle<()>>>>,
    receiver: Arc<Mutex<Option<Receiver>>>,
}

impl Drive {
    /// Opens the drive and starts its tasks on the current runtime. Sends no request: what an earlier mount
    /// knew is shown at once.
    pub async fn open(
        config: DriveConfig,
        client: Client,
        cache: BlockCache,
        outbox: Outbox,
        events: mpsc::Receiver<OutboxEvent>,
        meta: MetaStore,
    ) -> DriveResult<Drive> {
        let webhook = config.webhook.clone();
        let mount = Arc::new(Mount::new(config, client, cache, outbox, meta));
        restore_uploaded_assets(mount.catalog());
        restore_names(mount.catalog());
        note_away(mount.catalog());
        let receiver = match &webhook {
            Some(webhook) => Some(Receiver::start(mount.catalog(), webhook).await?),
            None => None,
        };
        let noting = Arc::clone(&mount);
        remember_standings(&mount);
        remove_left(&mount);
        let note = move |event: &OutboxEvent| {
            note_outcome(&noting, event);
            note_history(&noting, event);
        };
        let tasks = vec![
            tokio::spawn(follow(Arc::clone(mount.catalog()), events, note)),
            tokio::spawn(watch(Arc::clone(mount.catalog()))),
            tokio::spawn(probe_until_reachable(Arc::clone(mount.catalog()))),
            tokio::spawn(keep_pins(Arc::clone(mount.catalog()))),
            tokio::spawn(store_soon(Arc::clone(mount.catalog()))),
            tokio::spawn(report_events(Arc::clone(&mount))),
            tokio::spawn(refresh_for_readers(Arc::clone(&mount))),
            tokio::spawn(report_to_inotify(Arc::clone(&mount))),
        ];
        Ok(Drive {
            mount,
            tasks: Arc::new(Mutex::new(tasks)),
            receiver: Arc::new(Mutex::new(receiver)),
        })
    }

    /// The reports to programs that watch folders with inotify.
    pub fn inotify(&self) -> InotifyReports<'_> {
        InotifyReports { mount: &self.mount }
    }

    /// The path of a file or folder below the mount point, as messages name it; `None` if there is no inode of that number.
    pub fn path_of(&self, ino: Ino) -> Option<String> {
        let node = self.mount.node(ino).ok()?;
        let path = node.path(&self.mount);
        Some(path.trim_start_matches('/').to_owned())
    }

    /// The state of the mount, as far as it is known without requests.
    pub fn status(&self) -> MountStatus {
        mount_status(&self.mount)
    }

    /// The path of a job's text from the top of the drive.
    pub fn job_path(&self, folder: &JobFolder, name: &str) -> String {
        format!("{}/{name}", job_folder_path(&self.mount, folder))
    }

    /// Looks at what an event of the service points to: at once, not at the next poll.
    pub fn heed(&self, event: &Event) {
        take_hint(self.mount.catalog(), event);
    }

    /// The open streams of change events.
    pub fn event_streams(&self) -> EventStreams<'_> {
        EventStreams { mount: &self.mount }
    }

    /// Stops and joins the tasks of the drive. Drafts stay; the outbox is stopped by its owner.
    pub async fn shut_down(&self) {
        self.event_streams().end();
        self.mount.catalog().close();
        let receiver = self.receiver.locked().take();
        if let Some(receiver) = receiver {
            receiver.stop().await;
        }
        let tasks = std::mem::take(&mut *self.tasks.locked());
        for task in tasks {
            // The task that follows the outbox would wait for the outbox.
            task.abort();
            let _ = task.await;
        }
        self.mount.background().end().await;
        if let Err(error) = self.mount.meta().flush() {
            tracing::warn!(error = %error, "the newest data may be requested again");
        }
    }

    /// Finds `name` in `parent`. Each success counts one reference until `forget`.
    pub async fn lookup(&self, parent: Ino, name: &OsStr, caller: &Caller) -> DriveResult<Entry> {
        let result = lookup(&self.mount, parent, name, caller).await;
        noted(&self.mount, parent, Some(name), OperationKind::Look, result)
    }

    /// Releases `count` references to `ino`.
    pub fn forget(&self, ino: Ino, count: u64) {
        self.mount.inodes().forget(ino, count);
    }

    /// The attributes of an inode or an open file.
    pub async fn getattr(&self, ino: Ino, fh: Option<Fh>) -> DriveResult<Entry> {
        let result = getattr(&self.mount, ino, fh).await;
        noted(&self.mount, ino, None, OperationKind::Look, result)
    }

    /// Changes attributes.
    pub async fn setattr(
        &self,
        ino: Ino,
        change: &SetAttributes,
        caller: &Caller,
    ) -> DriveResult<Entry> {
        let result = setattr(&self.mount, ino, change, caller).await;
        told(
            &self.mount,
            (ino, None),
            caller,
            OperationKind::Change,
            result,
        )
    }

    /// The target of a link.
    pub async fn readlink(&self, ino: Ino) -> DriveResult<OsString> {
        let node = self.mount.node(ino)?;
        let result = node.target(&self.mount).await;
        noted(&self.mount, ino, None, OperationKind::Read, result).map(OsString::from)
    }

    /// Creates a folder.
    pub async fn make_dir(
        &self,
        parent: Ino,
        name: &OsStr,
        mode: u32,
        caller: &Caller,
    ) -> DriveResult<Entry> {
        let _under_way = self.mount.inotify().begin(parent, name);
        let result = make_dir(&self.mount, parent, name, mode, caller).await;
        done_here(&self.mount, (parent, name), caller, Own::Made, result)
    }

    /// Creates an empty regular file without opening it.
    pub async fn make_node(
        &self,
        parent: Ino,
        name: &OsStr,
        mode: u32,
        caller: &Caller,
    ) -> DriveResult<Entry> {
        let _under_way = self.mount.inotify().begin(parent, name);
        let result = make_node(&self.mount, parent, name, mode, caller).await;
        done_here(&self.mount, (parent, name), caller, Own::Made, result)
    }

    /// Refuses to create anything but files and folders: links, pipes, devices.
    pub async fn make_other(
        &self,
        parent: Ino,
        name: &OsStr,
        caller: &Caller,
    ) -> DriveResult<Entry> {
        let result = Err(refusals::only_files_and_folders());
        told(
            &self.mount,
            (parent, Some(name)),
            caller,
            OperationKind::Link,
            result,
        )
    }

    /// Removes a file or a link.
    pub async fn remove_file(&self, parent: Ino, name: &OsStr, caller: &Caller) -> DriveResult<()> {
        let _under_way = self.mount.inotify().begin(parent, name);
        let result = remove_file(&self.mount, parent, name, caller).await;
        done_here(&self.mount, (parent, name), caller, Own::Removed, result)
    }

    pub async fn remove_dir(&self, parent: Ino, name: &OsStr, caller: &Caller) -> DriveResult<()> {
        let _under_way = self.mount.inotify().begin(parent, name);
        let result = remove_dir(&self.mount, parent, name, caller).await;
        done_here(&self.mount, (parent, name), caller, Own::Removed, result)
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
        let inotify = self.mount.inotify();
        let _under_way =
            [(parent, name), (new_parent, new_name)].map(|(at, it)| inotify.begin(at, it));
        let result = rename(
            &self.mount,
            (parent, name),
            (new_parent, new_name),
            mode,
            caller,
        )
        .await;
        if result.is_ok() {
            inotify.own_rename((parent, name.to_str()), (new_parent, new_name.to_str()));
            let _ = noted(
                &self.mount,
                new_parent,
                Some(new_name),
                OperationKind::Name,
                Ok(()),
            );
        }
        told(
            &self.mount,
            (parent, Some(name)),
            caller,
            OperationKind::Name,
            result,
        )
    }

    /// Opens an existing file.
    pub async fn open_file(
        &self,
        ino: Ino,
        flags: OpenFlags,
        caller: &Caller,
    ) -> DriveResult<Opened> {
        let result = open_file(&self.mount, ino, flags, caller).await;
        if flags.access.writes() {
            tell_refused(&self.mount, (ino, None), caller, &result);
        }
        match result {
            Ok(Opened { fh, .. }) => noted_at(&self.mount, ino, fh, OperationKind::Read, result),
            // After a refused open for both, programs open the file for reading alone, which ends the failure.
            Err(_) if flags.access == Access::Write || flags.truncate => {
                noted(&self.mount, ino, None, OperationKind::Write, result)
            }
            Err(_) => noted(&self.mount, ino, None, OperationKind::Read, result),
        }
    }

    /// Closes a handle for writing that the kernel cannot open, because it reads the file from the cache for another program.
    pub async fn refuse_writer(&self, ino: Ino, fh: Fh, caller: &Caller) -> DriveResult<Opened> {
        self.release(ino, fh).await?;
        let path = self.mount.node(ino)?.path(&self.mount);
        let result = Err(refusals::read_by_others(&path));
        tell_refused(&self.mount, (ino, None), caller, &result);
        noted(&self.mount, ino, None, OperationKind::Write, result)
    }

    /// Creates a file, or opens the existing one, and counts a reference as `lookup` does.
    pub async fn create(
        &self,
        parent: Ino,
        name: &OsStr,
        mode: u32,
        flags: OpenFlags,
        caller: &Caller,
    ) -> DriveResult<(Entry, Opened)> {
        let _under_way = self.mount.inotify().begin(parent, name);
        let result = create(&self.mount, parent, name, mode, flags, caller).await;
        done_here(&self.mount, (parent, name), caller, Own::Made, result)
    }

    /// Reads; shorter than asked only at the end of the file.
    pub async fn read(&self, ino: Ino, fh: Fh, offset: u64, len: u32) -> DriveResult<Bytes> {
        let result = read(&self.mount, fh, offset, len).await;
        self.mount.traffic().note_read(&result);
        noted_at(&self.mount, ino, fh, OperationKind::Read, result)
    }

    /// Writes all of `data`.
    pub async fn write(&self, ino: Ino, fh: Fh, offset: u64, data: &[u8]) -> DriveResult<u32> {
        let result = write(&self.mount, fh, offset, data).await;
        self.mount.traffic().note_written(&result);
        told_at(&self.mount, ino, fh, OperationKind::Write, result)
    }

    /// Writes all of `data` without a copy if only the local disk is needed; `None` if [`Drive::write`] is
    /// needed.
    pub fn try_write_staged(
        &self,
        ino: Ino,
        fh: Fh,
        offset: u64,
        data: &[u8],
    ) -> Option<DriveResult<u32>> {
        let result = try_write_staged(&self.mount, fh, offset, data)?;
        self.mount.traffic().note_written(&result);
        Some(told_at(&self.mount, ino, fh, OperationKind::Write, result))
    }

    /// True if closing the handle may wait for the disk.
    pub fn is_open_for_writing(&self, fh: Fh) -> bool {
        is_open_for_writing(&self.mount, fh)
    }

    /// The first data or hole at or after an offset; `None` if there is none.
    pub async fn seek(
        &self,
        ino: Ino,
        fh: Fh,
        offset: u64,
        what: Extent,
    ) -> DriveResult<Option<u64>> {
        let result = seek(&self.mount, ino, fh, offset, what).await;
        noted_at(&self.mount, ino, fh, OperationKind::Read, result)
    }

    /// Reserves disk space, or frees it.
    pub async fn allocate(
        &self,
        ino: Ino,
        fh: Fh,
        offset: u64,
        len: u64,
        how: Allocation,
    ) -> DriveResult<()> {
        let result = allocate(&self.mount, fh, offset, len, how);
        noted_at(&self.mount, ino, fh, OperationKind::Change, result)
    }

    /// Handles one `close`; its error is the error of `close`.
    pub async fn flush(&self, ino: Ino, fh: Fh, caller: &Caller) -> DriveResult<()> {
        let may_have_written = self.may_have_written(fh);
        let result = flush(&self.mount, fh, caller).await;
        tell_refused(&self.mount, (ino, None), caller, &result);
        match result {
            Ok(()) if !may_have_written => Ok(()),
            result => noted_at(&self.mount, ino, fh, OperationKind::Close, result),
        }
    }

    /// Handles the last `close`.
    pub async fn release(&self, ino: Ino, fh: Fh) -> DriveResult<()> {
        // The handle is gone afterwards.
        let opener = self.mount.handles().file(fh).map(|open| open.opened_by);
        let may_have_written = self.may_have_written(fh);
        let result = release(&self.mount, fh).await;
        if let Ok(opener) = opener {
            tell_refused(&self.mount, (ino, None), &opener, &result);
        }
        match result {
            Ok(()) if !may_have_written => Ok(()),
            result => noted(&self.mount, ino, None, OperationKind::Close, result),
        }
    }

    /// False for a handle that only reads, or through which nothing was written: its close does not end an earlier failure.
    fn may_have_written(&self, fh: Fh) -> bool {
        let open = self.mount.handles().file(fh);
        open.is_ok_and(|open| open.may_have_written())
    }

    /// Makes what was written durable.
    pub async fn fsync(&self, ino: Ino, fh: Fh) -> DriveResult<()> {
        let result = fsync(&self.mount, fh).await;
        told_at(&self.mount, ino, fh, OperationKind::Close, result)
    }

    /// Opens a folder with its present rows.
    pub async fn open_dir(&self, ino: Ino, caller: &Caller) -> DriveResult<Fh> {
        let result = open_dir(&self.mount, ino, caller).await;
        noted(&self.mount, ino, None, OperationKind::Read, result)
    }

    /// The next rows after `offset`, up to a limit; empty at the end.
    pub async fn read_dir(&self, ino: Ino, fh: Fh, offset: u64) -> DriveResult<Vec<DirEntry>> {
        let result = read_dir(&self.mount, fh, offset).await;
        noted(&self.mount, ino, None, OperationKind::Read, result)
    }

    /// Closes a folder.
    pub async fn release_dir(&self, fh: Fh) -> DriveResult<()> {
        self.mount.handles().remove_folder(fh);
        self.mount.deletions().was_closed(fh);
        Ok(())
    }

    /// Runs a command that was sent to a `ctl` file over ioctl(2). The file may be open for reading only, so who may
    /// write it is checked here.
    pub async fn command(&self, ino: Ino, line: &str, caller: &Caller) -> DriveResult<()> {
        let result = command(&self.mount, ino, line, caller).await;
        noted(&self.mount, ino, None, OperationKind::Command, result)
    }

    /// `fsync` on a folder: commits a draft if the process did not write into it.
    pub async fn sync_dir(&self, ino: Ino, caller: &Caller) -> DriveResult<()> {
        let result = sync_dir(&self.mount, ino, caller).await;
        noted(&self.mount, ino, None, OperationKind::Close, result)
    }

    /// Free space in the account and on the staging disk.
    pub async fn statfs(&self) -> DriveResult<FileSystemStatus> {
        statfs(&self.mount).await
    }

    /// One extended attribute.
    pub async fn get_xattr(&self, ino: Ino, name: &OsStr) -> DriveResult<Vec<u8>> {
        get_xattr(&self.mount, ino, name).await
    }

    /// Sets an extended attribute.
    pub async fn set_xattr(
        &self,
        ino: Ino,
        name: &OsStr,
        value: &[u8],
        mode: XattrMode,
    ) -> DriveResult<()> {
        let result = set_xattr(&self.mount, ino, name, value, mode).await;
        match name.as_encoded_bytes().starts_with(b"user.") {
            true => noted(&self.mount, ino, None, OperationKind::Attribute, result),
            // Tools that copy try to set attributes of the system, and continue without them.
            false => result,
        }
    }

    /// Names of the extended attributes.
    pub async fn list_xattr(&self, ino: Ino) -> DriveResult<Vec<OsString>> {
        list_xattr(&self.mount, ino).await
    }

    /// Removes an extended attribute.
    pub async fn remove_xattr(&self, ino: Ino, name: &OsStr) -> DriveResult<()> {
        let result = remove_xattr(&self.mount, ino, name).await;
        noted(&self.mount, ino, None, OperationKind::Attribute, result)
    }
}

/// Notes the outcome of making or removing a name, as [`told`] does. The kernel itself reports to inotify what succeeded.
fn done_here<T>(
    mount: &Mount,
    (parent, name): (Ino, &OsStr),
    caller: &Caller,
    done: Own,
    result: DriveResult<T>,
) -> DriveResult<T> {
    if result.is_ok() {
        mount.inotify().own(parent, name.to_str(), done);
    }
    let kind = match done {
        Own::Made => OperationKind::Name,
        Own::Removed => OperationKind::Remove,
    };
    told(mount, (parent, Some(name)), caller, kind, result)
}
