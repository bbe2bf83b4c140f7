//! One top folder as the service last told it: its records, their names, and how far they can be
//! believed.
//!
//! The invariant: a record disappears only when the service said so (a full pass without it, or its
//! deletion), never because a request failed; and what became known after a pass began is not undone
//! by that pass. Nothing here does I/O; [`crate::drive::fresh`] asks the service.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant};

use super::claims::NameClaims;

/// A record of a listing.
pub trait Row: Clone + PartialEq {
    /// The service's number.
    fn number(&self) -> u64;
    /// The service's name.
    fn service_name(&self) -> &str;
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

/// How long a full pass is believed, however often single pages confirm it.
const FULL_PASS_HOLDS: Duration = Duration::from_secs(600);

/// One top folder.
#[derive(Debug)]
pub struct Listing<R> {
    rows: BTreeMap<u64, Learned<R>>,
    claims: NameClaims,
    order: Order,
    /// When the service last said that all this is so.
    confirmed: Option<Instant>,
    full_pass: Option<Instant>,
    /// Deleted through this drive: a pass that still shows them is late.
    deleted: HashMap<u64, Instant>,
    /// True once anything was ever told, in this mount or an earlier one.
    is_known: bool,
    /// The last attempt failed.
    failed_at: Option<Instant>,
    /// Called otherwise since the last changes were told.
    renamed: Vec<(u64, String)>,
}

#[derive(Debug, Clone)]
struct Learned<R> {
    row: R,
    at: Instant,
}

impl<R: Row> Listing<R> {
    /// Knows nothing. `extension` stands behind every name.
    pub fn new(extension: &'static str) -> Listing<R> {
        Listing {
            rows: BTreeMap::new(),
            claims: NameClaims::new(extension),
            order: Order::Unknown,
            confirmed: None,
            full_pass: None,
            deleted: HashMap::new(),
            is_known: false,
            failed_at: None,
            renamed: Vec::new(),
        }
    }

    /// Takes up what an earlier mount knew: shown at once, to be confirmed.
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
            self.rows.insert(row.number(), Learned { row, at: now });
        }
        self.is_known = true;
    }

    /// One record.
    pub fn row(&self, id: u64) -> Option<&R> {
        self.rows.get(&id).map(|learned| &learned.row)
    }

    /// All records, by id.
    pub fn rows(&self) -> impl Iterator<Item = &R> {
        self.rows.values().map(|learned| &learned.row)
    }

    /// True when there is no record.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
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

    /// True once anything is known at all.
    pub fn is_known(&self) -> bool {
        self.is_known
    }

    /// True while the last word of the service is younger than `refresh`.
    pub fn is_fresh(&self, now: Instant, refresh: Duration) -> bool {
        self.confirmed
            .is_some_and(|at| now.saturating_duration_since(at) < refresh)
    }

    /// True once the service has confirmed it in this mount.
    pub fn was_confirmed(&self) -> bool {
        self.confirmed.is_some() || self.full_pass.is_some()
    }

    /// True when the service could not be asked lately: what is shown may be old.
    pub fn is_stale(&self) -> bool {
        self.failed_at.is_some() || self.confirmed.is_none()
    }

    /// True in the time in which asking again would only fail again.
    pub fn failed_lately(&self, now: Instant, refresh: Duration) -> bool {
        self.failed_at
            .is_some_and(|at| now.saturating_duration_since(at) < refresh)
    }

    /// The service could not be asked.
    pub fn failed(&mut self, now: Instant) {
        self.failed_at = Some(now);
    }

    /// The next look must ask the service.
    pub fn doubt(&mut self) {
        self.confirmed = None;
    }

    /// The page that can confirm the listing in one request, where there is one.
    pub fn confirming_page(&self, now: Instant, per_page: usize) -> Option<u32> {
        let pass = self.full_pass?;
        if now.saturating_duration_since(pass) >= FULL_PASS_HOLDS {
            return None;
        }
        match self.order {
            Order::NewestFirst => Some(1),
            Order::NewestLast => u32::try_from(self.rows.len().div_ceil(per_page).max(1)).ok(),
            Order::Unknown => None,
        }
    }

    /// What the confirming page said: the number of all records and some of the newest.
    pub fn confirm(
        &mut self,
        total: u64,
        page: Vec<R>,
        began: Instant,
        now: Instant,
        taken: &HashSet<String>,
    ) -> Confirmation {
        let page: Vec<R> = page
            .into_iter()
            .filter(|row| !self.deleted.contains_key(&row.number()))
            .collect();
        let new_rows = page
            .iter()
            .filter(|row| !self.rows.contains_key(&row.number()))
            .count();
        let highest_known = self.rows.keys().next_back().copied().unwrap_or(0);
        let page_meets_the_known =
            self.rows.is_empty() || page.iter().any(|row| row.number() == highest_known);
        let only_newer = page
            .iter()
            .all(|row| row.number() > highest_known || self.rows.contains_key(&row.number()));
        if (self.rows.len() + new_rows) as u64 != total || !page_meets_the_known || !only_newer {
            return Confirmation::NeedsFullPass;
        }
        let mut changes = Changes::default();
        self.learn(page, began.max(now), taken, &mut changes);
        self.believed(now);
        Confirmation::Holds(changes)
    }

    /// A full pass: everything there is, in the order in which the service gave it.
    pub fn replace(
        &mut self,
        rows: Vec<R>,
        began: Instant,
        now: Instant,
        taken: &HashSet<String>,
    ) -> Changes {
        let order = order_of(&rows);
        let told: HashSet<u64> = rows.iter().map(Row::number).collect();
        let mut changes = Changes::default();
        let gone: Vec<u64> = self
            .rows
            .iter()
            .filter(|(id, learned)| !told.contains(id) && learned.at <= began)
            .map(|(id, _)| *id)
            .collect();
        for id in gone {
            self.drop_row(id, &mut changes);
        }
        let rows = rows
            .into_iter()
            .filter(|row| !self.deleted.contains_key(&row.number()))
            .collect();
        self.learn(rows, now, taken, &mut changes);
        self.deleted
            .retain(|id, at| told.contains(id) || *at > began);
        self.order = order;
        self.full_pass = Some(now);
        self.believed(now);
        changes
    }

    /// One record became known on its own.
    pub fn put(&mut self, row: R, now: Instant, taken: &HashSet<String>) -> Changes {
        let mut changes = Changes::default();
        if !self.deleted.contains_key(&row.number()) {
            self.learn(vec![row], now, taken, &mut changes);
        }
        changes
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
                }
            }
            self.rows.insert(id, Learned { row, at: now });
        }
        self.is_known = true;
    }

    fn drop_row(&mut self, id: u64, changes: &mut Changes) {
        if self.rows.remove(&id).is_some() {
            let name = self.claims.name(id).unwrap_or_default().to_owned();
            self.claims.release(id);
            changes.gone.push((id, name));
        }
    }

    fn believed(&mut self, now: Instant) {
        self.confirmed = Some(now);
        self.failed_at = None;
        self.is_known = true;
    }
}

fn order_of<R: Row>(rows: &[R]) -> Order {
    if rows.is_sorted_by(|a, b| a.number() > b.number()) {
        Order::NewestFirst
    } else if rows.is_sorted_by(|a, b| a.number() < b.number()) {
        Order::NewestLast
    } else {
        Order::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, PartialEq)]
    struct Thing(u64, &'static str);

    impl Row for Thing {
        fn number(&self) -> u64 {
            self.0
        }
        fn service_name(&self) -> &str {
            self.1
        }
    }

    const NONE: &[Thing] = &[];

    fn taken() -> HashSet<String> {
        HashSet::new()
    }

    fn listing(rows: &[Thing], now: Instant) -> Listing<Thing> {
        let mut listing = Listing::new("");
        listing.replace(rows.to_vec(), now, now, &taken());
        listing
    }

    #[test]
    fn an_unchanged_listing_is_confirmed_by_total_and_newest_id() {
        let now = Instant::now();
        let mut listing = listing(&[Thing(3, "c"), Thing(2, "b"), Thing(1, "a")], now);
        assert_eq!(listing.confirming_page(now, 2), Some(1));
        let later = now + Duration::from_secs(11);
        assert!(!listing.is_fresh(later, Duration::from_secs(10)));
        let page = vec![Thing(3, "c"), Thing(2, "b")];
        assert_eq!(
            listing.confirm(3, page, later, later, &taken()),
            Confirmation::Holds(Changes::default())
        );
        assert!(listing.is_fresh(later, Duration::from_secs(10)));
    }

    #[test]
    fn a_delete_plus_a_create_between_two_listings_is_seen_though_the_total_stays() {
        let now = Instant::now();
        let mut listing = listing(&[Thing(3, "c"), Thing(2, "b"), Thing(1, "a")], now);
        let page = vec![Thing(4, "d"), Thing(3, "c")];
        assert_eq!(
            listing.confirm(3, page, now, now, &taken()),
            Confirmation::NeedsFullPass
        );
        let page = vec![Thing(4, "d"), Thing(3, "c")];
        let Confirmation::Holds(changes) = listing.confirm(4, page, now, now, &taken()) else {
            panic!("one more, and the total says so");
        };
        assert_eq!(changes.appeared, [4]);
    }

    #[test]
    fn the_newest_page_may_be_the_last_one() {
        let now = Instant::now();
        let listing = listing(&[Thing(1, "a"), Thing(2, "b"), Thing(3, "c")], now);
        assert_eq!(listing.confirming_page(now, 2), Some(2));
        assert_eq!(listing.confirming_page(now + FULL_PASS_HOLDS, 2), None);
        let unordered = self::listing(&[Thing(2, "a"), Thing(9, "b"), Thing(3, "c")], now);
        assert_eq!(unordered.confirming_page(now, 2), None);
    }

    #[test]
    fn what_became_known_after_a_pass_began_is_not_undone_by_it() {
        let began = Instant::now();
        let mut listing = listing(&[Thing(1, "a"), Thing(2, "b")], began);
        let later = began + Duration::from_millis(5);
        listing.put(Thing(3, "new"), later, &taken());
        listing.remove(1, later);
        let changes = listing.replace(vec![Thing(2, "b"), Thing(1, "a")], began, later, &taken());
        assert!(changes.is_empty(), "{changes:?}");
        assert!(listing.find("new").is_some() && listing.find("a").is_none());
    }

    #[test]
    fn a_failure_removes_nothing_and_marks_what_is_shown() {
        let now = Instant::now();
        let mut listing = listing(&[Thing(1, "a")], now);
        assert!(!listing.is_stale());
        listing.failed(now);
        assert!(listing.is_stale() && listing.find("a").is_some());
        assert!(listing.failed_lately(now, Duration::from_secs(10)));
        listing.replace(NONE.to_vec(), now, now, &taken());
        assert!(!listing.is_stale());
    }
}
