//! Stores listings across mounts, record by record.

use std::time::SystemTime;

use serde::Serialize;

use crate::drive::catalog::asking::blocking;
use crate::drive::catalog::data::known::Known;
use crate::drive::catalog::data::listing_refs::ListingRef;
use crate::drive::catalog::data::stored_listings::keep_rows;
use crate::drive::catalog::parts::Catalog;
use crate::drive::error::DriveResult;
use crate::drive::values::listing::{Changes, Record};

/// Stores changes of a listing and sets the time of its folder.
pub(super) fn keep<R: Record + Serialize>(
    catalog: &Catalog,
    listing: &ListingRef<R>,
    known: &mut Known,
    changes: &Changes,
) {
    keep_rows(&catalog.meta, listing.kind, (listing.rows)(known), changes);
    if !changes.is_empty() {
        known.changed.insert(listing.kind, SystemTime::now());
    }
}

/// Makes all stored listings durable. A change through the drive is answered after this, so that no later mount
/// shows the previous state.
pub(in crate::drive) async fn keep_for_good(catalog: &Catalog) -> DriveResult<()> {
    let meta = catalog.meta.clone();
    blocking(catalog, move || {
        if let Err(error) = meta.flush() {
            // The store is only a copy: the change itself was made.
            tracing::warn!(error = %error, "could not store a change");
        }
        Ok(())
    })
    .await
}
