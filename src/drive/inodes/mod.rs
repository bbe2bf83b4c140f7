//! Inode numbers and kernel cache invalidation.
//!
//! Generic: a node is anything that has an identity.

mod kernel;
mod table;

pub use kernel::{InFlight, KernelCache, KernelLocks};
pub(in crate::drive) use table::Numbered;

use std::sync::{Arc, Mutex, MutexGuard};

use super::posix::Ino;
use kernel::{Correction, Corrections};
use table::InodeTable;

/// The inode numbers that the kernel knows, and the cache invalidations that are still to be sent to it.
pub(super) struct Inodes<N> {
    table: Mutex<InodeTable<N>>,
    corrections: Arc<Corrections>,
}

impl<N: Numbered> Inodes<N> {
    pub(super) fn new(root: N) -> Inodes<N> {
        Inodes {
            table: Mutex::new(InodeTable::new(root)),
            corrections: Arc::default(),
        }
    }

    /// Sets the kernel to correct.
    pub(super) fn attach(&self, kernel: Arc<dyn KernelCache>) {
        self.corrections.attach(kernel);
    }

    /// The task that makes the invalidations; ends with [`Inodes::close`].
    pub(super) fn teller(&self) -> impl Future<Output = ()> + Send + 'static + use<N> {
        Arc::clone(&self.corrections).run()
    }

    pub(super) fn close(&self) {
        self.corrections.close();
    }

    /// A request has begun for which the kernel holds locks; it ends when the result is dropped.
    pub(super) fn in_flight(&self, locks: KernelLocks) -> InFlight {
        Arc::clone(&self.corrections).in_flight(locks)
    }

    /// The node of a number.
    pub(super) fn node(&self, ino: Ino) -> Option<N> {
        self.table().node(ino).cloned()
    }

    /// The number of a node, without a reference.
    pub(super) fn number(&self, node: &N) -> Ino {
        self.table().number(node)
    }

    /// The numbers of several nodes.
    pub(super) fn numbers<'n>(&self, nodes: impl Iterator<Item = &'n N>) -> Vec<Ino>
    where
        N: 'n,
    {
        let table = self.table();
        nodes.map(|node| table.number(node)).collect()
    }

    /// The number of a node, with one more reference.
    pub(super) fn refer(&self, node: &N) -> Ino {
        self.table().refer(node)
    }

    /// Releases references.
    pub(super) fn forget(&self, ino: Ino, count: u64) {
        self.table().forget(ino, count);
    }

    /// A rename made one node into another, which keeps the number.
    pub(super) fn relocate(&self, old: &N, new: N) {
        self.table().relocate(old, new);
    }

    /// Number of inodes that the kernel holds.
    pub(super) fn count(&self) -> usize {
        self.table().count()
    }

    /// A name in a folder changed.
    pub(super) fn entry_changed(&self, parent: &N, name: &str) {
        let parent = self.table().held(parent);
        if let Some(parent) = parent {
            let correction = Correction::Entry(parent, name.into());
            self.corrections.tell(correction);
        }
    }

    /// The attributes of a node changed.
    pub(super) fn attributes_changed(&self, node: &N) {
        let ino = self.table().held(node);
        if let Some(ino) = ino {
            self.corrections.tell(Correction::Attributes(ino));
        }
    }

    /// The content of a node changed. For an open file only the attributes are invalidated, because the kernel
    /// may hold its pages while it waits for our reply.
    pub(super) fn content_changed(&self, node: &N, is_open: impl FnOnce(Ino) -> bool) {
        let ino = self.table().held(node);
        if let Some(ino) = ino {
            self.corrections.tell(match is_open(ino) {
                true => Correction::Attributes(ino),
                false => Correction::Content(ino),
            });
        }
    }

    /// A node was removed from its folder.
    pub(super) fn entry_removed(&self, parent: &N, child: &N, name: &str) {
        let (parent, child) = {
            let table = self.table();
            (table.held(parent), table.held(child))
        };
        let Some(parent) = parent else { return };
        self.corrections.tell(match child {
            Some(child) => Correction::Removed(parent, child, name.into()),
            None => Correction::Entry(parent, name.into()),
        });
    }

    fn table(&self) -> MutexGuard<'_, InodeTable<N>> {
        self.table.lock().expect("the lock is never poisoned")
    }
}
