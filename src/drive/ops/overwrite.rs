//! Writing in place to a loose file that was uploaded: other bytes are the next version of the model, as if a new file had been
//! renamed over it. Writing to a file of a model whose import failed: with other bytes, the model is sent again.

use std::sync::Arc;

use super::rename::{relocate, rename_to_name};
use crate::drive::error::DriveResult;
use crate::drive::files::overwrite::{NextFile, Overwrite, OverwriteTarget};
use crate::drive::files::recopy::RecopyCheck;
use crate::drive::mount::Mount;
use crate::drive::ops::again::{rename_over_changeable, replaced_by_file, take_time_over};
use crate::drive::ops::attributes::until_names_expire;
use crate::drive::places::{
    DraftEntry, Node, Place as _, file_beside, has_failed, refusal_to_change, refusals,
};
use crate::drive::posix::{Caller, OpenFlags};
use crate::drive::tree::Tree;
use crate::locks::Locked;
use crate::outbox::{self, DraftInfo, DraftKind, SAVE_START};

/// The longest part of a name in a temporary one, in bytes.
const MAX_NAME_PART: usize = 200;

/// Opens the file that is found beside the folder of its model, or one of a model whose import failed. `None` if it can have no
/// other bytes now: then the same bytes may be written again.
pub async fn open_overwrite(
    mount: &Arc<Mount>,
    of: DraftEntry,
    flags: OpenFlags,
    caller: &Caller,
) -> DriveResult<Option<Overwrite>> {
    if flags.append {
        return Ok(None);
    }
    mount.outbox().uploads().until_checked(of.draft).await;
    let Some(overwrite) = overwritable(mount, of, caller) else {
        return Ok(None);
    };
    if flags.truncate {
        begin(mount, &overwrite, caller)?;
    }
    Ok(Some(overwrite))
}

fn overwritable(tree: &Tree, of: DraftEntry, caller: &Caller) -> Option<Overwrite> {
    if has_failed(tree, of.draft) {
        let check = RecopyCheck::of_sent(tree, of, refusals::failed_import)?;
        return Some(Overwrite::new(OverwriteTarget::Failed(of), check, caller));
    }
    let asset = tree.catalog().asset_of_draft(of.draft)?;
    let record = tree.outbox().uploads().sent_record(asset)?;
    let name = record.loose_name().filter(|_| !record.is_old_version())?;
    let beside = file_beside(tree, &name)?;
    let is_it = (beside.draft, beside.entry) == (of.draft, of.entry);
    replaced_by_file(tree, of).ok().filter(|_| is_it)?;
    let check = RecopyCheck::of_sent(tree, of, refusals::frozen_asset)?;
    Some(Overwrite::new(OverwriteTarget::Loose(name), check, caller))
}

/// The file that the new content takes the place of, as it is now.
fn standing(tree: &Tree, of: &Overwrite) -> Option<DraftEntry> {
    match &of.target {
        OverwriteTarget::Loose(name) => file_beside(tree, name),
        OverwriteTarget::Failed(entry) => Some(*entry),
    }
}

/// Changes the length. A file that is emptied begins anew.
pub fn resize(mount: &Mount, of: &Overwrite, size: u64, caller: &Caller) -> DriveResult<()> {
    if size == 0 && of.next().is_none() {
        return begin(mount, of, caller);
    }
    match of.file() {
        Some(file) => Ok(file.truncate(size)?),
        None => of.check.resize(size),
    }
}

fn begin(mount: &Mount, of: &Overwrite, caller: &Caller) -> DriveResult<()> {
    let _turn = of.turn.locked();
    if let Some(file) = of.file() {
        return Ok(file.truncate(0)?);
    }
    let name = match &of.target {
        OverwriteTarget::Loose(name) => name.clone(),
        OverwriteTarget::Failed(of) => mount
            .outbox()
            .entries()
            .get(of.draft, of.entry)
            .map_or_else(String::new, |file| file.name),
    };
    let part = &name[..name.floor_char_boundary(MAX_NAME_PART.min(name.len()))];
    let name = format!("{SAVE_START}{:06x}.{part}", rand::random::<u32>() >> 8);
    let drafts = mount.outbox().drafts();
    let (_, _, file) = drafts.create_loose_file(&name, 0o644, &caller.for_outbox())?;
    of.begin(file, name);
    Ok(())
}

/// Handles a `close`. If the new bytes differ from those that were sent, the new file gets the name. Nothing changes if they
/// are the same, if the new file is empty (a shell closes an empty file before it writes to it), or if another process closes a
/// copy of the descriptor.
pub async fn flush(mount: &Mount, of: &Overwrite, caller: &Caller) -> DriveResult<()> {
    let Some(next) = of.next() else {
        return of.check.flush();
    };
    next.file.flush()?;
    if !of.is_opener(caller) {
        return Ok(());
    }
    if next.file.size() > 0 {
        next.closed();
    }
    if place(mount, of, next, caller)? {
        until_names_expire().await;
    }
    Ok(())
}

/// Gives the new file the place of the old one, if it has other bytes and no earlier close has done that.
fn place(mount: &Mount, of: &Overwrite, next: &NextFile, caller: &Caller) -> DriveResult<bool> {
    let _turn = of.turn.locked();
    if next.is_placed() || next.file.size() == 0 || is_same(mount, of, next) {
        return Ok(false);
    }
    let source = Node::from(DraftEntry::new(next.file.draft(), next.file.entry()));
    let from = outbox::Place::Top(next.temporary_name.clone());
    match &of.target {
        OverwriteTarget::Loose(name) => rename_to_name(mount, (&source, &from), name, caller)?,
        OverwriteTarget::Failed(file) => {
            let refused = || refusal_to_change(mount, file.draft)(&file.path(mount));
            let renamed = rename_over_changeable(mount, &from, *file, &caller.for_outbox())?;
            relocate(mount, &source, renamed.ok_or_else(refused)?);
        }
    }
    next.placed();
    Ok(true)
}

/// Removes the temporary files that a drive left behind when it was killed. None of them has taken the place of a file, and the
/// files that were being written are unchanged.
pub fn remove_left(mount: &Mount) {
    if mount.config().read_only {
        return;
    }
    let drafts = mount.outbox().drafts();
    let is_temporary =
        |it: &DraftInfo| it.kind == DraftKind::LooseFile && it.name.starts_with(SAVE_START);
    for left in drafts.all().into_iter().filter(is_temporary) {
        if let Err(error) = drafts.remove(left.id) {
            tracing::warn!(name = left.name, %error, "a temporary file is left");
        }
    }
}

fn is_same(tree: &Tree, of: &Overwrite, next: &NextFile) -> bool {
    let entries = tree.outbox().entries();
    let written = entries.flushed_len_and_hash(next.file.draft(), next.file.entry());
    let standing = standing(tree, of).and_then(|it| it.len_and_hash(tree));
    written.is_some() && written == standing
}

/// Handles the last `close`, which may come from another process than `opener`, the one that opened the file. Then the new content
/// takes its place now. Removes new content that has not become the next version.
pub fn release(mount: &Mount, of: &Overwrite, opener: &Caller) {
    let Some(next) = of.next().filter(|next| !next.is_placed()) else {
        return;
    };
    if !next.is_closed() {
        match place(mount, of, next, opener) {
            Ok(true) => return,
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(name = next.temporary_name, %error, "a file that was written in place is not saved");
            }
        }
    }
    let copy = (next.file.draft(), next.file.entry());
    if let Some(standing) = standing(mount, of)
        && next.is_time_set()
        && is_same(mount, of, next)
    {
        take_time_over(mount, copy, standing);
    }
    if let Err(error) = mount.outbox().drafts().remove(copy.0) {
        tracing::warn!(name = next.temporary_name, %error, "a temporary file is left");
    }
}
