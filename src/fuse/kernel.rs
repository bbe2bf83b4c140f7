//! Implements [`KernelCache`] by fuser's notifier. A name or an inode that the kernel does not know is not an
//! error.

use std::ffi::OsStr;
use std::io;

use fuser::{INodeNo, Notifier};

use crate::drive::{Ino, KernelCache};

/// A negative offset invalidates only attributes, not pages (fuse_kernel.h, FUSE_NOTIFY_INVAL_INODE).
const ATTRIBUTES_ONLY: i64 = -1;

pub(super) struct NotifiedKernel {
    notifier: Notifier,
}

impl NotifiedKernel {
    pub(super) fn new(notifier: Notifier) -> NotifiedKernel {
        NotifiedKernel { notifier }
    }
}

impl KernelCache for NotifiedKernel {
    fn entry_changed(&self, parent: Ino, name: &OsStr) {
        report(self.notifier.inval_entry(INodeNo(parent.0), name));
        report(
            self.notifier
                .inval_inode(INodeNo(parent.0), ATTRIBUTES_ONLY, 0),
        );
    }

    fn attributes_changed(&self, ino: Ino) {
        report(
            self.notifier
                .inval_inode(INodeNo(ino.0), ATTRIBUTES_ONLY, 0),
        );
    }

    fn content_changed(&self, ino: Ino) {
        report(self.notifier.inval_inode(INodeNo(ino.0), 0, 0));
    }

    fn entry_removed(&self, parent: Ino, child: Ino, name: &OsStr) {
        if self
            .notifier
            .delete(INodeNo(parent.0), INodeNo(child.0), name)
            .is_err()
        {
            // The kernel has the name with another inode, or it is a mount point: then only the
            // name can be invalidated.
            report(self.notifier.inval_entry(INodeNo(parent.0), name));
        }
    }
}

fn report(result: io::Result<()>) {
    if let Err(error) = result
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::debug!(%error, "the kernel refused a notification");
    }
}
