//! Changing attributes: shown as set in drafts, quietly accepted where tools set them on texts that
//! go out, refused with a sentence elsewhere.

use std::sync::Arc;
use std::time::SystemTime;

use super::rows::job_folder;
use super::why;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::handles::Body;
use crate::drive::shared::Shared;
use crate::drive::tree::node::{HiddenFile, Home, JobPart, Node};
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
        if self.config.read_only && !matches!(node, Node::HiddenFile(_, HiddenFile::Control)) {
            return Err(why::read_only_mount());
        }
        match &node {
            Node::Entry(draft, _) | Node::Model(Home::Made(draft)) if self.is_frozen(*draft) => {
                self.set_sent(&node, change)?;
            }
            Node::Entry(draft, entry) => self.set_entry(*draft, *entry, change, caller)?,
            Node::Model(Home::Made(draft)) => {
                self.set_entry(*draft, EntryId::ROOT, change, caller)?
            }
            Node::Job(_, _, JobPart::Text) | Node::Preset(..) | Node::PresetFile(_) => {
                self.set_text(&node, change).await?;
            }
            // Tools that copy into a folder of the drive set its owner, mode and times at last.
            Node::Root | Node::Top(_) | Node::Drop(_) | Node::RapidLinks(_)
                if change.size.is_none() => {}
            // `echo commit > ctl` cuts the file first.
            Node::HiddenFile(_, HiddenFile::Control) => {}
            Node::Model(home) => return Err(why::frozen_asset(&self.home_path(*home))),
            node => return Err(why::made_by_service(&self.path_of(node))),
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
            _ => Err(why::frozen_asset(&self.path_of(node))),
        }
    }

    /// Length matters to a text; owner, mode and times are taken and not kept, because copying tools
    /// fail without.
    async fn set_text(self: &Arc<Self>, node: &Node, change: &SetAttributes) -> DriveResult<()> {
        let Some(size) = change.size else {
            return Ok(());
        };
        let open = change
            .fh
            .and_then(|fh| self.handles.file(fh).ok())
            .or_else(|| self.handles.file_of(node));
        if let Some(open) = open
            && let Body::Text(text) = &open.body
        {
            return text.resize(size);
        }
        let mut bytes = self.text_of(node).await?.bytes.to_vec();
        let size = usize::try_from(size)
            .ok()
            .filter(|size| *size <= bytes.len());
        let size =
            size.ok_or_else(|| DriveError::Invalid("a text is only ever cut this way".into()))?;
        bytes.truncate(size);
        match node {
            Node::Job(folder, name, _) => {
                Ok(self
                    .outbox
                    .write_job_text(&job_folder(*folder), name, &bytes)?)
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
