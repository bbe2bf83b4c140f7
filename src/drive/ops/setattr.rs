//! Changing attributes: stored in drafts, accepted without effect for texts that are sent, refused elsewhere.

use std::sync::Arc;
use std::time::SystemTime;

use super::open::is_control;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::files::handles::Body;
use crate::drive::files::overwrite::Overwrite;
use crate::drive::mount::Mount;
use crate::drive::ops::again::is_frozen;
use crate::drive::ops::attributes::getattr;
use crate::drive::ops::overwrite;
use crate::drive::places::{AttributeRule, Contents, Node, refusals};
use crate::drive::posix::{Caller, Entry, Ino, SetAttributes, SetTime};
use crate::drive::values::local::TextTarget;
use crate::outbox::{AttributeChange, DraftId, EntryId};

pub async fn setattr(
    mount: &Arc<Mount>,
    ino: Ino,
    change: &SetAttributes,
    caller: &Caller,
) -> DriveResult<Entry> {
    let node = mount.node(ino)?;
    if mount.config().read_only && !is_control(mount, &node) {
        return Err(refusals::read_only_mount());
    }
    match node.attribute_rule() {
        AttributeRule::Entry(draft, _) if is_frozen(mount, draft) => {
            set_sent(mount, ino, &node, change, caller)?;
        }
        AttributeRule::Entry(draft, entry) => {
            match set_entry(mount, draft, entry, change, caller) {
                // A folder, or a file of a model, that was removed while it is open.
                Err(DriveError::NotFound) if change.size.is_none() => {}
                set => set?,
            }
        }
        AttributeRule::Text => set_text(mount, ino, &node, change).await?,
        // Copy tools set owner, mode and times last.
        AttributeRule::Accepted if change.size.is_none() => {}
        AttributeRule::Ignored => {}
        AttributeRule::Frozen => return Err(refusals::frozen_asset(&node.path(mount))),
        AttributeRule::Accepted | AttributeRule::Refused => {
            return Err(refusals::made_by_service(&node.path(mount)));
        }
    }
    getattr(mount, ino, change.fh).await
}

fn set_entry(
    mount: &Mount,
    draft: DraftId,
    entry: EntryId,
    change: &SetAttributes,
    caller: &Caller,
) -> DriveResult<()> {
    let mut change_here = AttributeChange {
        mode: change.mode,
        uid: change.uid,
        gid: change.gid,
        size: change.size,
        mtime: change.mtime.map(time),
    };
    // A handle knows its writer, so the length is changed through it.
    if let (Some(size), Some(fh)) = (change.size, change.fh)
        && let Ok(open) = mount.handles().file(fh)
        && let Some(staged) = open.staged()
    {
        staged.truncate(size)?;
        change_here.size = None;
    }
    if change_here != AttributeChange::default() {
        mount.outbox().entries().set_attributes(
            draft,
            entry,
            &change_here,
            &caller.for_outbox(),
        )?;
    }
    Ok(())
}

/// Files that were already sent stay unchanged. Setting owner, mode, times or the present length succeeds and
/// has no effect, because tools set them again when they copy the same files a second time.
fn set_sent(
    mount: &Mount,
    ino: Ino,
    node: &Node,
    change: &SetAttributes,
    caller: &Caller,
) -> DriveResult<()> {
    let open = change.fh.and_then(|fh| mount.handles().file(fh).ok());
    let Some(size) = change.size else {
        // When a program sets a time, the kernel does not name the handle.
        let open = open.or_else(|| mount.handles().writer_of(ino));
        return match open.as_ref().map(|open| &open.body) {
            Some(Body::Overwrite(of, _)) => set_next(mount, of, change, caller),
            _ => Ok(()),
        };
    };
    match open.as_ref().map(|open| &open.body) {
        Some(Body::Overwrite(of, _)) => overwrite::resize(mount, of, size, caller),
        Some(Body::Again(same)) => same.resize(size),
        _ => Err(refusals::frozen_asset(&node.path(mount))),
    }
}

/// Sets owner, mode and times of the new content of a file that is overwritten.
fn set_next(
    mount: &Mount,
    of: &Overwrite,
    change: &SetAttributes,
    caller: &Caller,
) -> DriveResult<()> {
    let Some(next) = of.next() else {
        return Ok(());
    };
    set_entry(mount, next.file.draft(), next.file.entry(), change, caller)?;
    if change.mtime.is_some() {
        next.time_was_set();
    }
    Ok(())
}

/// Only the length of a text is changed. Owner, mode and times are accepted without effect, because copy tools
/// fail otherwise.
async fn set_text(
    mount: &Arc<Mount>,
    ino: Ino,
    node: &Node,
    change: &SetAttributes,
) -> DriveResult<()> {
    let Some(size) = change.size else {
        return Ok(());
    };
    let open = change
        .fh
        .and_then(|fh| mount.handles().file(fh).ok())
        .or_else(|| mount.handles().writer_of(ino));
    if let Some(open) = open
        && let Body::Text(text) = &open.body
    {
        return text.resize(size);
    }
    let mut bytes = node.text(mount).await?.bytes.to_vec();
    let size = usize::try_from(size)
        .ok()
        .filter(|size| *size <= bytes.len());
    let size = size.ok_or_else(|| {
        DriveError::Invalid("a text can only be shortened this way; write to it instead".into())
    })?;
    bytes.truncate(size);
    match node.contents(mount)? {
        Contents::Editable(TextTarget::Job(folder, name)) => {
            let folder = folder.in_outbox();
            Ok(mount.outbox().jobs().write(&folder, &name, &bytes)?)
        }
        // A truncated preset is not sent until it is written.
        _ => Ok(()),
    }
}

fn time(time: SetTime) -> SystemTime {
    match time {
        SetTime::Now => SystemTime::now(),
        SetTime::At(time) => time,
    }
}
