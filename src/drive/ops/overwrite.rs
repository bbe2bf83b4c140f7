//! Writing in place to a loose file that was uploaded: other bytes are the next version of the model, as if a new file had been
//! renamed over it.

use std::sync::Arc;

use super::rename::rename_to_name;
use crate::drive::error::DriveResult;
use crate::drive::files::overwrite::{NextFile, Overwrite};
use crate::drive::files::recopy::RecopyCheck;
use crate::drive::mount::Mount;
use crate::drive::ops::again::{replaced_by_file, take_time_over};
use crate::drive::places::{DraftEntry, Node, file_beside};
use crate::drive::posix::{Caller, OpenFlags};
use crate::drive::tree::Tree;
use crate::locks::Locked;
use crate::outbox;

/// The longest part of a name in a temporary one, in bytes.
const MAX_NAME_PART: usize = 200;

/// Opens the file that is found beside the folder of its model. `None` if it cannot have a next version now: then the same bytes
/// may be written again.
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
    let Some((name, check)) = overwritable(mount, of) else {
        return Ok(None);
    };
    let overwrite = Overwrite::new(name, check);
    if flags.truncate {
        begin(mount, &overwrite, caller)?;
    }
    Ok(Some(overwrite))
}

/// The name and the sent bytes of a loose file whose model can have a next version.
fn overwritable(tree: &Tree, of: DraftEntry) -> Option<(String, RecopyCheck)> {
    let asset = tree.catalog().asset_of_draft(of.draft)?;
    let record = tree.outbox().uploads().sent_record(asset)?;
    let name = record.loose_name().filter(|_| !record.is_old_version())?;
    let beside = file_beside(tree, &name)?;
    let is_it = (beside.draft, beside.entry) == (of.draft, of.entry);
    replaced_by_file(tree, of).ok().filter(|_| is_it)?;
    Some((name, RecopyCheck::of_sent(tree, of)?))
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
    let part = &of.name[..of
        .name
        .floor_char_boundary(MAX_NAME_PART.min(of.name.len()))];
    // As rsync names it: nothing is sent under such a name.
    let name = format!(".{part}.{:06x}", rand::random::<u32>() >> 8);
    let drafts = mount.outbox().drafts();
    let (_, _, file) = drafts.create_loose_file(&name, 0o644, &caller.for_outbox())?;
    of.begin(file, name);
    Ok(())
}

/// Handles a `close`. If the new bytes differ from those that were sent, the new file gets the name. Nothing changes if they
/// are the same, or if the new file is empty: a shell closes an empty file before it writes to it.
pub fn flush(mount: &Mount, of: &Overwrite, caller: &Caller) -> DriveResult<()> {
    let Some(next) = of.next() else {
        return of.check.flush();
    };
    next.file.flush()?;
    let _turn = of.turn.locked();
    if next.is_placed() || next.file.size() == 0 || is_same(mount, of, next) {
        return Ok(());
    }
    let source = Node::from(DraftEntry::new(next.file.draft(), next.file.entry()));
    let from = outbox::Place::Top(next.temporary_name.clone());
    rename_to_name(mount, (&source, &from), &of.name, caller)?;
    next.placed();
    Ok(())
}

fn is_same(tree: &Tree, of: &Overwrite, next: &NextFile) -> bool {
    let entries = tree.outbox().entries();
    let written = entries.flushed_len_and_hash(next.file.draft(), next.file.entry());
    let standing = file_beside(tree, &of.name).and_then(|it| it.len_and_hash(tree));
    written.is_some() && written == standing
}

/// Handles the last `close`: removes what has not become the next version.
pub fn release(mount: &Mount, of: &Overwrite) {
    let Some(next) = of.next().filter(|next| !next.is_placed()) else {
        return;
    };
    let copy = (next.file.draft(), next.file.entry());
    if let Some(standing) = file_beside(mount, &of.name)
        && next.is_time_set()
        && is_same(mount, of, next)
    {
        take_time_over(mount, copy, standing);
    }
    if let Err(error) = mount.outbox().drafts().remove(copy.0) {
        tracing::warn!(name = next.temporary_name, %error, "a temporary file is left");
    }
}
