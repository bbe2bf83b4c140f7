//! The first pass over a long listing: each page is stored and shown as it arrives.
//!
//! The oldest page comes first, so that of several objects with one name the lowest id gets it, as in a
//! complete listing. Objects may be created and deleted between the pages: a pass that did not see as many as
//! the service reports is incomplete.

use std::collections::HashSet;

use futures_util::TryStreamExt as _;
use serde::Serialize;
use tokio::time::Instant;

use crate::client::PageStream;
use crate::drive::catalog::asking::send_with_deadline;
use crate::drive::catalog::data::listing_refs::ListingRef;
use crate::drive::catalog::listings::changes::report;
use crate::drive::catalog::listings::records::{learn, learned};
use crate::drive::catalog::parts::Catalog;
use crate::drive::error::DriveResult;
use crate::drive::values::listing::{Changes, Order, Record};
use crate::wire::Page;

/// All records of a listing, page by page; false if incomplete.
pub(super) async fn first_pass<T, R: Record + Serialize>(
    catalog: &Catalog,
    listing: &ListingRef<R>,
    mut pages: PageStream<T>,
    id: fn(&T) -> u64,
    row: impl Fn(&T) -> R,
) -> DriveResult<bool> {
    let (began, mut pass) = (Instant::now(), Pass::new());
    (listing.rows)(&mut catalog.known()).pass_begins(began);
    let passed = loop {
        let page = match send_with_deadline(catalog, pages.try_next()).await {
            Ok(Some(page)) => page,
            Ok(None) => break Ok(pass),
            Err(error) => break Err(error),
        };
        pass.note(&page, id);
        let rows = page.data.iter().map(&row).collect();
        let changes = learned(catalog, listing, rows, |listing, rows, taken| {
            let changes = listing.put_all(rows, began, Instant::now(), taken);
            listing.pass_reached(pass.highest);
            Some(changes)
        });
        report(
            catalog,
            listing.kind,
            &without_appeared(changes.unwrap_or_default()),
        );
        catalog.pages_arrived.send_modify(|count| *count += 1);
    };
    let is_whole = learn(catalog, listing, Vec::new(), |listing, _, _| {
        listing.pass_stops();
        let pass = passed.as_ref().ok().filter(|pass| pass.is_all())?;
        Some(listing.pass_ended(&pass.listed, pass.order(), began, Instant::now()))
    });
    passed.map(|_| is_whole)
}

/// Drops reports of new names: the kernel cannot have cached names of a listing that was never shown.
fn without_appeared(mut changes: Changes) -> Changes {
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
