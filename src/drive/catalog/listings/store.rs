//! Stores listings across mounts, record by record.

use std::time::SystemTime;

use serde::Serialize;

use crate::drive::catalog::asking::blocking;
use crate::drive::catalog::data::known::Known;
use crate::drive::catalog::data::stored_listings::keep_rows;
use crate::drive::catalog::parts::Catalog;
use crate::drive::error::DriveResult;
use crate::drive::values::listing::{Changes, Listing, Record};
use crate::drive::values::node::ListingKind;

/// Stores changes of a listing and sets the time of its folder.
pub(super) fn keep<R: Record + Serialize>(
    catalog: &Catalog,
    which: ListingKind,
    known: &mut Known,
    listing: fn(&mut Known) -> &mut Listing<R>,
    changes: &Changes,
) {
    keep_rows(&catalog.meta, which, listing(known), changes);
    if !changes.is_empty() {
        known.changed.insert(which, SystemTime::now());
    }
}

/// Makes all stored listings durable. A change through the drive is answered after this, so that no later mount
/// shows the previous state.
pub(in crate::drive) async fn keep_for_good(catalog: &Catalog) -> DriveResult<()> {
    let meta = catalog.meta.clone();
    blocking(catalog, move || {
        if let Err(error) = meta.flush() {
            // The store is only a copy: the change itself was made.
            tracing::warn!(error = %error, "could not keep what was changed");
        }
        Ok(())
    })
    .await
}
