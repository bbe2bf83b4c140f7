//! Removes drafts. The staged bytes are deleted once the record of the removal is durable.

use crate::outbox::drafts::draft::Draft;
use crate::outbox::drafts::memory::DraftsMemory;
use crate::outbox::drafts::parts::DraftParts;
use crate::outbox::drafts::record::DraftRecord;
use crate::outbox::error::{OutboxError, OutboxResult};
use crate::outbox::ids::DraftId;

/// Removes a draft with everything in it. Cancels a running upload and deletes its unfinished asset on the service.
/// Durable on return.
pub fn remove_draft(parts: &DraftParts, draft: DraftId) -> OutboxResult<()> {
    remove_draft_if(parts, draft, |_, _| true)
}

/// The same for a draft that is still what the caller takes it for.
pub fn remove_draft_if(
    parts: &DraftParts,
    draft: DraftId,
    is_it: impl FnOnce(&DraftsMemory, &Draft) -> bool,
) -> OutboxResult<()> {
    let mut left = None;
    let mut held_room = false;
    let (ticket, there) = {
        let mut memory = parts.memory();
        match memory.draft(draft) {
            Ok(found) if !is_it(&memory, found) => {
                return Err(OutboxError::NotFound(format!("draft {draft}")));
            }
            Ok(found) => {
                left = found.loose_name();
                held_room = found.attempt.is_some();
                memory.stop_upload(draft);
                let ticket = memory.record(DraftRecord::Removed { draft })?;
                memory.forget_gone();
                (ticket, Ok(()))
            }
            // An earlier removal may not be durable yet. "Not found" is answered once it is.
            Err(gone) => (parts.journal.last(), Err(gone)),
        }
    };
    parts.settle_removal(ticket)?;
    there?;
    parts.draft_changed(draft);
    parts.loose_file_left(left);
    if held_room {
        parts.room_is_freed();
    }
    parts.own.discard_wake.notify_one();
    Ok(())
}
