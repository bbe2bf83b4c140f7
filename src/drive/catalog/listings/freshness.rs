//! How far a listing is known, without a request.

use tokio::sync::watch;
use tokio::time::Instant;

use crate::drive::catalog::parts::Catalog;
use crate::drive::values::node::ListingKind;

/// Changes with each page of a long listing.
pub fn subscribe_to_pages(catalog: &Catalog) -> watch::Receiver<u64> {
    catalog.pages_arrived.subscribe()
}

/// True while a listing is too old to delete by it.
pub fn is_stale(catalog: &Catalog, which: ListingKind) -> bool {
    catalog.known().belief(which).is_stale()
}

/// True once a listing was completely known.
pub fn is_listed(catalog: &Catalog, which: ListingKind) -> bool {
    catalog.known().belief(which).is_known()
}

/// The next access to a listing sends a request.
pub fn mark_stale(catalog: &Catalog, which: ListingKind) {
    catalog.known().belief(which).mark_stale(Instant::now());
}
