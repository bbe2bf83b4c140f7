//! One listing of the service: records, names and freshness.
//!
//! Invariant: a record is removed only if the service reports it gone (a full pass without it, or its
//! deletion), never because a request failed. For models a full pass is no proof: they are asked for by their ids. A change through this drive is not undone by the answer of a
//! request that began before it. No I/O; the catalog sends the requests.

mod passes;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Bound;
use std::time::Duration;

use tokio::time::Instant;

use super::belief::Freshness;
use super::claims::{NameClaims, NameParts};

/// A record of a listing.
pub trait Record: Clone + PartialEq {
    fn number(&self) -> u64;
    /// Its name on the service.
    fn service_name(&self) -> &str;
    /// Whether a full pass without the record proves that it is gone. If not, the record stays until the service was asked
    /// for it by its id.
    fn is_gone_if_unlisted() -> bool {
        true
    }
    /// True for the record of the same thing that was deleted and made again, which takes over its name.
    fn is_again(&self, gone: &Self) -> bool {
        self.service_name() == gone.service_name()
    }
    /// Tells it apart from others of its name: it is shown as `name (qualifier)` if the plain name is taken.
    fn qualifier(&self) -> Option<&str> {
        None
    }
    /// True if dependent data may have changed too and must be requested again.
    fn state_changed(&self, _known: &Self) -> bool {
        false
    }
    /// Keeps fields that list responses omit.
    fn keep_details_of(&mut self, _known: &Self) {}
    /// Another record gets its name.
    fn hands_over_its_name(&mut self) {}
}

/// The order of the service's pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Highest id first: new records are on the first page.
    NewestFirst,
    /// Lowest id first: new records are on the last page.
    NewestLast,
    /// Not by id: only a full pass finds new records.
    Unknown,
}

/// Changes that a pass found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// New records.
    pub appeared: Vec<u64>,
    /// Removed records with their names.
    pub gone: Vec<(u64, String)>,
    /// Changed records.
    pub changed: Vec<u64>,
    /// Those of them whose state changed, which changes their files.
    pub state_changed: Vec<u64>,
    /// Renamed records with their old names.
    pub renamed: Vec<(u64, String)>,
}

impl Changes {
    pub fn is_empty(&self) -> bool {
        self.appeared.is_empty()
            && self.gone.is_empty()
            && self.changed.is_empty()
            && self.renamed.is_empty()
    }
}

/// What one page proves about a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Confirmation {
    /// The listing is confirmed, with these changes.
    Holds(Changes),
    /// A full pass is needed.
    NeedsFullPass,
}

#[derive(Debug)]
pub struct Listing<R> {
    rows: BTreeMap<u64, Learned<R>>,
    version: u64,
    claims: NameClaims,
    order: Order,
    /// Its freshness.
    pub belief: Freshness,
    full_pass: Option<Instant>,
    /// When a single page last confirmed that the service has all records.
    all_seen: Option<Instant>,
    /// Records deleted through this drive: a pass that still lists them is late.
    deleted: HashMap<u64, Instant>,
    /// Renamed since changes were last taken.
    renamed: Vec<(u64, String)>,
    /// The first pass, while its pages come in.
    passing: Option<Passing>,
    /// Records that the last pass did not contain, but that the service may still have.
    unlisted: Vec<u64>,
    /// Which new record gets the name of an unlisted one once that is gone; see [`Listing::note_heirs`].
    heirs: HashMap<u64, u64>,
}

/// The progress of a pass in ascending order of ids.
#[derive(Debug, Clone, Copy)]
struct Passing {
    began: Instant,
    reached: u64,
}

#[derive(Debug, Clone)]
struct Learned<R> {
    row: R,
    /// When it was first received.
    since: Instant,
    /// When it was last received.
    at: Instant,
    /// Time of the last change through this drive, until a later request reports it.
    written: Option<Instant>,
}

impl<R: Record> Listing<R> {
    /// Empty. `extension` is the suffix of every name.
    pub fn new(extension: &'static str) -> Listing<R> {
        Listing {
            rows: BTreeMap::new(),
            version: 0,
            claims: NameClaims::new(extension),
            order: Order::Unknown,
            belief: Freshness::default(),
            full_pass: None,
            all_seen: None,
            deleted: HashMap::new(),
            renamed: Vec::new(),
            passing: None,
            unlisted: Vec::new(),
            heirs: HashMap::new(),
        }
    }

    /// Restores what an earlier mount knew, which is shown and confirmed later. Call [`Freshness::remembered`]
    /// if it was complete.
    pub fn restore(
        &mut self,
        rows: impl IntoIterator<Item = R>,
        names: impl IntoIterator<Item = (u64, String, String)>,
        now: Instant,
    ) {
        self.claims.restore(names);
        for row in rows {
            self.version += 1;
            self.claims
                .assign([(row.number(), name_parts(&row))], &HashSet::new());
            let learned = Learned {
                row,
                since: now,
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

    /// True for a record that was deleted through this drive and is no longer listed by the service.
    pub fn was_deleted(&self, id: u64) -> bool {
        self.deleted.contains_key(&id)
    }

    /// True if a record was received within `refresh`, alone, with others, or by the running pass.
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

    /// The records above an id that the running pass has received so far.
    pub fn rows_after(&self, id: u64) -> impl Iterator<Item = &R> {
        let reached = self.passing.map_or(0, |pass| pass.reached).max(id);
        let range = (Bound::Excluded(id), Bound::Included(reached));
        let began = self.passing.map(|pass| pass.began);
        self.rows
            .range(range)
            .filter(move |(_, learned)| began.is_some_and(|began| learned.at >= began))
            .map(|(_, learned)| &learned.row)
    }

    /// Increases with each record that comes, changes or goes.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The shown name of a record.
    pub fn name(&self, id: u64) -> Option<&str> {
        self.claims.name(id)
    }

    /// The record of a name, including `name~<id>`.
    pub fn find(&self, name: &str) -> Option<&R> {
        let id = self
            .claims
            .id(name)
            .or_else(|| self.claims.id_by_suffix(name))?;
        self.row(id)
    }

    /// Stores some records from a request that began at `asked`; others are not affected.
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

    /// Stores a record that was changed through this drive. Answers of requests in flight do not overwrite it.
    pub fn write(&mut self, row: R, now: Instant, taken: &HashSet<String>) -> Changes {
        let mut changes = Changes::default();
        let id = row.number();
        self.learn(vec![row], now, taken, &mut changes);
        if let Some(learned) = self.rows.get_mut(&id) {
            learned.written = Some(now);
        }
        changes
    }

    /// True for a record that was deleted through this drive, or changed through it after a request began: the
    /// answer is outdated.
    pub fn is_late(&self, id: u64, asked: Instant) -> bool {
        let written = self.rows.get(&id).and_then(|learned| learned.written);
        self.deleted.contains_key(&id) || written.is_some_and(|written| written >= asked)
    }

    fn without_late(&self, rows: Vec<R>, asked: Instant) -> Vec<R> {
        rows.into_iter()
            .filter(|row| !self.is_late(row.number(), asked))
            .collect()
    }

    /// Gives a record exactly this name, even before it is known.
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

    /// The records that are called by their ids only because a draft has their plain name.
    pub fn yielding(&self) -> &BTreeSet<u64> {
        self.claims.yielding()
    }

    /// Restores them.
    pub fn restore_yielding(&mut self, ids: impl IntoIterator<Item = u64>) {
        self.claims.restore_yielding(ids);
    }

    /// Gives those whose plain name is not in `taken` any more that name; see [`NameClaims::take_over`].
    pub fn take_over(&mut self, taken: &HashSet<String>, passed_on: &HashSet<u64>) -> Changes {
        Changes {
            renamed: self.claims.take_over(taken, passed_on),
            ..Changes::default()
        }
    }

    /// Forgets the name of a record; it gets one again when it is stored.
    pub fn forget_name(&mut self, id: u64) {
        let name = self.claims.name(id).map(str::to_owned);
        self.renamed.extend(name.map(|name| (id, name)));
        self.claims.release(id);
    }

    /// Gives the name of one record to another; see [`NameClaims::hand_over`].
    pub fn hand_over(
        &mut self,
        from: u64,
        to: u64,
        qualifier: Option<&str>,
        changes: &mut Changes,
    ) {
        for id in [from, to] {
            let is_noted = changes.renamed.iter().any(|(noted, _)| *noted == id);
            if let Some(name) = self.claims.name(id)
                && !is_noted
                && !changes.appeared.contains(&id)
            {
                changes.renamed.push((id, name.to_owned()));
            }
        }
        self.claims.hand_over(from, to, qualifier);
        if let Some(giver) = self.rows.get_mut(&from) {
            giver.row.hands_over_its_name();
        }
    }

    /// The records that the last pass did not contain, and that stay until the service was asked for them.
    pub fn take_unlisted(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.unlisted)
    }

    /// Those that a full pass lacked have been asked for: what is removed from now on leaves its name to nobody.
    pub fn unlisted_were_asked_for(&mut self) {
        self.heirs.clear();
    }

    /// Removes a record permanently.
    pub fn remove(&mut self, id: u64, now: Instant) -> Changes {
        let mut changes = Changes::default();
        self.drop_row(id, &mut changes);
        self.deleted.insert(id, now);
        if let Some(heir) = self.heirs.remove(&id)
            && self.rows.contains_key(&heir)
            && let Some((_, name)) = changes.gone.first()
            && let Some(old_name) = self.claims.inherit(heir, name)
        {
            changes.renamed.push((heir, old_name));
        }
        changes
    }

    /// Notes which records are named after one that a pass lacked and were first received after the service last had that one:
    /// they may be the same thing, deleted and made again. Two that were there at once keep their names.
    fn note_heirs(&mut self) {
        self.heirs.clear();
        let gone = self.unlisted.iter();
        let gone = gone.filter_map(|id| Some((*id, self.rows.get(id)?)));
        let gone = gone.map(|(id, it)| {
            (
                id,
                self.all_seen.map_or(it.at, |seen| seen.max(it.at)),
                &it.row,
            )
        });
        let gone: Vec<(u64, Instant, &R)> = gone.collect();
        let Some(earliest) = gone.iter().map(|(_, last, _)| *last).min() else {
            return;
        };
        let new = self.rows.iter().filter(|(_, it)| it.since > earliest);
        let new: Vec<_> = new.collect();
        let heirs = gone.iter().filter_map(|(id, last, gone)| {
            let mut new = new.iter();
            let heir = new.find(|(_, it)| it.since > *last && it.row.is_again(gone))?;
            Some((*id, *heir.0))
        });
        self.heirs = heirs.collect();
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
            rows.iter().map(|row| (row.number(), name_parts(row))),
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
            let since = match self.rows.get(&id) {
                None => {
                    self.version += 1;
                    changes.appeared.push(id);
                    now
                }
                Some(known) => {
                    row.keep_details_of(&known.row);
                    if known.row != row {
                        self.version += 1;
                        changes.changed.push(id);
                    }
                    if row.state_changed(&known.row) {
                        changes.state_changed.push(id);
                    }
                    known.since
                }
            };
            let learned = Learned {
                row,
                since,
                at: now,
                written: None,
            };
            self.rows.insert(id, learned);
        }
    }

    fn drop_row(&mut self, id: u64, changes: &mut Changes) {
        if self.rows.remove(&id).is_some() {
            self.version += 1;
            let name = self.claims.name(id).unwrap_or_default().to_owned();
            self.claims.release(id);
            changes.gone.push((id, name));
        }
    }
}

fn name_parts<R: Record>(row: &R) -> NameParts<'_> {
    NameParts {
        service_name: row.service_name(),
        qualifier: row.qualifier(),
    }
}
