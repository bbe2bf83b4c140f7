//! Removing drafts and what is in them. What was removed is gone from the disk only when the journal says so
//! durably.

use crate::outbox::Outbox;
use crate::outbox::drafts::info::{DraftKind, EntryKind};
use crate::outbox::drafts::ops::not_found;
use crate::outbox::drafts::record::DraftRecord;
use crate::outbox::error::{OutboxError, OutboxResult};
use crate::outbox::ids::{Caller, DraftId, EntryId};
use crate::outbox::moment::Moment;

impl Outbox {
    /// Removes a draft with everything in it: cancels an upload under way and deletes what the
    /// service already has of it. Durable on return.
    pub fn remove_draft(&self, draft: DraftId) -> OutboxResult<()> {
        let (ticket, there) = {
            let mut core = self.shared.core();
            match core.draft(draft) {
                Ok(_) => {
                    core.stop_upload(draft);
                    let ticket = core.record(DraftRecord::Removed { draft })?;
                    core.forget_gone();
                    (ticket, Ok(()))
                }
                // An earlier removal may not be durable yet: "not there" has to be true tomorrow, too.
                Err(gone) => (self.shared.journal.last(), Err(gone)),
            }
        };
        self.shared.journal.settle(ticket)?;
        there?;
        self.shared.draft_changed(draft);
        self.shared.discard_news.notify_one();
        Ok(())
    }

    /// Removes a file.
    pub fn remove_file(
        &self,
        draft: DraftId,
        parent: EntryId,
        name: &str,
        caller: &Caller,
    ) -> OutboxResult<()> {
        self.remove_entry(draft, parent, name, EntryKind::File, caller)
    }

    /// Removes an empty folder.
    pub fn remove_dir(
        &self,
        draft: DraftId,
        parent: EntryId,
        name: &str,
        caller: &Caller,
    ) -> OutboxResult<()> {
        self.remove_entry(draft, parent, name, EntryKind::Folder, caller)
    }

    fn remove_entry(
        &self,
        draft: DraftId,
        parent: EntryId,
        name: &str,
        kind: EntryKind,
        caller: &Caller,
    ) -> OutboxResult<()> {
        {
            let mut core = self.shared.core();
            let found = core.draft(draft)?;
            let entry = found
                .tree
                .child(parent, name)
                .ok_or_else(|| not_found(name))?;
            let node = found.tree.node(entry).ok_or_else(|| not_found(name))?;
            match (kind, node.folder()) {
                (EntryKind::File, Some(_)) => return Err(OutboxError::IsAFolder(name.to_owned())),
                (EntryKind::Folder, None) => return Err(OutboxError::NotAFolder(name.to_owned())),
                (EntryKind::Folder, Some(children)) if !children.is_empty() => {
                    return Err(OutboxError::NotEmpty(name.to_owned()));
                }
                _ => {}
            }
            if found.kind == DraftKind::LooseFile {
                drop(core);
                return self.remove_draft(draft);
            }
            core.begin_change(draft)?;
            core.record(DraftRecord::EntryRemoved {
                draft,
                entry,
                at: Moment::now(),
            })?;
            core.stirred(draft, Some(caller), self.shared.now());
        }
        self.shared.draft_changed(draft);
        self.shared.discard_news.notify_one();
        Ok(())
    }
}
