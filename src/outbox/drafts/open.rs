//! Making and opening files of drafts.

use std::sync::Arc;

use crate::outbox::drafts::info::{EntryInfo, EntryKind};
use crate::outbox::drafts::memory::DraftsMemory;
use crate::outbox::drafts::parts::DraftParts;
use crate::outbox::drafts::record::DraftRecord;
use crate::outbox::drafts::show::entry_info;
use crate::outbox::drafts::staged_file::StagedFile;
use crate::outbox::drafts::tree::{Attributes, FileState};
use crate::outbox::error::{OutboxError, OutboxResult, staging_error};
use crate::outbox::ids::{Caller, DraftId, EntryId};
use crate::outbox::moment::Moment;
use crate::outbox::staging::Content;

pub fn not_found(what: &str) -> OutboxError {
    OutboxError::NotFound(what.to_owned())
}

/// Fails if the name is taken in `rawmodels/`.
pub fn check_free_at_top(memory: &DraftsMemory, name: &str) -> OutboxResult<()> {
    match memory.state.top.contains_key(name) {
        true => Err(OutboxError::Exists(name.to_owned())),
        false => Ok(()),
    }
}

/// Fails unless `parent` is a folder of the draft in which the name is free.
pub fn check_free(
    memory: &DraftsMemory,
    draft: DraftId,
    parent: EntryId,
    name: &str,
) -> OutboxResult<()> {
    let tree = &memory.draft(draft)?.tree;
    let folder = tree.node(parent).ok_or_else(|| not_found("the folder"))?;
    match folder.folder() {
        None => Err(OutboxError::NotAFolder(tree.path(parent))),
        Some(children) if children.contains_key(name) => Err(OutboxError::Exists(name.to_owned())),
        Some(_) => Ok(()),
    }
}

/// Makes a file in a folder whose name is free, and opens it for writing.
pub fn make_file(
    parts: &Arc<DraftParts>,
    memory: &mut DraftsMemory,
    content: Content,
    place: (DraftId, EntryId, &str),
    mode: u32,
    caller: &Caller,
) -> OutboxResult<(EntryInfo, StagedFile)> {
    let (draft, parent, name) = place;
    let entry = EntryId(memory.state.next_id());
    memory.record(DraftRecord::FileMade {
        draft,
        entry,
        parent,
        name: name.to_owned(),
        content: content.id(),
        attributes: Attributes::made_by(mode, caller, parts.config.owner, Moment::now())
            .made_in(&memory.entry(draft, parent)?.attributes, EntryKind::File),
    })?;
    memory.note_change(draft, Some(caller), parts.now());
    let content = Arc::new(content);
    let file = StagedFile::register(parts, memory, content, (draft, entry), Some(*caller));
    let info = entry_info(memory, draft, entry).ok_or_else(|| not_found(name))?;
    Ok((info, file))
}

/// Opens a file of a draft under the memory's lock.
pub fn open_file(
    parts: &Arc<DraftParts>,
    memory: &mut DraftsMemory,
    draft: DraftId,
    entry: EntryId,
    writer: Option<Caller>,
) -> OutboxResult<StagedFile> {
    let tree = &memory.draft(draft)?.tree;
    let node = tree.node(entry).ok_or_else(|| not_found("the file"))?;
    let path = tree.path(entry);
    let file = node.file().ok_or(OutboxError::IsAFolder(path.clone()))?;
    let flushed = (file.state == FileState::Flushed).then_some(file.size);
    let content = file.content;
    if writer.is_some() {
        memory.begin_change(draft)?;
    }
    let bytes = match memory.open.get(&content) {
        Some(open) => Arc::clone(&open.content),
        None => {
            let opened = parts.own.staging.open_content(content);
            let space_reserve = parts.own.staging.space_reserve();
            let opened =
                opened.and_then(|file| Content::existing(content, file, space_reserve, flushed));
            Arc::new(opened.map_err(staging_error(format!("opening {path}")))?)
        }
    };
    Ok(StagedFile::register(
        parts,
        memory,
        bytes,
        (draft, entry),
        writer,
    ))
}

/// Opens a file that was removed while it is open, once more.
pub fn open_removed(
    parts: &Arc<DraftParts>,
    memory: &mut DraftsMemory,
    entry: EntryId,
    writer: Option<Caller>,
) -> Option<StagedFile> {
    let open = memory.removed(entry)?;
    let (content, at) = (Arc::clone(&open.content), (open.draft, entry));
    Some(StagedFile::register(parts, memory, content, at, writer))
}
