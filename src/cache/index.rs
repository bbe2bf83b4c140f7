//! All objects of the cache in LRU order, and the pins. In memory, no I/O; guarded by one short lock.
//!
//! The bytes of an object are counted while it has an entry. If the entry of an open object is removed, the
//! object is marked as detached and subtracts its bytes when it is closed.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use lru::LruCache;

use super::key::{FileId, NameHash, lies_below};
use super::object::OpenObject;
use super::object_file::ChangeTime;

#[derive(Debug)]
pub(super) struct Index {
    objects: LruCache<NameHash, Entry>,
    pins: BTreeSet<String>,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) salt: u64,
    pub(super) name: Box<str>,
    pub(super) cost: Arc<AtomicU64>,
    /// When the data last changed, if all blocks on disk were compared with their checksums since then.
    pub(super) verified: Option<ChangeTime>,
    pub(super) open: Weak<OpenObject>,
    pinned: bool,
}

/// Result of looking up a name.
#[derive(Debug)]
pub(super) enum Lookup {
    Open(Arc<OpenObject>),
    Closed {
        salt: u64,
        verified: Option<ChangeTime>,
    },
    Nothing,
}

/// An entry that was removed from the index; the caller unlinks its files.
#[derive(Debug)]
pub(super) struct Removed {
    pub(super) id: FileId,
    /// Bytes to subtract after the files are unlinked; zero if the open object does that.
    pub(super) cost: u64,
    /// Dropped outside the lock: dropping the last handle takes the lock again.
    _open: Option<Arc<OpenObject>>,
}

impl Entry {
    pub(super) fn new(salt: u64, name: &str, cost: Arc<AtomicU64>) -> Entry {
        Entry {
            salt,
            name: name.into(),
            cost,
            verified: None,
            open: Weak::new(),
            pinned: false,
        }
    }
}

impl Index {
    pub(super) fn new(pins: BTreeSet<String>) -> Index {
        Index {
            objects: LruCache::unbounded(),
            pins,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    /// Looks up a name and makes it the most recently used.
    pub(super) fn look_up(&mut self, name: NameHash) -> Lookup {
        match self.objects.get(&name) {
            None => Lookup::Nothing,
            Some(entry) => match entry.open.upgrade() {
                Some(open) => Lookup::Open(open),
                None => Lookup::Closed {
                    salt: entry.salt,
                    verified: entry.verified,
                },
            },
        }
    }

    /// Adds an entry as the most recently used.
    pub(super) fn insert(&mut self, name: NameHash, mut entry: Entry) {
        entry.pinned = self.pins.iter().any(|pin| lies_below(&entry.name, pin));
        let old = self.objects.put(name, entry);
        debug_assert!(old.is_none(), "the name had no entry");
    }

    /// The entry of these files, if it still exists.
    pub(super) fn entry(&mut self, id: FileId) -> Option<&mut Entry> {
        self.objects
            .peek_mut(&id.name)
            .filter(|entry| entry.salt == id.salt)
    }

    /// Records that an object was closed, which counts as a use.
    pub(super) fn close(&mut self, id: FileId, verified: Option<ChangeTime>) {
        if let Some(entry) = self.entry(id)
            && entry.open.strong_count() == 0
        {
            entry.verified = verified;
            self.objects.promote(&id.name);
        }
    }

    pub(super) fn remove(&mut self, name: NameHash) -> Option<Removed> {
        let entry = self.objects.pop(&name)?;
        Some(removed(name, &entry))
    }

    /// Removes every entry at or below the prefix, including pinned ones.
    pub(super) fn remove_below(&mut self, prefix: &str) -> Vec<Removed> {
        let names: Vec<NameHash> = self
            .objects
            .iter()
            .filter(|(_, entry)| lies_below(&entry.name, prefix))
            .map(|(name, _)| *name)
            .collect();
        names
            .into_iter()
            .filter_map(|name| self.remove(name))
            .collect()
    }

    /// Removes closed, unpinned entries in LRU order until they sum up to `need` bytes. Entries that
    /// must stay are visited once and become the most recently used.
    pub(super) fn remove_oldest(&mut self, need: u64) -> Vec<Removed> {
        let mut victims = Vec::new();
        let mut bytes = 0;
        for _ in 0..self.objects.len() {
            if bytes >= need {
                break;
            }
            let Some((name, entry)) = self.objects.pop_lru() else {
                break;
            };
            if entry.pinned || entry.open.strong_count() > 0 {
                self.objects.put(name, entry);
                continue;
            }
            let victim = removed(name, &entry);
            bytes += victim.cost;
            victims.push(victim);
        }
        victims
    }

    /// The open objects whose blocks may be evicted.
    pub(super) fn open_unpinned(&self) -> Vec<Arc<OpenObject>> {
        self.objects
            .iter()
            .rev()
            .filter(|(_, entry)| !entry.pinned)
            .filter_map(|(_, entry)| entry.open.upgrade())
            .collect()
    }

    /// All entries, the least recently used first.
    pub(super) fn oldest_first(&self) -> impl Iterator<Item = (&NameHash, &Entry)> {
        self.objects.iter().rev()
    }

    pub(super) fn pins(&self) -> &BTreeSet<String> {
        &self.pins
    }

    /// Replaces the pins.
    pub(super) fn set_pins(&mut self, pins: BTreeSet<String>) {
        for (_, entry) in self.objects.iter_mut() {
            entry.pinned = pins.iter().any(|pin| lies_below(&entry.name, pin));
        }
        self.pins = pins;
    }
}

fn removed(name: NameHash, entry: &Entry) -> Removed {
    let open = entry.open.upgrade();
    let cost = match &open {
        Some(open) => {
            open.detach();
            0
        }
        None => entry.cost.load(Ordering::Acquire),
    };
    Removed {
        id: FileId {
            name,
            salt: entry.salt,
        },
        cost,
        _open: open,
    }
}
