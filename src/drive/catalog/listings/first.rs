//! The first pass over a long listing: each page is stored and shown as it arrives.
//!
//! The oldest page comes first, so that of several objects with one name the lowest id gets it, as in a
//! complete listing. Objects may be created and deleted between the pages: a pass that did not see as many as
//! the service reports is incomplete.

use std::collections::HashSet;
use std::time::Instant;

use futures_util::TryStreamExt as _;

use crate::client::{PageStream, Priority};
use crate::drive::catalog::asking::asked;
use crate::drive::catalog::data::listing_refs::RAPIDS;
use crate::drive::catalog::listings::changes::{assets_changed, rapids_changed};
use crate::drive::catalog::listings::records::{
    learned_rows, rapid_row, store_asset_changes, store_rapids,
};
use crate::drive::catalog::listings::store::keep;
use crate::drive::catalog::parts::Catalog;
use crate::drive::error::DriveResult;
use crate::drive::values::known::KnownAsset;
use crate::drive::values::listing::{Changes, Listing, Order, Record};
use crate::wire::{BaseAsset, Page, RapidModel};

/// All base assets, page by page; false if incomplete.
pub(super) async fn first_assets(catalog: &Catalog, began: Instant) -> DriveResult<bool> {
    catalog.known().assets.pass_begins(began);
    let pages = catalog
        .client
        .assets()
        .pages_oldest_first(Priority::Interactive);
    let learn = |records: &[BaseAsset], highest: u64| {
        let rows = records.iter().map(KnownAsset::from_record).collect();
        let learned = learned_rows(catalog, rows, |listing, rows, taken| {
            Some(listing.put_all(rows, began, Instant::now(), taken))
        });
        catalog.known().assets.pass_reached(highest);
        assets_changed(catalog, &unasked(learned.unwrap_or_default()));
    };
    let pass = pass_over(catalog, pages, |asset| asset.id.0, learn).await;
    let mut known = catalog.known();
    let Some(changes) = end_pass(&mut known.assets, pass, began)? else {
        return Ok(false);
    };
    store_asset_changes(catalog, known, &changes);
    Ok(true)
}

/// All rapid models in the same way.
pub(super) async fn first_rapids(catalog: &Catalog, began: Instant) -> DriveResult<bool> {
    catalog.known().rapids.pass_begins(began);
    let pages = catalog
        .client
        .rapids()
        .pages_oldest_first(Priority::Interactive);
    let learn = |records: &[RapidModel], highest: u64| {
        let rows = records.iter().map(|record| rapid_row(catalog, record));
        let rows = rows.collect();
        let mut known = catalog.known();
        let changes = known
            .rapids
            .put_all(rows, began, Instant::now(), &HashSet::new());
        known.rapids.pass_reached(highest);
        keep(catalog, &RAPIDS, &mut known, &changes);
        drop(known);
        rapids_changed(catalog, &unasked(changes));
    };
    let pass = pass_over(catalog, pages, |rapid| rapid.id.0, learn).await;
    let mut known = catalog.known();
    let Some(changes) = end_pass(&mut known.rapids, pass, began)? else {
        return Ok(false);
    };
    store_rapids(catalog, known, &changes);
    Ok(true)
}

/// Passes the records of each page to `learn`, with the highest id so far.
async fn pass_over<T>(
    catalog: &Catalog,
    mut pages: PageStream<T>,
    id: fn(&T) -> u64,
    learn: impl Fn(&[T], u64),
) -> DriveResult<Pass> {
    let mut pass = Pass::new();
    while let Some(page) = asked(catalog, pages.try_next()).await? {
        pass.note(&page, id);
        learn(&page.data, pass.highest);
        catalog.pages_arrived.send_modify(|count| *count += 1);
    }
    Ok(pass)
}

/// Ends a pass; returns its changes if it was complete.
fn end_pass<R: Record>(
    listing: &mut Listing<R>,
    pass: DriveResult<Pass>,
    began: Instant,
) -> DriveResult<Option<Changes>> {
    listing.pass_stops();
    let pass = pass?;
    if !pass.is_all() {
        return Ok(None);
    }
    let (order, now) = (pass.order(), Instant::now());
    Ok(Some(listing.pass_ended(&pass.listed, order, began, now)))
}

/// The kernel has looked up no name of a listing that was never known.
fn unasked(mut changes: Changes) -> Changes {
    changes.appeared.clear();
    changes
}

/// The counts of one pass.
struct Pass {
    listed: HashSet<u64>,
    unreadable: usize,
    /// The total that the last requested page reported.
    total: u64,
    highest: u64,
    falls: bool,
    rises: bool,
}

impl Pass {
    fn new() -> Pass {
        Pass {
            listed: HashSet::new(),
            unreadable: 0,
            total: 0,
            highest: 0,
            falls: true,
            rises: true,
        }
    }

    fn note<T>(&mut self, page: &Page<T>, id: impl Fn(&T) -> u64) {
        let ids: Vec<u64> = page.data.iter().map(id).collect();
        let is_higher = ids.iter().all(|id| *id > self.highest);
        self.falls &= is_higher && ids.is_sorted_by(|a, b| a > b);
        self.rises &= is_higher && ids.is_sorted_by(|a, b| a < b);
        self.highest = ids.iter().copied().fold(self.highest, u64::max);
        // The first page was requested before all others, even if it is delivered last.
        if self.listed.is_empty() || page.meta.current_page > 1 {
            self.total = page.meta.total;
        }
        self.unreadable += page.unreadable;
        self.listed.extend(ids);
    }

    fn is_all(&self) -> bool {
        (self.listed.len() + self.unreadable) as u64 >= self.total
    }

    fn order(&self) -> Order {
        match (self.falls, self.rises) {
            (true, _) => Order::NewestFirst,
            (false, true) => Order::NewestLast,
            (false, false) => Order::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass_of(pages: &[(u64, &[u64])], total: u64) -> Pass {
        let mut pass = Pass::new();
        for (number, ids) in pages {
            let page =
                serde_json::json!({"data": ids, "meta": {"current_page": number, "total": total}});
            pass.note(&serde_json::from_value::<Page<u64>>(page).unwrap(), |id| {
                *id
            });
        }
        pass
    }

    #[test]
    fn the_order_of_the_service_is_seen_from_pages_that_come_oldest_first() {
        let order = |pages: &[(u64, &[u64])]| pass_of(pages, 4).order();
        assert_eq!(order(&[(2, &[2, 1]), (1, &[4, 3])]), Order::NewestFirst);
        assert_eq!(order(&[(1, &[1, 2]), (2, &[3, 4])]), Order::NewestLast);
        assert_eq!(order(&[(1, &[2, 1]), (2, &[4, 9, 7])]), Order::Unknown);
        assert_eq!(order(&[(2, &[3, 1]), (1, &[4, 2])]), Order::Unknown);
        assert_eq!(order(&[(1, &[7])]), Order::NewestFirst);
    }

    #[test]
    fn a_pass_that_missed_what_was_made_meanwhile_is_not_all() {
        assert!(pass_of(&[(2, &[2, 1]), (1, &[4, 3])], 4).is_all());
        assert!(!pass_of(&[(2, &[2, 1]), (1, &[4])], 4).is_all());
        assert!(pass_of(&[], 0).is_all());
    }
}
