//! `fsync` on a folder: from a process that did not write into the draft it commits, from one that
//! did it makes durable.

use std::sync::Arc;

use crate::drive::error::DriveResult;
use crate::drive::ops::control::{commit, noted_node};
use crate::drive::parts::Tree;
use crate::drive::posix::{Caller, Ino};
use crate::outbox::{DraftId, EntryId};

/// `fsync` on a folder.
pub(in crate::drive) async fn sync_dir(
    tree: &Arc<Tree>,
    ino: Ino,
    caller: &Caller,
) -> DriveResult<()> {
    let node = tree.node(ino)?;
    match node.draft_entry() {
        Some((draft, EntryId::ROOT)) if is_draft(tree, draft) => {
            if tree.outbox.wrote_into(draft, &caller.for_outbox()) {
                return Ok(tree.outbox.sync_draft(draft)?);
            }
            let result = commit(tree, draft, false).await;
            noted_node(tree, &node, result)
        }
        Some((draft, _)) if is_draft(tree, draft) => Ok(tree.outbox.sync_draft(draft)?),
        _ => Ok(()),
    }
}

fn is_draft(tree: &Tree, draft: DraftId) -> bool {
    tree.catalog.asset_of_draft(draft).is_none() && tree.outbox.draft(draft).is_some()
}
