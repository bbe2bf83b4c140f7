//! Removes new versions whose files equal those of the asset that they replace. They are not sent.

use std::sync::Arc;
use std::time::SystemTime;

use crate::outbox::drafts::draft::{Draft, Stage};
use crate::outbox::drafts::memory::DraftsMemory;
use crate::outbox::drafts::parts::DraftParts;
use crate::outbox::drafts::record::UploadRecord;
use crate::outbox::drafts::remove::remove_draft_if;
use crate::outbox::drafts::settle::facts::{self, Knowledge};
use crate::outbox::drafts::tree::FileState;
use crate::outbox::error::{OutboxError, OutboxResult};
use crate::outbox::ids::{DraftId, EntryId};
use crate::outbox::off_thread::off_thread;
use crate::wire::AssetId;

/// Removes a new version if its files equal those of the asset that it replaces, and returns that asset. If the version is a
/// loose file, the file of the asset gets its modification time. The comparison and the removal are one step, so that a file
/// that is added meanwhile is not lost.
pub async fn remove_unchanged(
    parts: &Arc<DraftParts>,
    version: DraftId,
) -> OutboxResult<Option<AssetId>> {
    let parts = Arc::clone(parts);
    off_thread(move || {
        let mut old = None;
        let mut copied = None;
        let is_unchanged = |memory: &DraftsMemory, draft: &Draft| {
            old = unchanged(memory, version, draft);
            copied = draft.loose_mtime();
            old.is_some()
        };
        match remove_draft_if(&parts, version, is_unchanged) {
            Ok(()) => {}
            Err(OutboxError::NotFound(_)) if old.is_none() => return Ok(None),
            Err(error) => return Err(error),
        }
        if let (Some(asset), Some(mtime)) = (old, copied) {
            let mut memory = parts.memory();
            let record = memory.state.sent.get(&asset);
            let file = record.and_then(|record| Some(record.loose_file()?.1.id));
            if let Some(file) = file {
                copied_again(&mut memory, asset, file, mtime)?;
            }
        }
        Ok(old)
    })
    .await?
}

/// Gives a file of an asset the modification time of a copy that has the same bytes.
pub fn copied_again(
    memory: &mut DraftsMemory,
    asset: AssetId,
    entry: EntryId,
    mtime: SystemTime,
) -> OutboxResult<()> {
    let record = memory.state.sent.get(&asset);
    let sent = record.and_then(|record| record.entries.iter().find(|sent| sent.id == entry));
    if sent.is_some_and(|sent| sent.mtime != mtime) {
        memory.record(UploadRecord::CopiedAgain {
            asset,
            entry,
            mtime: mtime.into(),
        })?;
    }
    Ok(())
}

/// The asset that a draft is a new version of, if both have the same files. An asset that failed or is being deleted is never
/// the same, nor is a draft that is being written.
fn unchanged(memory: &DraftsMemory, id: DraftId, draft: &Draft) -> Option<AssetId> {
    let old = draft.replaces.as_ref()?.asset;
    if memory.state.deletions.contains(&old) || !is_settled(memory, id, draft) {
        return None;
    }
    let kept = memory.state.draft_of(old);
    let kept = kept.and_then(|kept| memory.state.drafts.get(&kept)?.stage());
    if matches!(kept, Some(Stage::ImportFailed { .. })) {
        return None;
    }
    let sent = memory.state.sent.get(&old)?.contents()?;
    (facts::manifest_of(memory, draft).contents() == sent).then_some(old)
}

/// True if all bytes of a draft are on the disk and no program is copying into it.
fn is_settled(memory: &DraftsMemory, id: DraftId, draft: &Draft) -> bool {
    let Some(Knowledge::All(facts)) = facts::gather(memory, id) else {
        return false;
    };
    let mut files = draft.tree.files();
    facts.being_written.is_empty()
        && facts.in_flight.is_empty()
        && files.all(|file| file.state == FileState::Flushed)
}
