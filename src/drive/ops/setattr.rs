//! Changing attributes: shown as set in drafts, quietly accepted where tools set them on texts that
//! go out, refused with a sentence elsewhere.

use std::sync::Arc;
use std::time::SystemTime;

use super::open::is_control;
use super::text::TextTarget;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::handles::Body;
use crate::drive::places::{AttributeRule, Contents, Node, refusals};
use crate::drive::shared::Shared;
use crate::drive::types::{Caller, Entry, Ino, SetAttributes, SetTime};
use crate::outbox::{AttributeChange, DraftId, EntryId};

impl Shared {
    /// Changes attributes and shows what is there now.
    pub(in crate::drive) async fn setattr(
        self: &Arc<Self>,
        ino: Ino,
        change: &SetAttributes,
        caller: &Caller,
    ) -> DriveResult<Entry> {
        let node = self.node(ino)?;
        if self.config.read_only && !is_control(self, &node) {
            return Err(refusals::read_only_mount());
        }
        match node.attribute_rule() {
            AttributeRule::Entry(draft, _) if self.is_frozen(draft) => {
                self.set_sent(&node, change)?;
            }
            AttributeRule::Entry(draft, entry) => self.set_entry(draft, entry, change, caller)?,
            AttributeRule::Text => self.set_text(ino, &node, change).await?,
            // Tools that copy into a folder of the drive set its owner, mode and times at last.
            AttributeRule::Accepted if change.size.is_none() => {}
            AttributeRule::Ignored => {}
            AttributeRule::Frozen => return Err(refusals::frozen_asset(&node.path(self))),
            AttributeRule::Accepted | AttributeRule::Refused => {
                return Err(refusals::made_by_service(&node.path(self)));
            }
        }
        self.getattr(ino, change.fh).await
    }

    fn set_entry(
        &self,
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
        // Through an open handle the length changes there, where the writer is known.
        if let (Some(size), Some(fh)) = (change.size, change.fh)
            && let Ok(open) = self.handles.file(fh)
            && let Some(staged) = Self::staged(&open)
        {
            staged.truncate(size)?;
            change_here.size = None;
        }
        if change_here != AttributeChange::default() {
            self.outbox
                .set_attributes(draft, entry, &change_here, &caller.for_outbox())?;
        }
        Ok(())
    }

    /// What was copied in stays as it was. Owner, mode and times are taken and not kept, because who
    /// copies the same files once more sets them again; so is the length that is there.
    fn set_sent(&self, node: &Node, change: &SetAttributes) -> DriveResult<()> {
        let Some(size) = change.size else {
            return Ok(());
        };
        let open = change.fh.and_then(|fh| self.handles.file(fh).ok());
        match open.as_ref().map(|open| &open.body) {
            Some(Body::Again(same)) => same.resize(size),
            _ => Err(refusals::frozen_asset(&node.path(self))),
        }
    }

    /// Length matters to a text; owner, mode and times are taken and not kept, because copying tools
    /// fail without.
    async fn set_text(
        self: &Arc<Self>,
        ino: Ino,
        node: &Node,
        change: &SetAttributes,
    ) -> DriveResult<()> {
        let Some(size) = change.size else {
            return Ok(());
        };
        let open = change
            .fh
            .and_then(|fh| self.handles.file(fh).ok())
            .or_else(|| self.handles.file_of(ino));
        if let Some(open) = open
            && let Body::Text(text) = &open.body
        {
            return text.resize(size);
        }
        let mut bytes = node.text(self).await?.bytes.to_vec();
        let size = usize::try_from(size)
            .ok()
            .filter(|size| *size <= bytes.len());
        let size =
            size.ok_or_else(|| DriveError::Invalid("a text is only ever cut this way".into()))?;
        bytes.truncate(size);
        match node.contents(self)? {
            Contents::Editable(TextTarget::Job(folder, name)) => {
                let folder = folder.in_outbox();
                Ok(self.outbox.write_job_text(&folder, &name, &bytes)?)
            }
            // A preset that is cut and not written yet stays what it is on the service.
            _ => Ok(()),
        }
    }
}

fn time(time: SetTime) -> SystemTime {
    match time {
        SetTime::Now => SystemTime::now(),
        SetTime::At(time) => time,
    }
}
