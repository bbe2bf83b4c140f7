//! Names that deletions in progress hide, and names that removed jobs leave behind for a moment.

use super::node::{Node, Row};
use crate::drive::tree::Tree;
use crate::drive::values::local::{DropFolder, JobEntry};
use crate::drive::values::node::Model;

/// True for a node that a deletion in progress has removed.
pub fn is_hidden(tree: &Tree, node: &Node) -> bool {
    if tree.deletions().hides_nothing() {
        return false;
    }
    node.owner(tree).is_some_and(|model| {
        tree.deletions()
            .is_hidden(model, node, tree.config().restore_after)
    })
}

/// Removes the rows that a deletion in progress hides.
pub(super) fn without_hidden(tree: &Tree, rows: &mut Vec<Row>, model: Model) {
    let deletions = tree.deletions();
    if deletions.hides_parts_of(model) {
        rows.retain(|row| !deletions.is_hidden(model, &row.node, tree.config().restore_after));
    }
}

/// The part of a removed job with this name.
pub(super) fn find_removed_part(tree: &Tree, folder: DropFolder, name: &str) -> Option<JobEntry> {
    let found = tree.deletions().find_removed_part(folder, name);
    found.filter(|entry| is_removed_part(tree, entry))
}

/// True for a part that was removed with its job, if the job does not exist again.
pub fn is_removed_part(tree: &Tree, entry: &JobEntry) -> bool {
    let was_left = tree
        .deletions()
        .is_removed_part(entry, tree.config().restore_after);
    let folder = entry.folder.in_outbox();
    was_left
        && tree
            .outbox()
            .jobs()
            .get(&folder, &entry.text_name)
            .is_none()
}
