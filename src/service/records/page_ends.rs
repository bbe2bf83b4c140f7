//! The ends of pages that were read.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::locks::Locked;
use crate::wire::UserId;

/// Places that are remembered. Beyond that, all are forgotten.
const MAX_PLACES: usize = 10_000;

/// The ends of pages that were read.
#[derive(Debug, Default)]
pub(super) struct Places {
    ends: Mutex<HashMap<PageKey, PageEnd>>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct PageKey {
    pub(super) table: &'static str,
    pub(super) user: UserId,
    pub(super) per_page: u64,
    pub(super) page: u64,
}

/// The last row of a page, and the number of changes of the listing at that time.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageEnd {
    pub(super) changes: u64,
    pub(super) id: u64,
}

impl Places {
    pub(super) fn find(&self, key: &PageKey, changes: u64) -> Option<u64> {
        let end = self.ends.locked().get(key).copied();
        end.filter(|end| end.changes == changes).map(|end| end.id)
    }

    pub(super) fn note(&self, key: PageKey, end: PageEnd) {
        let mut ends = self.ends.locked();
        if ends.len() >= MAX_PLACES {
            ends.clear();
        }
        ends.insert(key, end);
    }
}
