//! The two folders with long listings, which are shown page by page as they come.

use super::node::Row;
use super::{rapidmodels, rawmodels};
use crate::drive::tree::Tree;
use crate::drive::values::node::ListingKind;

/// What is of this machine alone in a folder that shows a long listing.
pub(in crate::drive) fn own_rows(tree: &Tree, which: ListingKind) -> Vec<Row> {
    match which {
        ListingKind::Assets => rawmodels::draft_rows(tree),
        _ => Vec::new(),
    }
}

/// What is known by now of the folder, without asking for it.
pub(in crate::drive) fn rows_at_hand(tree: &Tree, which: ListingKind) -> Vec<Row> {
    match which {
        ListingKind::Assets => rawmodels::rows_at_hand(tree),
        _ => rapidmodels::rows_at_hand(tree),
    }
}

/// The rows of what has a higher id than that, with the highest.
pub(in crate::drive) fn rows_after(tree: &Tree, which: ListingKind, id: u64) -> (u64, Vec<Row>) {
    match which {
        ListingKind::Assets => rawmodels::rows_after(tree, id),
        _ => rapidmodels::rows_after(tree, id),
    }
}
