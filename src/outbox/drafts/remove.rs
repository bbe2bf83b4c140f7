//! Removing a draft. What was removed is deleted from disk only when the journal says so durably.

use crate::outbox::drafts::parts::DraftParts;
use crate::outbox::drafts::record::DraftRecord;
use crate::outbox::error::OutboxResult;
use crate::outbox::ids::DraftId;

/// Removes a draft with everything in it: cancels an upload under way and deletes what the
/// service already has of it. Durable on return.
pub fn remove_draft(parts: &DraftParts, draft: DraftId) -> OutboxResult<()> {
    let (ticket, there) = {
        let mut memory = parts.memory();
        match memory.draft(draft) {
            Ok(_) => {
                memory.stop_upload(draft);
                let ticket = memory.record(DraftRecord::Removed { draft })?;
                memory.forget_gone();
                (ticket, Ok(()))
            }
            // An earlier removal may not be durable yet: "not there" has to be true tomorrow, too.
            Err(gone) => (parts.journal.last(), Err(gone)),
        }
    };
    parts.journal.settle(ticket)?;
    there?;
    parts.draft_changed(draft);
    parts.discard_news.notify_one();
    Ok(())
}
