//! `fsync` on a folder: makes the draft durable for a process that wrote into it, and commits the draft for any
//! other process.

use std::sync::Arc;

use crate::drive::error::DriveResult;
use crate::drive::mount::Mount;
use crate::drive::ops::control::commit;
use crate::drive::ops::why::noted_node;
use crate::drive::places::Container;
use crate::drive::posix::{Caller, Ino};
use crate::drive::tree::Tree;
use crate::outbox::{DraftId, EntryId};

pub async fn sync_dir(mount: &Arc<Mount>, ino: Ino, caller: &Caller) -> DriveResult<()> {
    let node = mount.node(ino)?;
    match node.draft_entry() {
        Some((draft, EntryId::ROOT)) if is_draft(mount, draft) => {
            if mount
                .outbox()
                .drafts()
                .wrote_into(draft, &caller.for_outbox())
            {
                return Ok(mount.outbox().drafts().sync(draft)?);
            }
            let result = commit(mount, draft, false).await;
            noted_node(mount, &node, result)
        }
        Some((draft, _)) if is_draft(mount, draft) => Ok(mount.outbox().drafts().sync(draft)?),
        // The folder of loose files.
        _ if node.container() == Some(Container::Drafts) => {
            Ok(mount.outbox().drafts().sync_all()?)
        }
        _ => Ok(()),
    }
}

fn is_draft(tree: &Tree, draft: DraftId) -> bool {
    tree.catalog().asset_of_draft(draft).is_none() && tree.outbox().drafts().get(draft).is_some()
}
