//! The two folders with long listings, which are shown page by page.

use super::node::Row;
use super::{rapidmodels, rawmodels};
use crate::drive::tree::Tree;
use crate::drive::values::node::ListingKind;

/// The rows that only exist on this machine: drafts.
pub(in crate::drive) fn own_rows(tree: &Tree, which: ListingKind) -> Vec<Row> {
    match which {
        ListingKind::Assets => rawmodels::draft_rows(tree),
        _ => Vec::new(),
    }
}

/// The rows that are known now, without a request.
pub(in crate::drive) fn rows_at_hand(tree: &Tree, which: ListingKind) -> Vec<Row> {
    match which {
        ListingKind::Assets => rawmodels::rows_at_hand(tree),
        _ => rapidmodels::rows_at_hand(tree),
    }
}

/// The rows above an id, with the highest id.
pub(in crate::drive) fn rows_after(tree: &Tree, which: ListingKind, id: u64) -> (u64, Vec<Row>) {
    match which {
        ListingKind::Assets => rawmodels::rows_after(tree, id),
        _ => rapidmodels::rows_after(tree, id),
    }
}
