//! Inode numbers and what they stand for.
//!
//! Invariant: while the kernel holds references to a number, it belongs to one node, and each node has one number.
//! Without references nothing is stored: the number is computed from the identity. So numbers are stable across
//! mounts.

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_64;

use crate::drive::posix::Ino;

/// A node that can have a number.
pub trait Numbered: Clone + PartialEq {
    /// The durable text that the number is computed from.
    fn identity(&self) -> String;
}

#[derive(Debug)]
pub struct InodeTable<N> {
    by_ino: HashMap<Ino, Slot<N>>,
    by_identity: HashMap<String, Ino>,
}

#[derive(Debug)]
struct Slot<N> {
    node: N,
    references: u64,
}

impl<N: Numbered> InodeTable<N> {
    /// Contains the root only, which is never forgotten.
    pub fn new(root: N) -> InodeTable<N> {
        let mut table = InodeTable {
            by_ino: HashMap::new(),
            by_identity: HashMap::new(),
        };
        table.insert(Ino::ROOT, root, u64::MAX / 2);
        table
    }

    /// The node of a number.
    pub fn node(&self, ino: Ino) -> Option<&N> {
        self.by_ino.get(&ino).map(|slot| &slot.node)
    }

    /// The number of a node, without a reference: for listings.
    pub fn number(&self, node: &N) -> Ino {
        let identity = node.identity();
        if let Some(ino) = self.by_identity.get(&identity) {
            return *ino;
        }
        let mut candidate = number_of(&identity);
        while self
            .by_ino
            .get(&candidate)
            .is_some_and(|slot| slot.node != *node)
        {
            candidate = next_number(candidate);
        }
        candidate
    }

    /// The number of a node that the kernel holds now.
    #[cfg(test)]
    fn held(&self, node: &N) -> Option<Ino> {
        self.by_identity.get(&node.identity()).copied()
    }

    /// The number of a node, with one more reference.
    pub fn refer(&mut self, node: &N) -> Ino {
        let ino = self.number(node);
        match self.by_ino.get_mut(&ino) {
            Some(slot) => {
                slot.references += 1;
                // The same entry may be in another draft now.
                slot.node = node.clone();
            }
            None => self.insert(ino, node.clone(), 1),
        }
        ino
    }

    /// Releases references.
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
            self.unlink(&slot.node, ino);
        }
    }

    /// A rename made one node into another (a folder of a draft into a draft): the kernel keeps the number for
    /// the new node.
    pub fn relocate(&mut self, old: &N, new: N) {
        let Some(ino) = self.by_identity.remove(&old.identity()) else {
            return;
        };
        if let Some(replaced) = self.by_identity.insert(new.identity(), ino)
            && replaced != ino
        {
            // The replaced node keeps its number until it is forgotten.
            tracing::debug!(ino = %replaced, "inode replaced by a rename");
        }
        if let Some(slot) = self.by_ino.get_mut(&ino) {
            slot.node = new;
        }
    }

    pub fn count(&self) -> usize {
        self.by_ino.len()
    }

    fn insert(&mut self, ino: Ino, node: N, references: u64) {
        self.by_identity.insert(node.identity(), ino);
        self.by_ino.insert(ino, Slot { node, references });
    }

    fn unlink(&mut self, node: &N, ino: Ino) {
        let identity = node.identity();
        if self.by_identity.get(&identity) == Some(&ino) {
            self.by_identity.remove(&identity);
        }
    }
}

/// Zero is invalid, one is the root.
fn number_of(identity: &str) -> Ino {
    Ino(xxh3_64(identity.as_bytes()).max(2))
}

fn next_number(ino: Ino) -> Ino {
    Ino(ino.0.wrapping_add(1).max(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A node: its identity, and where it is.
    #[derive(Debug, Clone, PartialEq)]
    struct Thing(&'static str, u8);

    impl Numbered for Thing {
        fn identity(&self) -> String {
            self.0.to_owned()
        }
    }

    fn table() -> InodeTable<Thing> {
        InodeTable::new(Thing("/", 0))
    }

    #[test]
    fn a_number_is_the_same_in_every_mount() {
        let thing = Thing("rapid/7", 0);
        let first = table().refer(&thing);
        assert_eq!(first, Ino(1_539_994_629_251_499_493), "numbers are durable");
        let mut later = table();
        later.refer(&Thing("rapid/8", 0));
        assert_eq!(later.refer(&thing), first);
        assert_eq!(later.number(&thing), first);
    }

    #[test]
    fn a_number_is_kept_until_every_reference_is_taken_back() {
        let mut table = table();
        let thing = Thing("model/found/3", 0);
        let ino = table.refer(&thing);
        assert_eq!(table.refer(&thing), ino);
        table.forget(ino, 1);
        assert_eq!(table.node(ino), Some(&thing));
        table.forget(ino, 1);
        assert_eq!(table.node(ino), None);
        assert_eq!(table.held(&thing), None);
        table.forget(Ino::ROOT, 100);
        assert_eq!(table.node(Ino::ROOT), Some(&Thing("/", 0)));
    }

    #[test]
    fn a_thing_keeps_its_number_when_it_moves() {
        let mut table = table();
        let (before, after) = (Thing("entry/9", 1), Thing("entry/9", 2));
        let ino = table.refer(&before);
        assert_eq!(table.refer(&after), ino);
        assert_eq!(table.node(ino), Some(&after));
        let made = Thing("model/made/4", 2);
        table.relocate(&after, made.clone());
        assert_eq!(table.node(ino), Some(&made));
        assert_eq!(table.refer(&made), ino);
        assert_eq!(table.held(&before), None);
    }

    #[test]
    fn what_a_rename_replaced_does_not_take_the_number_with_it() {
        let mut table = table();
        let (kept, replaced) = (Thing("entry/1", 0), Thing("entry/2", 0));
        let (ino, old) = (table.refer(&kept), table.refer(&replaced));
        table.relocate(&kept, replaced.clone());
        table.forget(old, 1);
        assert_eq!(table.held(&replaced), Some(ino));
    }

    #[test]
    fn two_things_never_share_a_number() {
        let mut table = table();
        let (thing, squatter) = (Thing("rapid/7", 0), Thing("model/found/1", 0));
        table.insert(number_of(&thing.identity()), squatter.clone(), 1);
        let ino = table.refer(&thing);
        assert_eq!(ino, next_number(number_of(&thing.identity())));
        assert_eq!(table.node(ino), Some(&thing));
    }
}
