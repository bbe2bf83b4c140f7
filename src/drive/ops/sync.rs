//! `fsync` on a folder: from a process that did not write into the draft it commits, from one that
//! did it makes durable.

use std::sync::Arc;

use crate::drive::error::DriveResult;
use crate::drive::shared::Shared;
use crate::drive::types::{Caller, Ino};
use crate::outbox::{DraftId, EntryId};

impl Shared {
    /// `fsync` on a folder.
    pub(in crate::drive) async fn sync_dir(
        self: &Arc<Self>,
        ino: Ino,
        caller: &Caller,
    ) -> DriveResult<()> {
        let node = self.node(ino)?;
        match node.draft_entry() {
            Some((draft, EntryId::ROOT)) if self.is_draft(draft) => {
                if self.outbox.wrote_into(draft, &caller.for_outbox()) {
                    return Ok(self.outbox.sync_draft(draft)?);
                }
                let result = self.commit(draft, false).await;
                self.noted_node(&node, result)
            }
            Some((draft, _)) if self.is_draft(draft) => Ok(self.outbox.sync_draft(draft)?),
            _ => Ok(()),
        }
    }

    fn is_draft(&self, draft: DraftId) -> bool {
        self.asset_of_draft(draft).is_none() && self.outbox.draft(draft).is_some()
    }
}
