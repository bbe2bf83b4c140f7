//! Attributes and extended attributes of drafts' entries: kept as they were set, shown as they were set.

use crate::outbox::Outbox;
use crate::outbox::drafts::info::{AttributeChange, EntryInfo, OpenMode};
use crate::outbox::drafts::ops::not_found;
use crate::outbox::drafts::record::DraftRecord;
use crate::outbox::error::{OutboxError, OutboxResult};
use crate::outbox::ids::{Caller, DraftId, EntryId};
use crate::outbox::journal::forms::Blob;
use crate::outbox::moment::Moment;

impl Outbox {
    /// Changes attributes; shown as set. A changed size cuts or extends the staged file.
    pub fn set_attributes(
        &self,
        draft: DraftId,
        entry: EntryId,
        change: &AttributeChange,
        caller: &Caller,
    ) -> OutboxResult<EntryInfo> {
        if let Some(size) = change.size {
            let file = self.open_staged(draft, entry, OpenMode::Write, caller)?;
            // Made durable when it is closed, or at the flush of whoever has it open as well.
            file.truncate(size)?;
        }
        let info = {
            let mut core = self.shared.core();
            let found = core.draft(draft)?;
            if found.is_frozen() {
                return Err(OutboxError::Frozen(found.name.clone()));
            }
            let node = found
                .tree
                .node(entry)
                .ok_or_else(|| not_found("the entry"))?;
            let content = node.file().map(|file| file.content);
            let record = core.attributes_record(draft, entry, change, Moment::now())?;
            core.record(record)?;
            if let Some(open) = content.and_then(|content| core.open.get(&content))
                && change.mtime.is_some()
            {
                open.content.time_was_set();
            }
            if entry == EntryId::ROOT {
                core.folder_stirred(draft, change.mtime.is_some(), self.shared.now());
            } else {
                core.stirred(draft, Some(caller), self.shared.now());
            }
            core.entry_info(draft, entry)
                .ok_or_else(|| not_found("the entry"))?
        };
        self.shared.draft_changed(draft);
        Ok(info)
    }

    /// Reads an extended attribute.
    pub fn get_xattr(&self, draft: DraftId, entry: EntryId, name: &str) -> OutboxResult<Vec<u8>> {
        let core = self.shared.core();
        let node = core.draft(draft)?.tree.node(entry);
        let node = node.ok_or_else(|| not_found("the entry"))?;
        let value = node.xattrs.get(name).ok_or(OutboxError::NoAttribute)?;
        Ok(value.0.clone())
    }

    /// Sets an extended attribute. `create` and `replace` are the flags of `setxattr(2)`.
    pub fn set_xattr(
        &self,
        draft: DraftId,
        entry: EntryId,
        name: &str,
        value: &[u8],
        create: bool,
        replace: bool,
    ) -> OutboxResult<()> {
        let mut core = self.shared.core();
        let node = core.draft(draft)?.tree.node(entry);
        let node = node.ok_or_else(|| not_found("the entry"))?;
        match node.xattrs.contains_key(name) {
            true if create => return Err(OutboxError::AttributeExists),
            false if replace => return Err(OutboxError::NoAttribute),
            _ => {}
        }
        let value = Some(Blob(value.to_vec()));
        let name = name.to_owned();
        core.record(DraftRecord::XattrSet {
            draft,
            entry,
            name,
            value,
        })?;
        Ok(())
    }

    /// The names of an entry's extended attributes.
    pub fn list_xattrs(&self, draft: DraftId, entry: EntryId) -> OutboxResult<Vec<String>> {
        let core = self.shared.core();
        let node = core.draft(draft)?.tree.node(entry);
        let node = node.ok_or_else(|| not_found("the entry"))?;
        Ok(node.xattrs.keys().cloned().collect())
    }

    /// Removes an extended attribute.
    pub fn remove_xattr(&self, draft: DraftId, entry: EntryId, name: &str) -> OutboxResult<()> {
        let mut core = self.shared.core();
        let node = core.draft(draft)?.tree.node(entry);
        let node = node.ok_or_else(|| not_found("the entry"))?;
        if !node.xattrs.contains_key(name) {
            return Err(OutboxError::NoAttribute);
        }
        let name = name.to_owned();
        core.record(DraftRecord::XattrSet {
            draft,
            entry,
            name,
            value: None,
        })?;
        Ok(())
    }
}
