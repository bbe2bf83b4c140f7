//! An open file of a draft.
//!
//! Invariant: `flush` returns `Ok` only after the bytes and then their record in the journal are durable. A draft
//! knows each handle that may write into it.

use std::fmt;
use std::fs::File;
use std::sync::Arc;

use rustix::fs::SeekFrom;

use crate::outbox::drafts::memory::{DraftsMemory, OpenContent};
use crate::outbox::drafts::parts::DraftParts;
use crate::outbox::drafts::record::DraftRecord;
use crate::outbox::drafts::tree::Node;
use crate::outbox::error::{OutboxError, OutboxResult};
use crate::outbox::failpoint;
use crate::outbox::failpoint::Failpoint;
use crate::outbox::ids::{Caller, DraftId, EntryId};
use crate::outbox::staging::{Content, OnFull, Written};

/// An open file of a draft. Dropping it closes it.
pub struct StagedFile {
    parts: Arc<DraftParts>,
    content: Arc<Content>,
    draft: DraftId,
    entry: EntryId,
    writer: Option<Caller>,
}

impl fmt::Debug for StagedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("StagedFile");
        shown
            .field("draft", &self.draft)
            .field("entry", &self.entry);
        shown.finish_non_exhaustive()
    }
}

impl StagedFile {
    /// Registers a handle of a content in the memory, which the caller has locked.
    pub(super) fn register(
        parts: &Arc<DraftParts>,
        memory: &mut DraftsMemory,
        content: Arc<Content>,
        at: (DraftId, EntryId),
        writer: Option<Caller>,
    ) -> StagedFile {
        let (draft, entry) = at;
        let open = memory
            .open
            .entry(content.id())
            .or_insert_with(|| OpenContent {
                content,
                draft,
                entry,
                handles: 0,
                writers: 0,
                removed: None,
            });
        open.handles += 1;
        open.writers += usize::from(writer.is_some());
        StagedFile {
            parts: Arc::clone(parts),
            content: Arc::clone(&open.content),
            draft,
            entry,
            writer,
        }
    }

    pub fn entry(&self) -> EntryId {
        self.entry
    }

    /// The draft it belonged to when it was opened.
    pub fn draft(&self) -> DraftId {
        self.draft
    }

    pub fn size(&self) -> u64 {
        self.content.size()
    }

    /// True for a handle that may have changed the file: one for writing, and one for reading that made or emptied it
    /// (`O_CREAT`, `O_TRUNC`).
    pub fn is_writer(&self) -> bool {
        self.writer.is_some()
    }

    /// The staged file itself, for reading only (passthrough).
    pub fn file(&self) -> Arc<File> {
        Arc::clone(self.content.file())
    }

    /// Reads into `buf` from `offset`; short only at the end of the file.
    pub fn read_at(&self, buf: &mut [u8], offset: u64) -> OutboxResult<usize> {
        self.content.read_at(buf, offset)
    }

    /// Writes all of `data` at `offset`.
    pub fn write_at(&self, data: &[u8], offset: u64) -> OutboxResult<()> {
        self.write(data, Some(offset))
    }

    /// Writes all of `data` at the end.
    pub fn append(&self, data: &[u8]) -> OutboxResult<()> {
        self.write(data, None)
    }

    /// Writes all of `data` at `offset`, or at the end. `None` if the disk is full: only a caller that may block can
    /// make room.
    pub fn try_write(&self, data: &[u8], offset: Option<u64>) -> Option<OutboxResult<()>> {
        match self.write_with(data, offset, OnFull::Leave) {
            Ok(Written::All) => Some(Ok(())),
            Ok(Written::NeedsRoom) => None,
            Err(error) => Some(Err(error)),
        }
    }

    fn write(&self, data: &[u8], offset: Option<u64>) -> OutboxResult<()> {
        let make_room = || self.parts.make_room();
        self.write_with(data, offset, OnFull::MakeRoom(&make_room))
            .map(|_| ())
    }

    fn write_with(
        &self,
        data: &[u8],
        offset: Option<u64>,
        on_full: OnFull<'_>,
    ) -> OutboxResult<Written> {
        self.check_writable()?;
        let start = offset.unwrap_or_else(|| self.content.size());
        self.parts
            .check_len(start.saturating_add(data.len() as u64))?;
        let written = self.content.write(data, offset, on_full);
        self.note_failure(written)
    }

    /// Truncates or extends the file.
    pub fn truncate(&self, size: u64) -> OutboxResult<()> {
        self.check_writable()?;
        if size > self.content.size() {
            self.parts.check_len(size)?;
        }
        let cut = self.content.truncate(size);
        cut.map_err(|error| error.on_disk_of(&self.parts.config.dir))
    }

    /// Reserves room for a range; extends the file unless `keep_size`.
    pub fn allocate(&self, offset: u64, len: u64, keep_size: bool) -> OutboxResult<()> {
        self.check_writable()?;
        self.parts.check_len(offset.saturating_add(len))?;
        let allocated = match self.content.allocate(offset, len, keep_size) {
            Err(OutboxError::StagingFull { .. }) if self.parts.make_room() => {
                self.content.allocate(offset, len, keep_size)
            }
            outcome => outcome,
        };
        allocated.map_err(|error| error.on_disk_of(&self.parts.config.dir))
    }

    /// Frees the space of a range, which reads as zeros then. False if the disk cannot do that.
    pub fn make_hole(&self, offset: u64, len: u64) -> OutboxResult<bool> {
        self.check_writable()?;
        let made = self.content.make_hole(offset, len);
        self.note_failure(made)
    }

    /// The first data at or after an offset; `None` if there is only a hole up to the end, or nothing.
    pub fn next_data(&self, offset: u64) -> OutboxResult<Option<u64>> {
        self.content.seek(SeekFrom::Data(offset))
    }

    /// The first hole at or after an offset, which may be the end of the file; `None` behind the end.
    pub fn next_hole(&self, offset: u64) -> OutboxResult<Option<u64>> {
        self.content.seek(SeekFrom::Hole(offset))
    }

    /// Makes the bytes written through any handle durable, then a journal record of size and hash. Does nothing if
    /// nothing changed. Through a handle for reading it makes names, times and modes durable.
    pub fn flush(&self) -> OutboxResult<()> {
        if self.writer.is_none() {
            return self.parts.journal.settle_all();
        }
        let _turn = self.content.flush_turn();
        let flushed = self.content.sync();
        let flushed = self.note_failure(flushed)?;
        failpoint::hit(Failpoint::AfterData);
        let ticket = {
            let mut memory = self.parts.memory();
            let Some(draft) = memory.home_of(self.draft, self.entry) else {
                // Removed while it was open: there is nothing to record.
                return Ok(());
            };
            if let Some(flushed) = &flushed {
                let node = memory.draft(draft)?.tree.node(self.entry);
                let set = node.map(|node| node.attributes.mtime);
                let known = node.and_then(Node::file).and_then(|file| file.hash);
                let recorded = memory.record(DraftRecord::Flushed {
                    draft,
                    entry: self.entry,
                    size: flushed.size,
                    hash: flushed.hash,
                    mtime: flushed
                        .written_at
                        .or(set)
                        .unwrap_or_else(crate::outbox::moment::Moment::now),
                });
                if recorded.is_err() && known != Some(flushed.hash) {
                    self.record_failure(&mut memory, draft);
                }
                recorded?;
                memory.findings.flushed(self.content.id(), flushed.hash);
            }
            self.parts.journal.last()
        };
        self.parts.journal.settle(ticket)?;
        if let Some(flushed) = &flushed {
            self.content.recorded(flushed);
        }
        Ok(())
    }

    /// Closes the handle. The settle rule counts from the close of the last writer.
    pub fn release(self) {}

    fn check_writable(&self) -> OutboxResult<()> {
        match self.writer {
            Some(_) => Ok(()),
            None => Err(OutboxError::NotWritable),
        }
    }

    /// True for the last writer of a file with bytes that are not recorded. The caller keeps the memory locked until the
    /// handle has left it: two handles that are closed at the same moment would otherwise both leave it to the other.
    fn must_flush(&self, memory: &DraftsMemory) -> bool {
        let open = memory.open.get(&self.content.id());
        self.writer.is_some()
            && open.is_none_or(|open| open.writers <= 1)
            && memory.home_of(self.draft, self.entry).is_some()
            && self.content.is_dirty()
            && !self.content.has_failed()
    }

    /// A failed write prevents the upload, also after a restart.
    fn note_failure<T>(&self, outcome: OutboxResult<T>) -> OutboxResult<T> {
        if outcome.is_err() && self.content.has_failed() {
            let mut memory = self.parts.memory();
            if let Some(draft) = memory.home_of(self.draft, self.entry) {
                self.record_failure(&mut memory, draft);
            }
        }
        outcome.map_err(|error| error.on_disk_of(&self.parts.config.dir))
    }

    fn record_failure(&self, memory: &mut DraftsMemory, draft: DraftId) {
        // The record may fail because the disk is full. Until the handle is closed, it remembers the failure.
        let _ = memory.record(DraftRecord::WriteFailed {
            draft,
            entry: self.entry,
            size: Some(self.content.size()),
        });
    }

    /// The length that the last writer leaves is that of the bytes, also if they could not be recorded.
    fn record_length(&self, memory: &mut DraftsMemory, draft: DraftId) {
        let is_last = memory.open.get(&self.content.id());
        let is_last = is_last.is_none_or(|open| open.writers == 0);
        let node = memory.entry(draft, self.entry);
        let known = node.ok().and_then(Node::file).map(|file| file.size);
        if is_last && known != Some(self.content.size()) {
            self.record_failure(memory, draft);
        }
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        let mut memory = self.parts.memory();
        while self.must_flush(&memory) {
            drop(memory);
            let flushed = self.flush();
            memory = self.parts.memory();
            if let Err(error) = flushed {
                tracing::warn!(draft = self.draft.0, %error, "a file was closed without a flush, and its bytes could not be made durable");
                break;
            }
        }
        let id = self.content.id();
        if let Some(open) = memory.open.get_mut(&id) {
            open.handles -= 1;
            open.writers -= usize::from(self.writer.is_some());
            if open.handles == 0
                && memory
                    .open
                    .remove(&id)
                    .is_some_and(|open| open.removed.is_none())
            {
                let allocated = self.content.allocated();
                memory.allocated.extend(allocated.map(|bytes| (id, bytes)));
            }
        }
        let Some(caller) = self.writer else { return };
        let Some(draft) = memory.home_of(self.draft, self.entry) else {
            return;
        };
        self.record_length(&mut memory, draft);
        let now = self.parts.now();
        memory.released(draft, &caller, now);
        drop(memory);
        self.parts.draft_changed(draft);
    }
}
