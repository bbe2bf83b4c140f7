//! Inode numbers.
//!
//! Generic: a node is anything that has an identity.

mod table;

pub use table::Numbered;

use std::sync::Mutex;

use super::posix::Ino;
use crate::locks::Locked;
use table::InodeTable;

/// The inode numbers that the kernel knows.
pub(super) struct Inodes<N> {
    table: Mutex<InodeTable<N>>,
}

impl<N: Numbered> Inodes<N> {
    pub(super) fn new(root: N) -> Inodes<N> {
        Inodes {
            table: Mutex::new(InodeTable::new(root)),
        }
    }

    /// The node of a number.
    pub(super) fn node(&self, ino: Ino) -> Option<N> {
        self.table.locked().node(ino).cloned()
    }

    /// The number of a node, without a reference.
    pub(super) fn number(&self, node: &N) -> Ino {
        self.table.locked().number(node)
    }

    /// The numbers of several nodes.
    pub(super) fn numbers<'n>(&self, nodes: impl Iterator<Item = &'n N>) -> Vec<Ino>
    where
        N: 'n,
    {
        let table = self.table.locked();
        nodes.map(|node| table.number(node)).collect()
    }

    /// The number of a node, with one more reference.
    pub(super) fn refer(&self, node: &N) -> Ino {
        self.table.locked().refer(node)
    }

    /// Releases references.
    pub(super) fn forget(&self, ino: Ino, count: u64) {
        self.table.locked().forget(ino, count);
    }

    /// A rename made one node into another, which keeps the number.
    pub(super) fn relocate(&self, old: &N, new: N) {
        self.table.locked().relocate(old, new);
    }

    /// Number of inodes that the kernel holds.
    pub(super) fn count(&self) -> usize {
        self.table.locked().count()
    }
}
