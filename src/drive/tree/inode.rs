//! Inode numbers and what they stand for.
//!
//! The invariant: while the kernel holds references to a number it stands for one thing, and a
//! thing has one number; without references nothing is kept, because the number can be computed
//! again from the thing's identity. So numbers are stable over remounts without being stored.

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_64;

use super::node::Node;
use crate::drive::types::Ino;

/// The numbers that the kernel holds.
#[derive(Debug, Default)]
pub struct InodeTable {
    by_ino: HashMap<Ino, Slot>,
    by_node: HashMap<Node, Ino>,
}

#[derive(Debug)]
struct Slot {
    node: Node,
    references: u64,
}

impl InodeTable {
    /// Knows the root alone, which is never forgotten.
    pub fn new() -> InodeTable {
        let mut table = InodeTable::default();
        table.insert(Ino::ROOT, Node::Root, u64::MAX / 2);
        table
    }

    /// What a number stands for.
    pub fn node(&self, ino: Ino) -> Option<&Node> {
        self.by_ino.get(&ino).map(|slot| &slot.node)
    }

    /// The number of a thing, without a reference: for listings.
    pub fn number(&self, node: &Node) -> Ino {
        if let Some(ino) = self.by_node.get(node) {
            return *ino;
        }
        let mut candidate = number_of(&node.identity());
        while self
            .by_ino
            .get(&candidate)
            .is_some_and(|slot| !slot.node.is_same(node))
        {
            candidate = next_number(candidate);
        }
        candidate
    }

    /// The number of a thing that the kernel holds now.
    pub fn held(&self, node: &Node) -> Option<Ino> {
        self.by_node.get(node).copied()
    }

    /// The number of a thing, with one more reference.
    pub fn refer(&mut self, node: &Node) -> Ino {
        let ino = self.number(node);
        match self.by_ino.get_mut(&ino) {
            Some(slot) => {
                slot.references += 1;
                if slot.node != *node {
                    // The same entry, now in another draft.
                    let old = std::mem::replace(&mut slot.node, node.clone());
                    self.by_node.remove(&old);
                    self.by_node.insert(node.clone(), ino);
                }
            }
            None => self.insert(ino, node.clone(), 1),
        }
        ino
    }

    /// Takes references back.
    pub fn forget(&mut self, ino: Ino, count: u64) {
        if ino == Ino::ROOT {
            return;
        }
        let Some(slot) = self.by_ino.get_mut(&ino) else {
            return;
        };
        slot.references = slot.references.saturating_sub(count);
        if slot.references == 0
            && let Some(slot) = self.by_ino.remove(&ino)
        {
            self.by_node.remove(&slot.node);
        }
    }

    /// A rename made one thing into another (a folder of a draft into a draft of its own): the
    /// kernel keeps the number, so the number stands for the new thing from now on.
    pub fn relocate(&mut self, old: &Node, new: Node) {
        let Some(ino) = self.by_node.remove(old) else {
            return;
        };
        if let Some(replaced) = self.by_node.insert(new.clone(), ino)
            && replaced != ino
        {
            // What the rename replaced lives on under its number until it is forgotten.
            tracing::debug!(ino = %replaced, "inode replaced by a rename");
        }
        if let Some(slot) = self.by_ino.get_mut(&ino) {
            slot.node = new;
        }
    }

    /// How many numbers are held.
    pub fn count(&self) -> usize {
        self.by_ino.len()
    }

    fn insert(&mut self, ino: Ino, node: Node, references: u64) {
        self.by_node.insert(node.clone(), ino);
        self.by_ino.insert(ino, Slot { node, references });
    }
}

/// Zero is nothing and one is the root.
fn number_of(identity: &str) -> Ino {
    Ino(xxh3_64(identity.as_bytes()).max(2))
}

fn next_number(ino: Ino) -> Ino {
    Ino(ino.0.wrapping_add(1).max(2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::tree::node::Home;
    use crate::outbox::{DraftId, EntryId};
    use crate::wire::{AssetId, RapidId};

    #[test]
    fn a_number_is_the_same_in_every_mount() {
        let node = Node::Rapid(RapidId(7));
        let first = InodeTable::new().refer(&node);
        let mut later = InodeTable::new();
        later.refer(&Node::Rapid(RapidId(8)));
        assert_eq!(later.refer(&node), first);
        assert_eq!(later.number(&node), first);
    }

    #[test]
    fn a_number_is_kept_until_every_reference_is_taken_back() {
        let mut table = InodeTable::new();
        let node = Node::Model(Home::Found(AssetId(3)));
        let ino = table.refer(&node);
        assert_eq!(table.refer(&node), ino);
        table.forget(ino, 1);
        assert_eq!(table.node(ino), Some(&node));
        table.forget(ino, 1);
        assert_eq!(table.node(ino), None);
        table.forget(Ino::ROOT, 100);
        assert_eq!(table.node(Ino::ROOT), Some(&Node::Root));
    }

    #[test]
    fn an_entry_keeps_its_number_when_it_moves_to_another_draft() {
        let mut table = InodeTable::new();
        let before = Node::Entry(DraftId(1), EntryId(9));
        let after = Node::Entry(DraftId(2), EntryId(9));
        let ino = table.refer(&before);
        table.relocate(&before, after.clone());
        assert_eq!(table.node(ino), Some(&after));
        assert_eq!(table.refer(&after), ino);
        assert_eq!(table.held(&before), None);
    }

    #[test]
    fn two_things_never_share_a_number() {
        let mut table = InodeTable::new();
        let node = Node::Rapid(RapidId(7));
        let squatter = Node::Model(Home::Found(AssetId(1)));
        table.insert(number_of(&node.identity()), squatter.clone(), 1);
        let ino = table.refer(&node);
        assert_eq!(ino, next_number(number_of(&node.identity())));
        assert_eq!(table.node(ino), Some(&node));
    }
}
