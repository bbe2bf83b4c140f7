//! One top folder as the service last told it: its records, their names, and how far they can be
//! believed.
//!
//! The invariant: a record disappears only when the service said so (a full pass without it, or its
//! deletion), never because a request failed; and what was changed through this drive after a request
//! began (written, deleted, named) is not undone by its answer. Nothing here does I/O; [`crate::drive::fresh`] asks the service.

mod passes;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Bound;
use std::time::{Duration, Instant};

use super::belief::Freshness;
use super::claims::NameClaims;

/// A record of a listing.
pub trait Record: Clone + PartialEq {
    /// The service's number.
    fn number(&self) -> u64;
    /// The service's name.
    fn service_name(&self) -> &str;
    /// True when what belongs to it may have changed as well, and has to be asked for again.
    fn has_moved(&self, _known: &Self) -> bool {
        false
    }
    /// Takes over what only the detail form tells from what was known before.
    fn keep_details_of(&mut self, _known: &Self) {}
}

/// In which order the service lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Highest id first: what is new is on the first page.
    NewestFirst,
    /// Lowest id first: what is new is on the last page.
    NewestLast,
    /// Not by id: only a full pass tells.
    Unknown,
}

/// What a pass changed, for the kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// New records.
    pub appeared: Vec<u64>,
    /// Records that are gone, with the name they had.
    pub gone: Vec<(u64, String)>,
    /// Records that say something else now.
    pub changed: Vec<u64>,
    /// Those of them that are in another state, with other files.
    pub moved: Vec<u64>,
    /// Records that are called otherwise now, with the name they had.
    pub renamed: Vec<(u64, String)>,
}

impl Changes {
    /// True when nothing changed.
    pub fn is_empty(&self) -> bool {
        self.appeared.is_empty()
            && self.gone.is_empty()
            && self.changed.is_empty()
            && self.renamed.is_empty()
    }
}

/// What one page said about a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Confirmation {
    /// The listing holds, with these changes.
    Holds(Changes),
    /// Only a full pass can tell.
    NeedsFullPass,
}

/// One top folder.
#[derive(Debug)]
pub struct Listing<R> {
    rows: BTreeMap<u64, Learned<R>>,
    claims: NameClaims,
    order: Order,
    /// How far all of it can be believed.
    pub belief: Freshness,
    full_pass: Option<Instant>,
    /// Deleted through this drive: a pass that still shows them is late.
    deleted: HashMap<u64, Instant>,
    /// Called otherwise since the last changes were told.
    renamed: Vec<(u64, String)>,
    /// The first pass, while its pages come in.
    passing: Option<Passing>,
}

/// How far a pass has come that tells the lowest ids first.
#[derive(Debug, Clone, Copy)]
struct Passing {
    began: Instant,
    reached: u64,
}

#[derive(Debug, Clone)]
struct Learned<R> {
    row: R,
    at: Instant,
    /// When it was last changed through this drive, until a later request told of it.
    written: Option<Instant>,
}

impl<R: Record> Listing<R> {
    /// Knows nothing. `extension` stands behind every name.
    pub fn new(extension: &'static str) -> Listing<R> {
        Listing {
            rows: BTreeMap::new(),
            claims: NameClaims::new(extension),
            order: Order::Unknown,
            belief: Freshness::default(),
            full_pass: None,
            deleted: HashMap::new(),
            renamed: Vec::new(),
            passing: None,
        }
    }

    /// Takes up what an earlier mount knew: shown at once, to be confirmed. Call
    /// [`Freshness::remembered`] when it knew all.
    pub fn restore(
        &mut self,
        rows: impl IntoIterator<Item = R>,
        names: impl IntoIterator<Item = (u64, String, String)>,
        now: Instant,
    ) {
        self.claims.restore(names);
        for row in rows {
            self.claims
                .assign([(row.number(), row.service_name())], &HashSet::new());
            let learned = Learned {
                row,
                at: now,
                written: None,
            };
            self.rows.insert(learned.row.number(), learned);
        }
    }

    /// One record.
    pub fn row(&self, id: u64) -> Option<&R> {
        self.rows.get(&id).map(|learned| &learned.row)
    }

    /// True for what was deleted through this drive and is not told of any more.
    pub fn was_deleted(&self, id: u64) -> bool {
        self.deleted.contains_key(&id)
    }

    /// True when a record was told within `refresh`, on its own or with others, or by the pass that
    /// is under way.
    pub fn is_young(&self, id: u64, now: Instant, refresh: Duration) -> bool {
        self.rows.get(&id).is_some_and(|learned| {
            now.saturating_duration_since(learned.at) < refresh
                || self.passing.is_some_and(|pass| learned.at >= pass.began)
        })
    }

    /// All records, by id.
    pub fn rows(&self) -> impl Iterator<Item = &R> {
        self.rows.values().map(|learned| &learned.row)
    }

    /// The records with a higher id that the pass that is under way has told, as far as it has come.
    pub fn rows_after(&self, id: u64) -> impl Iterator<Item = &R> {
        let reached = self.passing.map_or(0, |pass| pass.reached).max(id);
        let range = (Bound::Excluded(id), Bound::Included(reached));
        let began = self.passing.map(|pass| pass.began);
        self.rows
            .range(range)
            .filter(move |(_, learned)| began.is_some_and(|began| learned.at >= began))
            .map(|(_, learned)| &learned.row)
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The name that a record is shown under.
    pub fn name(&self, id: u64) -> Option<&str> {
        self.claims.name(id)
    }

    /// The record that a name stands for, `name~<id>` included.
    pub fn find(&self, name: &str) -> Option<&R> {
        let id = self
            .claims
            .id(name)
            .or_else(|| self.claims.id_by_suffix(name))?;
        self.row(id)
    }

    /// One record became known on its own, by a request that began at `asked`.
    pub fn put(
        &mut self,
        row: R,
        asked: Instant,
        now: Instant,
        taken: &HashSet<String>,
    ) -> Changes {
        self.put_all(vec![row], asked, now, taken)
    }

    /// Some records became known, which says nothing about others.
    pub fn put_all(
        &mut self,
        rows: Vec<R>,
        asked: Instant,
        now: Instant,
        taken: &HashSet<String>,
    ) -> Changes {
        let mut changes = Changes::default();
        let rows = self.without_late(rows, asked);
        self.learn(rows, now, taken, &mut changes);
        changes
    }

    /// A record as a change through this drive left it. What requests that are under way say of it is
    /// not taken in.
    pub fn write(&mut self, row: R, now: Instant, taken: &HashSet<String>) -> Changes {
        let mut changes = Changes::default();
        let id = row.number();
        self.learn(vec![row], now, taken, &mut changes);
        if let Some(learned) = self.rows.get_mut(&id) {
            learned.written = Some(now);
        }
        changes
    }

    /// True for what was deleted through this drive, and for a record that was changed through it after
    /// a request began: the answer says what was before.
    pub fn is_late(&self, id: u64, asked: Instant) -> bool {
        let written = self.rows.get(&id).and_then(|learned| learned.written);
        self.deleted.contains_key(&id) || written.is_some_and(|written| written >= asked)
    }

    fn without_late(&self, rows: Vec<R>, asked: Instant) -> Vec<R> {
        rows.into_iter()
            .filter(|row| !self.is_late(row.number(), asked))
            .collect()
    }

    /// A record, known or about to be, gets exactly this name.
    pub fn claim(&mut self, id: u64, name: &str, service_name: &str) {
        let old_name = self.claims.name(id).map(str::to_owned);
        if old_name.as_deref() == Some(name) {
            return;
        }
        self.renamed.extend(old_name.map(|old_name| (id, old_name)));
        let displaced = self.claims.claim(id, name, service_name);
        self.renamed
            .extend(displaced.map(|other| (other, name.to_owned())));
    }

    /// A record is gone for good.
    pub fn remove(&mut self, id: u64, now: Instant) -> Changes {
        let mut changes = Changes::default();
        self.drop_row(id, &mut changes);
        self.deleted.insert(id, now);
        changes
    }

    fn learn(
        &mut self,
        rows: Vec<R>,
        now: Instant,
        taken: &HashSet<String>,
        changes: &mut Changes,
    ) {
        let names_before: HashMap<u64, String> = rows
            .iter()
            .filter_map(|row| Some((row.number(), self.claims.name(row.number())?.to_owned())))
            .collect();
        let renamed = self.claims.assign(
            rows.iter().map(|row| (row.number(), row.service_name())),
            taken,
        );
        changes.renamed.append(&mut self.renamed);
        for id in renamed {
            if let Some(name) = names_before.get(&id) {
                changes.renamed.push((id, name.clone()));
            }
        }
        for mut row in rows {
            let id = row.number();
            match self.rows.get(&id) {
                None => changes.appeared.push(id),
                Some(known) => {
                    row.keep_details_of(&known.row);
                    if known.row != row {
                        changes.changed.push(id);
                    }
                    if row.has_moved(&known.row) {
                        changes.moved.push(id);
                    }
                }
            }
            let learned = Learned {
                row,
                at: now,
                written: None,
            };
            self.rows.insert(id, learned);
        }
    }

    fn drop_row(&mut self, id: u64, changes: &mut Changes) {
        if self.rows.remove(&id).is_some() {
            let name = self.claims.name(id).unwrap_or_default().to_owned();
            self.claims.release(id);
            changes.gone.push((id, name));
        }
    }
}
