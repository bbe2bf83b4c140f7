//! What the adapter to the kernel needs for inotify: who makes operations for watchers, and the answers to them.
//!
//! The requests of the process that repeats changes are answered without an effect.

use std::ffi::OsStr;
use std::sync::Arc;

use crate::drive::error::DriveResult;
use crate::drive::inotify::InotifyHelper;
use crate::drive::mount::Mount;
use crate::drive::ops::inotify::{
    lookup_of_helper, make_of_helper, remove_of_helper, touch_of_helper,
};
use crate::drive::posix::{Entry, Ino};

/// The reports to inotify.
pub struct InotifyReports<'d> {
    pub(super) mount: &'d Mount,
}

impl<'d> InotifyReports<'d> {
    /// Sets what finds watchers and makes operations for them.
    pub fn attach(&self, helper: Arc<dyn InotifyHelper>) {
        self.mount.inotify().attach(helper);
    }

    /// A program made a request: it may watch by now.
    pub fn was_used(&self) {
        self.mount.inotify().was_used();
    }

    /// The requests of the helper; `None` for every other program.
    pub fn of_helper(&self, pid: u32) -> Option<HelperRequests<'d>> {
        let is_helper = self.mount.inotify().is_helper(pid);
        is_helper.then_some(HelperRequests { mount: self.mount })
    }
}

/// What the helper may request.
pub struct HelperRequests<'d> {
    mount: &'d Mount,
}

impl HelperRequests<'_> {
    /// Looks up a name that the helper makes or removes; `None` for every other name.
    pub fn lookup(&self, parent: Ino, name: &OsStr) -> Option<DriveResult<Entry>> {
        lookup_of_helper(self.mount, parent, name)
    }

    pub fn make(&self, parent: Ino, name: &OsStr) -> DriveResult<Entry> {
        make_of_helper(self.mount, parent, name)
    }

    pub fn remove(&self, parent: Ino, name: &OsStr) -> DriveResult<()> {
        remove_of_helper(self.mount, parent, name)
    }

    /// Sets the times of a file.
    pub fn touch(&self, ino: Ino) -> DriveResult<Entry> {
        touch_of_helper(self.mount, ino)
    }
}
