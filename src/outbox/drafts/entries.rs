//! Files and folders in drafts. Synchronous; uses the local disk only. Each operation checks everything first, then
//! makes its change as one record.

use std::sync::Arc;

use crate::outbox::drafts::info::{AttributeChange, DraftKind, EntryInfo, EntryKind, OpenMode};
use crate::outbox::drafts::open::{check_free, make_file, not_found, open_file, open_removed};
use crate::outbox::drafts::parts::DraftParts;
use crate::outbox::drafts::record::DraftRecord;
use crate::outbox::drafts::remove::remove_draft;
use crate::outbox::drafts::show::{entry_info, removed_info};
use crate::outbox::drafts::staged_file::StagedFile;
use crate::outbox::drafts::tree::{Attributes, FileState};
use crate::outbox::drafts::upload::manifest;
use crate::outbox::drafts::upload::manifest::Exclusion;
use crate::outbox::error::{OutboxError, OutboxResult};
use crate::outbox::ids::{Caller, DraftId, EntryId};
use crate::outbox::journal::forms::Blob;
use crate::outbox::moment::Moment;
use crate::outbox::names;
use crate::outbox::staging::Content;

/// Files and folders in drafts.
#[derive(Clone)]
pub struct Entries {
    pub(in crate::outbox) parts: Arc<DraftParts>,
}

impl Entries {
    /// One entry; [`EntryId::ROOT`] is the draft's folder.
    pub fn get(&self, draft: DraftId, entry: EntryId) -> Option<EntryInfo> {
        entry_info(&self.parts.memory(), draft, entry)
    }

    /// A file that was removed or replaced while it is open.
    pub fn removed(&self, entry: EntryId) -> Option<EntryInfo> {
        removed_info(&self.parts.memory(), entry)
    }

    /// Bytes that a file takes on the staging disk, also one that was removed while it is open; `None` if it was not open since
    /// the drive was mounted. Does not wait for the disk.
    pub fn allocated(&self, draft: DraftId, entry: EntryId) -> Option<u64> {
        let memory = self.parts.memory();
        let content = memory.entry_or_removed(draft, entry).ok()?.file()?.content;
        match memory.open.get(&content) {
            Some(open) => open.content.allocated(),
            None => memory.allocated.get(&content).copied(),
        }
    }

    /// The entry of that name in a folder of a draft.
    pub fn child(&self, draft: DraftId, parent: EntryId, name: &str) -> Option<EntryInfo> {
        let memory = self.parts.memory();
        let entry = memory.state.drafts.get(&draft)?.tree.child(parent, name)?;
        entry_info(&memory, draft, entry)
    }

    /// The entries of a folder, by name.
    pub fn children(&self, draft: DraftId, parent: EntryId) -> OutboxResult<Vec<EntryInfo>> {
        let memory = self.parts.memory();
        let tree = &memory.draft(draft)?.tree;
        let folder = tree.node(parent).ok_or_else(|| not_found("the folder"))?;
        let children = folder.folder();
        let children = children.ok_or_else(|| OutboxError::NotAFolder(tree.path(parent)))?;
        Ok(children
            .values()
            .filter_map(|id| entry_info(&memory, draft, *id))
            .collect())
    }

    /// Makes a file and opens it for writing. Fails if the name is taken. The file is durable after its first flush.
    pub fn create_file(
        &self,
        draft: DraftId,
        parent: EntryId,
        name: &str,
        mode: u32,
        caller: &Caller,
    ) -> OutboxResult<(EntryInfo, StagedFile)> {
        names::check_new(name)?;
        {
            let memory = self.parts.memory();
            memory.check_holds_many(draft)?;
            check_free(&memory, draft, parent, name)?;
        }
        let (content, file) = self.parts.own.staging.create()?;
        let mut memory = self.parts.memory();
        check_free(&memory, draft, parent, name)?;
        memory.begin_change(draft)?;
        let made = make_file(
            &self.parts,
            &mut memory,
            Content::new(content, file, self.parts.own.staging.space_reserve()),
            (draft, parent, name),
            mode,
            caller,
        )?;
        drop(memory);
        self.parts.draft_changed(draft);
        Ok(made)
    }

    /// Makes a folder. Durable on return.
    pub fn make_dir(
        &self,
        draft: DraftId,
        parent: EntryId,
        name: &str,
        mode: u32,
        caller: &Caller,
    ) -> OutboxResult<EntryInfo> {
        names::check_new(name)?;
        self.parts.own.staging.check_space()?;
        let (info, ticket) = {
            let mut memory = self.parts.memory();
            memory.check_holds_many(draft)?;
            check_free(&memory, draft, parent, name)?;
            memory.begin_change(draft)?;
            let entry = EntryId(memory.state.next_id());
            let owner = self.parts.config.owner;
            let own = Attributes::made_by(mode, caller, owner, Moment::now());
            let folder = memory.entry(draft, parent)?.attributes;
            let ticket = memory.record(DraftRecord::FolderMade {
                draft,
                entry,
                parent,
                name: name.to_owned(),
                attributes: own.made_in(&folder, EntryKind::Folder),
            })?;
            memory.note_change(draft, Some(caller), self.parts.now());
            let info = entry_info(&memory, draft, entry).ok_or_else(|| not_found(name))?;
            (info, ticket)
        };
        self.parts.journal.settle(ticket)?;
        self.parts.draft_changed(draft);
        Ok(info)
    }

    /// Opens a staged file.
    pub fn open(
        &self,
        draft: DraftId,
        entry: EntryId,
        mode: OpenMode,
        caller: &Caller,
    ) -> OutboxResult<StagedFile> {
        let writes = mode != OpenMode::Read;
        let file = {
            let mut memory = self.parts.memory();
            let writer = writes.then_some(*caller);
            if let Some(file) = open_removed(&self.parts, &mut memory, entry, writer) {
                drop(memory);
                if mode == OpenMode::Truncate {
                    file.truncate(0)?;
                }
                return Ok(file);
            }
            let staged = open_file(&self.parts, &mut memory, draft, entry, writer)?;
            if writes {
                memory.note_change(draft, Some(caller), self.parts.now());
            }
            staged
        };
        if writes {
            // The end of a cancelled upload must be durable before the bytes change. Otherwise the upload would
            // continue after a crash, with other bytes than its manifest says.
            self.parts.journal.settle(self.parts.journal.last())?;
        }
        if mode == OpenMode::Truncate {
            file.truncate(0)?;
        }
        if writes {
            self.parts.draft_changed(draft);
        }
        Ok(file)
    }

    /// Length and checksum of a file, if all of it was flushed.
    pub fn flushed_len_and_hash(&self, draft: DraftId, entry: EntryId) -> Option<(u64, String)> {
        let memory = self.parts.memory();
        let file = memory.state.drafts.get(&draft)?.tree.node(entry)?.file()?;
        let is_flushed = file.state == FileState::Flushed;
        is_flushed.then_some((file.size, file.hash?.to_string()))
    }

    /// Why an entry is not sent (junk, a temporary name, a service folder, a loose file that needs a folder), as a
    /// sentence.
    pub fn why_excluded(&self, draft: DraftId, entry: EntryId) -> Option<String> {
        let memory = self.parts.memory();
        let found = memory.state.drafts.get(&draft)?;
        let path = found.tree.path(entry);
        if let Some(why) = manifest::excluded_by_name(&found.tree, entry) {
            return Some(why.sentence(&path));
        }
        let top = path.split('/').next().unwrap_or_default();
        if names::is_service_folder(top) {
            let referred = crate::outbox::drafts::settle::facts::referred_folders(&memory, found);
            return (!referred.contains(top)).then(|| Exclusion::ServiceFolder.sentence(&path));
        }
        let alone = found.kind == DraftKind::LooseFile && !names::is_self_contained(&found.name);
        alone.then(|| {
            format!(
                "{} is not a complete model by itself, so it is kept here and not sent; put it into a folder with its model",
                found.name
            )
        })
    }

    /// Changes attributes. A changed size truncates or extends the staged file.
    pub fn set_attributes(
        &self,
        draft: DraftId,
        entry: EntryId,
        change: &AttributeChange,
        caller: &Caller,
    ) -> OutboxResult<EntryInfo> {
        if let Some(size) = change.size {
            let file = self.open(draft, entry, OpenMode::Write, caller)?;
            // Durable when it is closed, or at the flush of another handle.
            file.truncate(size)?;
        }
        let info = {
            let mut memory = self.parts.memory();
            if let Some(open) = memory.removed(entry) {
                if change.mtime.is_some() {
                    open.content.time_was_set();
                }
                if let Some(node) = memory.removed_mut(entry) {
                    node.attributes = node.attributes.changed(change, Moment::now());
                }
                return removed_info(&memory, entry).ok_or_else(|| not_found("the file"));
            }
            let found = memory.draft(draft)?;
            if found.is_frozen() {
                return Err(OutboxError::Frozen(found.name.clone()));
            }
            let content = memory.entry(draft, entry)?.file().map(|file| file.content);
            let record = memory.attributes_record(draft, entry, change, Moment::now())?;
            memory.record(record)?;
            if let Some(open) = content.and_then(|content| memory.open.get(&content))
                && change.mtime.is_some()
            {
                open.content.time_was_set();
            }
            if entry == EntryId::ROOT {
                memory.note_folder_change(draft, change.mtime.is_some(), self.parts.now());
            } else {
                memory.note_change(draft, Some(caller), self.parts.now());
            }
            entry_info(&memory, draft, entry).ok_or_else(|| not_found("the entry"))?
        };
        self.parts.draft_changed(draft);
        Ok(info)
    }

    pub fn get_xattr(&self, draft: DraftId, entry: EntryId, name: &str) -> OutboxResult<Vec<u8>> {
        let memory = self.parts.memory();
        let value = memory.entry_or_removed(draft, entry)?.xattrs.get(name);
        Ok(value.ok_or(OutboxError::NoAttribute)?.0.clone())
    }

    /// Sets an extended attribute. `create` and `replace` are the flags of `setxattr(2)`. Durable on return.
    pub fn set_xattr(
        &self,
        draft: DraftId,
        entry: EntryId,
        name: &str,
        value: &[u8],
        create: bool,
        replace: bool,
    ) -> OutboxResult<()> {
        let value = Some(Blob(value.to_vec()));
        self.record_xattr(draft, entry, name, value, |exists| match exists {
            true if create => Err(OutboxError::AttributeExists),
            false if replace => Err(OutboxError::NoAttribute),
            _ => Ok(()),
        })
    }

    /// The names of an entry's extended attributes.
    pub fn list_xattrs(&self, draft: DraftId, entry: EntryId) -> OutboxResult<Vec<String>> {
        let memory = self.parts.memory();
        let node = memory.entry_or_removed(draft, entry)?;
        Ok(node.xattrs.keys().cloned().collect())
    }

    /// Durable on return.
    pub fn remove_xattr(&self, draft: DraftId, entry: EntryId, name: &str) -> OutboxResult<()> {
        self.record_xattr(draft, entry, name, None, |exists| match exists {
            true => Ok(()),
            false => Err(OutboxError::NoAttribute),
        })
    }

    fn record_xattr(
        &self,
        draft: DraftId,
        entry: EntryId,
        name: &str,
        value: Option<Blob>,
        check: impl FnOnce(bool) -> OutboxResult<()>,
    ) -> OutboxResult<()> {
        let mut memory = self.parts.memory();
        let node = memory.entry_or_removed(draft, entry)?;
        check(node.xattrs.contains_key(name))?;
        let name = name.to_owned();
        if let Some(node) = memory.removed_mut(entry) {
            match value {
                Some(value) => node.xattrs.insert(name, value),
                None => node.xattrs.remove(&name),
            };
            return Ok(());
        }
        let record = DraftRecord::XattrSet {
            draft,
            entry,
            name,
            value,
        };
        let ticket = memory.record(record)?;
        drop(memory);
        self.parts.journal.settle(ticket)
    }

    /// Durable on return.
    pub fn remove_file(
        &self,
        draft: DraftId,
        parent: EntryId,
        name: &str,
        caller: &Caller,
    ) -> OutboxResult<()> {
        self.remove_entry(draft, parent, name, EntryKind::File, caller)
    }

    /// Durable on return.
    pub fn remove_dir(
        &self,
        draft: DraftId,
        parent: EntryId,
        name: &str,
        caller: &Caller,
    ) -> OutboxResult<()> {
        self.remove_entry(draft, parent, name, EntryKind::Folder, caller)
    }

    fn remove_entry(
        &self,
        draft: DraftId,
        parent: EntryId,
        name: &str,
        kind: EntryKind,
        caller: &Caller,
    ) -> OutboxResult<()> {
        let ticket = {
            let mut memory = self.parts.memory();
            let found = memory.draft(draft)?;
            let entry = found
                .tree
                .child(parent, name)
                .ok_or_else(|| not_found(name))?;
            let node = found.tree.node(entry).ok_or_else(|| not_found(name))?;
            match (kind, node.folder()) {
                (EntryKind::File, Some(_)) => return Err(OutboxError::IsAFolder(name.to_owned())),
                (EntryKind::Folder, None) => return Err(OutboxError::NotAFolder(name.to_owned())),
                (EntryKind::Folder, Some(children)) if !children.is_empty() => {
                    return Err(OutboxError::NotEmpty(name.to_owned()));
                }
                _ => {}
            }
            if found.kind == DraftKind::LooseFile {
                drop(memory);
                return remove_draft(&self.parts, draft);
            }
            memory.begin_change(draft)?;
            let ticket = memory.record(DraftRecord::EntryRemoved {
                draft,
                entry,
                at: Moment::now(),
            })?;
            memory.note_change(draft, Some(caller), self.parts.now());
            ticket
        };
        let settled = self.parts.settle_removal(ticket);
        self.parts.draft_changed(draft);
        self.parts.own.discard_wake.notify_one();
        settled
    }
}
