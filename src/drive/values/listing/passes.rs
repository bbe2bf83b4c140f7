//! Passes over the pages of a listing: which page confirms it, and what a full pass removes.

use std::collections::HashSet;
use std::time::Duration;

use tokio::time::Instant;

use super::{Changes, Confirmation, Listing, Order, Passing, Record};

/// Age after which a full pass is repeated, even if single pages confirm the listing.
pub(super) const FULL_PASS_HOLDS: Duration = Duration::from_secs(600);

impl<R: Record> Listing<R> {
    /// Starts the first pass: its pages are added by [`Listing::put_all`].
    pub fn pass_begins(&mut self, began: Instant) {
        self.passing = Some(Passing { began, reached: 0 });
    }

    /// The pass has received all records up to this id.
    pub fn pass_reached(&mut self, id: u64) {
        if let Some(pass) = &mut self.passing {
            pass.reached = id;
        }
    }

    /// Ends the pass.
    pub fn pass_stops(&mut self) {
        self.passing = None;
    }

    /// The page that can confirm the listing in one request, if there is one.
    pub fn confirming_page(&self, now: Instant, per_page: usize) -> Option<u32> {
        if self.belief.is_known() && !self.belief.was_confirmed() {
            // Known from an earlier mount: if new records come first, one page can confirm it. The next access
            // makes a full pass.
            return Some(1);
        }
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

    /// Applies the confirming page: the total number of records and some of the newest.
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
        let page = self.without_late(page, began);
        self.learn(page, began.max(now), taken, &mut changes);
        self.all_seen = Some(now);
        self.belief.confirmed(began, now);
        Confirmation::Holds(changes)
    }

    /// Applies a full pass: all records in the service's order.
    pub fn replace(
        &mut self,
        rows: Vec<R>,
        began: Instant,
        now: Instant,
        taken: &HashSet<String>,
    ) -> Changes {
        let order = order_of(&rows);
        let listed: HashSet<u64> = rows.iter().map(Record::number).collect();
        let mut changes = self.drop_unlisted(&listed, began);
        let rows = self.without_late(rows, began);
        self.learn(rows, now, taken, &mut changes);
        self.note_heirs();
        self.passed(&listed, order, began, now);
        changes
    }

    /// Completes a pass whose records were added page by page.
    pub fn pass_ended(
        &mut self,
        listed: &HashSet<u64>,
        order: Order,
        began: Instant,
        now: Instant,
    ) -> Changes {
        let changes = self.drop_unlisted(listed, began);
        self.note_heirs();
        self.passed(listed, order, began, now);
        changes
    }

    /// Removes records that a pass did not contain, or notes them to be asked for.
    fn drop_unlisted(&mut self, listed: &HashSet<u64>, began: Instant) -> Changes {
        let mut changes = Changes::default();
        let gone: Vec<u64> = self
            .rows
            .iter()
            .filter(|(id, learned)| !listed.contains(id) && learned.at <= began)
            .map(|(id, _)| *id)
            .collect();
        self.unlisted.clear();
        if !R::is_gone_if_unlisted() {
            self.unlisted = gone;
            return changes;
        }
        for id in gone {
            self.drop_row(id, &mut changes);
        }
        changes
    }

    fn passed(&mut self, listed: &HashSet<u64>, order: Order, began: Instant, now: Instant) {
        self.deleted
            .retain(|id, at| listed.contains(id) || *at > began);
        self.order = order;
        self.full_pass = Some(now);
        self.belief.confirmed(began, now);
    }
}

fn order_of<R: Record>(rows: &[R]) -> Order {
    if rows.is_sorted_by(|a, b| a.number() > b.number()) {
        Order::NewestFirst
    } else if rows.is_sorted_by(|a, b| a.number() < b.number()) {
        Order::NewestLast
    } else {
        Order::Unknown
    }
}
