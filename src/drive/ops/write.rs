//! Writing to open files, and closing them.

use std::sync::Arc;

use crate::drive::error::{DriveError, DriveResult};
use crate::drive::files::handles::{Body, OpenFile};
use crate::drive::mount::Mount;
use crate::drive::ops::control::{flush_control, write_control};
use crate::drive::ops::overwrite;
use crate::drive::ops::text::{flush_text, keep_text, release_text};
use crate::drive::posix::{Access, Allocation, Caller, Fh};
use crate::outbox::StagedFile;

/// Writes all of `data`.
pub async fn write(mount: &Arc<Mount>, fh: Fh, offset: u64, data: &[u8]) -> DriveResult<u32> {
    let open = mount.handles().file(fh)?;
    check_writes(open.flags.access)?;
    if let Some(staged) = open.staged() {
        match open.flags.append {
            true => staged.append(data)?,
            false => staged.write_at(data, offset)?,
        }
        return Ok(u32::try_from(data.len()).unwrap_or(u32::MAX));
    }
    match &open.body {
        Body::Text(text) if open.flags.append => text.write(text.len(), data)?,
        Body::Text(text) => text.write(offset, data)?,
        Body::Control(control) => write_control(mount, control, data).await?,
        Body::Again(same) => same.write(offset, data)?,
        Body::Overwrite(of, _) => of.check.write(offset, data)?,
        Body::Staged(_)
        | Body::Remote(_)
        | Body::Member(_)
        | Body::Spool(_)
        | Body::Events(_)
        | Body::Snapshot(_) => {
            return Err(DriveError::BadHandle);
        }
    }
    Ok(u32::try_from(data.len()).unwrap_or(u32::MAX))
}

/// Writes all of `data` to a staged file without waiting for anything but the local disk. `None` if the file is
/// not staged, or if [`write`] has to make room on a full disk.
pub fn try_write_staged(
    mount: &Mount,
    fh: Fh,
    offset: u64,
    data: &[u8],
) -> Option<DriveResult<u32>> {
    let open = mount.handles().file(fh).ok()?;
    let Body::Staged(staged) = &open.body else {
        return None;
    };
    if let Err(error) = check_writes(open.flags.access) {
        return Some(Err(error));
    }
    let offset = (!open.flags.append).then_some(offset);
    let written = staged.try_write(data, offset)?;
    let len = u32::try_from(data.len()).unwrap_or(u32::MAX);
    Some(written.map(|()| len).map_err(DriveError::from))
}

/// True if closing the handle may wait for the disk.
pub fn is_open_for_writing(mount: &Mount, fh: Fh) -> bool {
    let open = mount.handles().file(fh);
    open.is_ok_and(|open| may_have_changed(&open))
}

/// True if there is something to flush: also for a handle for reading that made or emptied a file.
fn may_have_changed(open: &OpenFile) -> bool {
    open.flags.access.writes() || matches!(&open.body, Body::Staged(staged) if staged.is_writer())
}

/// Reserves disk space, or frees it.
pub fn allocate(mount: &Mount, fh: Fh, offset: u64, len: u64, how: Allocation) -> DriveResult<()> {
    let unsupported = |why: &str| Err(DriveError::Unsupported(why.into()));
    let keep_size = how == Allocation::KeepSize;
    let open = mount.handles().file(fh)?;
    check_writes(open.flags.access)?;
    let staged = open.staged();
    match &open.body {
        _ if how == Allocation::Other => unsupported(
            "disk space can only be reserved and freed here; ranges cannot be inserted, removed or zeroed",
        ),
        _ if let Some(staged) = staged => allocate_staged(staged, offset, len, how),
        _ if how == Allocation::Hole => unsupported("no hole can be made in this file"),
        Body::Text(text) if !keep_size => text.resize(text.len().max(offset.saturating_add(len))),
        // A longer file would not be the one that was sent.
        Body::Again(same) if !keep_size => same.reserve(offset.saturating_add(len)),
        Body::Overwrite(of, _) if !keep_size => of.check.reserve(offset.saturating_add(len)),
        Body::Text(_) | Body::Again(_) | Body::Overwrite(..) => Ok(()),
        _ => unsupported("disk space cannot be reserved for this file"),
    }
}

fn allocate_staged(staged: &StagedFile, offset: u64, len: u64, how: Allocation) -> DriveResult<()> {
    if how != Allocation::Hole {
        let keep_size = how == Allocation::KeepSize;
        return Ok(staged.allocate(offset, len, keep_size)?);
    }
    match staged.make_hole(offset, len)? {
        true => Ok(()),
        false => Err(DriveError::Unsupported(
            "the disk that holds the drafts cannot make holes in files".into(),
        )),
    }
}

/// Handles a `close`: returns after the data is durable, or sent.
pub async fn flush(mount: &Arc<Mount>, fh: Fh, caller: &Caller) -> DriveResult<()> {
    let open = mount.handles().file(fh)?;
    if !may_have_changed(&open) {
        return Ok(());
    }
    match &open.body {
        Body::Staged(staged) => Ok(staged.flush()?),
        Body::Text(text) => flush_text(mount, text, caller).await,
        Body::Control(control) => flush_control(mount, control).await,
        Body::Again(same) => same.flush(),
        Body::Overwrite(of, _) => overwrite::flush(mount, of, caller).await,
        Body::Remote(_)
        | Body::Member(_)
        | Body::Spool(_)
        | Body::Events(_)
        | Body::Snapshot(_) => Ok(()),
    }
}

/// Makes the data durable; sends nothing.
pub async fn fsync(mount: &Arc<Mount>, fh: Fh) -> DriveResult<()> {
    let open = mount.handles().file(fh)?;
    match &open.body {
        Body::Staged(staged) => Ok(staged.flush()?),
        Body::Text(text) => keep_text(mount, text).await,
        Body::Again(same) => same.flush(),
        Body::Overwrite(of, _) => of.file().map_or(Ok(()), |file| Ok(file.flush()?)),
        _ => Ok(()),
    }
}

/// Handles the last `close`.
pub async fn release(mount: &Arc<Mount>, fh: Fh) -> DriveResult<()> {
    let Some(open) = mount.handles().remove_file(fh) else {
        return Ok(());
    };
    match &open.body {
        Body::Text(text) => release_text(mount, text).await,
        Body::Overwrite(of, _) => {
            overwrite::release(mount, of, &open.opened_by);
            Ok(())
        }
        // Dropping the last reference flushes and releases the staged file; the settle delay starts then.
        _ => Ok(()),
    }
}

/// Refuses an operation that needs a writable handle.
fn check_writes(access: Access) -> DriveResult<()> {
    if access.writes() {
        Ok(())
    } else {
        Err(DriveError::BadHandle)
    }
}
