//! Inode numbers, what they stand for, and what the kernel is told about them.
//!
//! Knows nothing of paths: a thing is whatever has an identity.

mod kernel;
mod table;

pub use kernel::KernelCache;
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

    /// From now on this kernel is told.
    pub(super) fn attach(&self, kernel: Arc<dyn KernelCache>) {
        self.corrections.attach(kernel);
    }

    /// The task that tells the kernel; it ends with [`Inodes::close`].
    pub(super) fn teller(&self) -> impl Future<Output = ()> + Send + 'static + use<N> {
        Arc::clone(&self.corrections).run()
    }

    pub(super) fn close(&self) {
        self.corrections.close();
    }

    /// What a number stands for.
    pub(super) fn node(&self, ino: Ino) -> Option<N> {
        self.table().node(ino).cloned()
    }

    /// The number of a thing, without a reference.
    pub(super) fn number(&self, node: &N) -> Ino {
        self.table().number(node)
    }

    /// The numbers of many things.
    pub(super) fn numbers<'n>(&self, nodes: impl Iterator<Item = &'n N>) -> Vec<Ino>
    where
        N: 'n,
    {
        let table = self.table();
        nodes.map(|node| table.number(node)).collect()
    }

    /// The number of a thing, with one more reference.
    pub(super) fn refer(&self, node: &N) -> Ino {
        self.table().refer(node)
    }

    /// Takes references back.
    pub(super) fn forget(&self, ino: Ino, count: u64) {
        self.table().forget(ino, count);
    }

    /// A rename made one thing into another, which keeps the number.
    pub(super) fn relocate(&self, old: &N, new: N) {
        self.table().relocate(old, new);
    }

    /// How many numbers are held.
    pub(super) fn count(&self) -> usize {
        self.table().count()
    }

    /// A name in a folder changed.
    pub(super) fn tell_entry(&self, parent: &N, name: &str) {
        let parent = self.table().held(parent);
        if let Some(parent) = parent {
            let correction = Correction::Entry(parent, name.into());
            self.corrections.tell(correction);
        }
    }

    /// A thing looks otherwise.
    pub(super) fn tell_attributes(&self, node: &N) {
        let ino = self.table().held(node);
        if let Some(ino) = ino {
            self.corrections.tell(Correction::Attributes(ino));
        }
    }

    /// Pages of a thing are no longer true. Of one that is open the kernel is only told that it looks
    /// otherwise, because it may hold its pages while it waits for us.
    pub(super) fn tell_content(&self, node: &N, is_open: impl FnOnce(Ino) -> bool) {
        let ino = self.table().held(node);
        if let Some(ino) = ino {
            self.corrections.tell(match is_open(ino) {
                true => Correction::Attributes(ino),
                false => Correction::Content(ino),
            });
        }
    }

    /// A thing is gone from its folder.
    pub(super) fn tell_removed(&self, parent: &N, child: &N, name: &str) {
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
        self.table.lock().expect("no panic while inodes are held")
    }
}
