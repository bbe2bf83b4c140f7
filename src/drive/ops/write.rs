//! Writing to open files, and closing them.

use std::sync::Arc;

use super::create::check_writes;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::handles::Body;
use crate::drive::shared::Shared;
use crate::drive::types::{Caller, Fh};

impl Shared {
    /// Writes all of `data`.
    pub(in crate::drive) async fn write(
        self: &Arc<Self>,
        fh: Fh,
        offset: u64,
        data: &[u8],
    ) -> DriveResult<u32> {
        let open = self.handles.file(fh)?;
        check_writes(open.flags.access)?;
        match &open.body {
            Body::Staged(staged) if open.flags.append => staged.append(data)?,
            Body::Staged(staged) => staged.write_at(data, offset)?,
            Body::Text(text) if open.flags.append => text.write(text.len(), data)?,
            Body::Text(text) => text.write(offset, data)?,
            Body::Control(control) => self.write_control(control, data).await?,
            Body::Again(same) => same.write(offset, data)?,
            Body::Remote(_) | Body::Member(_) | Body::Spool(_) | Body::Snapshot(_) => {
                return Err(DriveError::BadHandle);
            }
        }
        Ok(u32::try_from(data.len()).unwrap_or(u32::MAX))
    }

    /// Writes all of `data` to a staged file, waiting for nothing but the local disk; `None` where
    /// the bytes go anywhere else, or need [`Shared::write`] because the disk is full.
    pub(in crate::drive) fn try_write_staged(
        &self,
        fh: Fh,
        offset: u64,
        data: &[u8],
    ) -> Option<DriveResult<u32>> {
        let open = self.handles.file(fh).ok()?;
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

    /// True when closing the handle may have to wait for the disk.
    pub(in crate::drive) fn is_open_for_writing(&self, fh: Fh) -> bool {
        let open = self.handles.file(fh);
        open.is_ok_and(|open| open.flags.access.writes())
    }

    /// Reserves room.
    pub(in crate::drive) fn allocate(
        &self,
        fh: Fh,
        offset: u64,
        len: u64,
        keep_size: bool,
    ) -> DriveResult<()> {
        let open = self.handles.file(fh)?;
        check_writes(open.flags.access)?;
        match &open.body {
            Body::Staged(staged) => Ok(staged.allocate(offset, len, keep_size)?),
            Body::Text(text) if !keep_size => {
                text.resize(text.len().max(offset.saturating_add(len)))
            }
            Body::Text(_) | Body::Again(_) => Ok(()),
            _ => Err(DriveError::Unsupported(
                "room cannot be reserved here".into(),
            )),
        }
    }

    /// One close of a handle: what was written is durable, or sent, when it returns.
    pub(in crate::drive) async fn flush(
        self: &Arc<Self>,
        fh: Fh,
        caller: &Caller,
    ) -> DriveResult<()> {
        let open = self.handles.file(fh)?;
        if !open.flags.access.writes() {
            return Ok(());
        }
        match &open.body {
            Body::Staged(staged) => Ok(staged.flush()?),
            Body::Text(text) => self.flush_text(text, caller).await,
            Body::Control(control) => self.flush_control(control).await,
            Body::Again(same) => same.flush(),
            Body::Remote(_) | Body::Member(_) | Body::Spool(_) | Body::Snapshot(_) => Ok(()),
        }
    }

    /// Makes what was written durable; sends nothing.
    pub(in crate::drive) async fn fsync(self: &Arc<Self>, fh: Fh) -> DriveResult<()> {
        let open = self.handles.file(fh)?;
        match &open.body {
            Body::Staged(staged) if open.flags.access.writes() => Ok(staged.flush()?),
            Body::Text(text) => self.keep_text(text).await,
            Body::Again(same) => same.flush(),
            _ => Ok(()),
        }
    }

    /// The last close of a handle.
    pub(in crate::drive) async fn release(self: &Arc<Self>, fh: Fh) -> DriveResult<()> {
        let Some(open) = self.handles.remove_file(fh) else {
            return Ok(());
        };
        match &open.body {
            Body::Text(text) => self.release_text(text).await,
            // Dropping the last reference releases the staged file: the settle rule counts from there.
            // What a killed writer left is flushed by that.
            _ => Ok(()),
        }
    }
}
