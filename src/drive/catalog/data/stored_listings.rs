//! Stores listings across mounts, record by record.

use tokio::time::Instant;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::drive::values::belief::Freshness;
use crate::drive::values::listing::{Changes, Listing, Record};
use crate::drive::values::node::ListingKind;
use crate::durable::MetaStore;
use crate::wire::RapidId;

const JOBS_KEY: &str = "ids";
/// For each listing, the ids of records whose plain name a draft has.
const YIELDING_TABLE: &str = "yielding";

/// Stores changes of a listing.
pub(in crate::drive::catalog) fn keep_rows<R: Record + Serialize>(
    store: &MetaStore,
    which: ListingKind,
    listing: &Listing<R>,
    changes: &Changes,
) {
    let table = which.table();
    let is_kept = || store.get("confirmed", table).ok().flatten() == Some(true);
    if changes.is_empty() && (is_kept() || !listing.belief.is_known()) {
        return;
    }
    // Only models have drafts beside them.
    let has_new_yielding = which == ListingKind::Assets
        && !stored_yielding(store, table).iter().eq(listing.yielding());
    let kept = store.relaxed().batch(|batch| {
        let renamed = changes.renamed.iter().map(|(id, _)| id);
        for id in changes
            .appeared
            .iter()
            .chain(&changes.changed)
            .chain(renamed)
        {
            if let (Some(row), Some(name)) = (listing.row(*id), listing.name(*id)) {
                batch.put(table, &row_key(*id), &(row, name))?;
            }
        }
        for (id, _) in &changes.gone {
            batch.remove(table, &row_key(*id));
        }
        if has_new_yielding {
            batch.put(YIELDING_TABLE, table, listing.yielding())?;
        }
        // Some records are not a complete listing.
        if listing.belief.is_known() {
            batch.put("confirmed", table, &true)?;
        }
        Ok(())
    });
    if let Err(error) = kept {
        tracing::warn!(table, error = %error, "could not store a listing");
    }
}

fn stored_yielding(store: &MetaStore, table: &str) -> Vec<u64> {
    let kept = store.get(YIELDING_TABLE, table).ok().flatten();
    kept.unwrap_or_default()
}

/// Restores what an earlier mount stored in `table`.
pub fn restore<R: Record + DeserializeOwned>(
    store: &MetaStore,
    which: ListingKind,
    extension: &'static str,
) -> Listing<R> {
    let mut listing = Listing::new(extension);
    let table = which.table();
    let was_known: Option<bool> = store.get("confirmed", table).unwrap_or_else(|error| {
        tracing::warn!(table, error = %error, "could not read the data of an earlier mount");
        None
    });
    let kept: Vec<(String, (R, String))> = store.scan(table, "").unwrap_or_default();
    let names: Vec<(u64, String, String)> = kept
        .iter()
        .map(|(_, (row, name))| (row.number(), name.clone(), row.service_name().to_owned()))
        .collect();
    listing.restore(
        kept.into_iter().map(|(_, (row, _))| row),
        names,
        Instant::now(),
    );
    listing.restore_yielding(stored_yielding(store, table));
    if was_known == Some(true) {
        listing.belief.remembered();
    }
    listing
}

/// Stores which optimizations are running or have failed.
pub(in crate::drive::catalog) fn keep_jobs(store: &MetaStore, jobs: &[RapidId]) {
    let table = ListingKind::Jobs.table();
    if let Err(error) = store.relaxed().put(table, JOBS_KEY, &jobs) {
        tracing::warn!(table, error = %error, "could not store a listing");
    }
}

/// Restores which optimizations were running or had failed.
pub fn restore_jobs(store: &MetaStore) -> (Vec<RapidId>, Freshness) {
    let kept: Option<Vec<RapidId>> = store
        .get(ListingKind::Jobs.table(), JOBS_KEY)
        .unwrap_or_default();
    let mut belief = Freshness::default();
    if kept.is_some() {
        belief.remembered();
    }
    (kept.unwrap_or_default(), belief)
}

fn row_key(id: u64) -> String {
    format!("{id:020}")
}
