//! The local side of drafts: what `open`, `rename`, `unlink` and the like do to them. Synchronous,
//! local disk only. Each operation checks everything first, then makes its change as one record.

use std::sync::Arc;

use crate::outbox::core::Core;
use crate::outbox::drafts::info::{DraftInfo, DraftKind, EntryInfo, OpenMode};
use crate::outbox::drafts::record::DraftRecord;
use crate::outbox::drafts::staged_file::StagedFile;
use crate::outbox::drafts::tree::{Attributes, FileState};
use crate::outbox::drafts::upload::manifest;
use crate::outbox::drafts::upload::manifest::KeptBack;
use crate::outbox::error::{OutboxError, OutboxResult};
use crate::outbox::ids::{Caller, DraftId, EntryId};
use crate::outbox::moment::Moment;
use crate::outbox::names;
use crate::outbox::shared::Shared;
use crate::outbox::staging::{Content, staging_error};
use crate::outbox::{Outbox, OutboxConfig};

pub(super) fn not_found(what: &str) -> OutboxError {
    OutboxError::NotFound(what.to_owned())
}

/// Fails where the name is taken at the top.
fn check_free_at_top(core: &Core, name: &str) -> OutboxResult<()> {
    match core.state.top.contains_key(name) {
        true => Err(OutboxError::Exists(name.to_owned())),
        false => Ok(()),
    }
}

/// Fails unless `parent` is a folder of the draft in which the name is free.
fn check_free(core: &Core, draft: DraftId, parent: EntryId, name: &str) -> OutboxResult<()> {
    let tree = &core.draft(draft)?.tree;
    let folder = tree.node(parent).ok_or_else(|| not_found("the folder"))?;
    match folder.folder() {
        None => Err(OutboxError::NotAFolder(tree.path(parent))),
        Some(children) if children.contains_key(name) => Err(OutboxError::Exists(name.to_owned())),
        Some(_) => Ok(()),
    }
}

impl Outbox {
    /// All drafts, by number.
    pub fn drafts(&self) -> Vec<DraftInfo> {
        let core = self.shared.core();
        core.state
            .drafts
            .keys()
            .filter_map(|id| core.draft_info(*id))
            .collect()
    }

    /// One draft.
    pub fn draft(&self, draft: DraftId) -> Option<DraftInfo> {
        self.shared.core().draft_info(draft)
    }

    /// The draft of that name at the top.
    pub fn find_draft(&self, name: &str) -> Option<DraftInfo> {
        let core = self.shared.core();
        let id = *core.state.top.get(name)?;
        core.draft_info(id)
    }

    /// The draft of the loose file that becomes the model of that name.
    pub fn find_loose_model(&self, model: &str) -> Option<DraftId> {
        let core = self.shared.core();
        let mut drafts = core.state.drafts.iter();
        let found = drafts.find(|(_, draft)| {
            draft.kind == DraftKind::LooseFile
                && draft.name != model
                && names::model_of_loose_file(&draft.name) == Some(model)
        });
        found.map(|(id, _)| *id)
    }

    /// How the outbox was opened.
    pub fn config(&self) -> &OutboxConfig {
        &self.shared.config
    }

    /// Makes an empty draft folder. Durable on return.
    pub fn create_draft(&self, name: &str, mode: u32, caller: &Caller) -> OutboxResult<DraftInfo> {
        names::check_new(name)?;
        let (id, ticket) = {
            let mut core = self.shared.core();
            check_free_at_top(&core, name)?;
            let draft = DraftId(core.state.next_id());
            let ticket = core.record(made(draft, name, DraftKind::Folder, mode))?;
            core.stirred(draft, Some(caller), self.shared.now());
            (draft, ticket)
        };
        self.shared.journal.settle(ticket)?;
        self.shared.draft_changed(id);
        self.draft(id).ok_or_else(|| not_found(name))
    }

    /// Makes a loose file at the top: a draft of kind [`DraftKind::LooseFile`] and its one file.
    pub fn create_loose_file(
        &self,
        name: &str,
        mode: u32,
        caller: &Caller,
    ) -> OutboxResult<(DraftInfo, EntryInfo, StagedFile)> {
        names::check_new(name)?;
        check_free_at_top(&self.shared.core(), name)?;
        let (content, file) = self.shared.staging.create()?;
        let mut core = self.shared.core();
        check_free_at_top(&core, name)?;
        let draft = DraftId(core.state.next_id());
        core.record(made(draft, name, DraftKind::LooseFile, 0o755))?;
        let made = make_file(
            &self.shared,
            &mut core,
            Content::new(content, file),
            (draft, EntryId::ROOT, name),
            mode,
            caller,
        )?;
        let info = core.draft_info(draft).ok_or_else(|| not_found(name))?;
        drop(core);
        self.shared.draft_changed(draft);
        Ok((info, made.0, made.1))
    }

    /// One entry; [`EntryId::ROOT`] is the draft's folder.
    pub fn entry(&self, draft: DraftId, entry: EntryId) -> Option<EntryInfo> {
        self.shared.core().entry_info(draft, entry)
    }

    /// The entry of that name in a folder of a draft.
    pub fn child(&self, draft: DraftId, parent: EntryId, name: &str) -> Option<EntryInfo> {
        let core = self.shared.core();
        let entry = core.state.drafts.get(&draft)?.tree.child(parent, name)?;
        core.entry_info(draft, entry)
    }

    /// The entries of a folder, by name.
    pub fn children(&self, draft: DraftId, parent: EntryId) -> OutboxResult<Vec<EntryInfo>> {
        let core = self.shared.core();
        let tree = &core.draft(draft)?.tree;
        let folder = tree.node(parent).ok_or_else(|| not_found("the folder"))?;
        let children = folder.folder();
        let children = children.ok_or_else(|| OutboxError::NotAFolder(tree.path(parent)))?;
        Ok(children
            .values()
            .filter_map(|id| core.entry_info(draft, *id))
            .collect())
    }

    /// Makes a file and opens it for writing. Fails where the name is taken. Durable at its flush.
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
            let core = self.shared.core();
            core.check_holds_many(draft)?;
            check_free(&core, draft, parent, name)?;
        }
        let (content, file) = self.shared.staging.create()?;
        let mut core = self.shared.core();
        check_free(&core, draft, parent, name)?;
        core.begin_change(draft)?;
        let made = make_file(
            &self.shared,
            &mut core,
            Content::new(content, file),
            (draft, parent, name),
            mode,
            caller,
        )?;
        drop(core);
        self.shared.draft_changed(draft);
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
        let (info, ticket) = {
            let mut core = self.shared.core();
            core.check_holds_many(draft)?;
            check_free(&core, draft, parent, name)?;
            core.begin_change(draft)?;
            let entry = EntryId(core.state.next_id());
            let ticket = core.record(DraftRecord::FolderMade {
                draft,
                entry,
                parent,
                name: name.to_owned(),
                attributes: Attributes::new(mode, Moment::now()),
            })?;
            core.stirred(draft, Some(caller), self.shared.now());
            let info = core
                .entry_info(draft, entry)
                .ok_or_else(|| not_found(name))?;
            (info, ticket)
        };
        self.shared.journal.settle(ticket)?;
        self.shared.draft_changed(draft);
        Ok(info)
    }

    /// Opens a staged file.
    pub fn open_staged(
        &self,
        draft: DraftId,
        entry: EntryId,
        mode: OpenMode,
        caller: &Caller,
    ) -> OutboxResult<StagedFile> {
        let writes = mode != OpenMode::Read;
        let file = {
            let mut core = self.shared.core();
            let staged = self.open_in(&mut core, draft, entry, writes.then_some(*caller))?;
            if writes {
                core.stirred(draft, Some(caller), self.shared.now());
            }
            staged
        };
        if writes {
            // An upload that this takes back has to be over durably before the bytes change: after a
            // crash it would go on with bytes that it never promised.
            self.shared.journal.settle(self.shared.journal.last())?;
        }
        if mode == OpenMode::Truncate {
            file.truncate(0)?;
        }
        if writes {
            self.shared.draft_changed(draft);
        }
        Ok(file)
    }

    /// True when the caller's process wrote into the draft: its `fsync` of the folder only makes
    /// durable, anyone else's commits.
    pub fn wrote_into(&self, draft: DraftId, caller: &Caller) -> bool {
        let now = self.shared.now();
        let mut core = self.shared.core();
        core.state.drafts.contains_key(&draft) && core.wrote_into(draft, caller, now)
    }

    /// Makes everything in the draft durable, names, times and modes included.
    pub fn sync_draft(&self, draft: DraftId) -> OutboxResult<()> {
        self.shared.core().draft(draft)?;
        self.shared.journal.settle_all()
    }

    /// Length and checksum of a file of a draft, where all of it was flushed.
    pub fn flushed_content(&self, draft: DraftId, entry: EntryId) -> Option<(u64, String)> {
        let core = self.shared.core();
        let file = core.state.drafts.get(&draft)?.tree.node(entry)?.file()?;
        let is_flushed = file.state == FileState::Flushed;
        is_flushed.then_some((file.size, file.hash?.to_string()))
    }

    /// Why an entry of a draft is not sent (junk, in flight, a service folder, a loose file of a
    /// kind that needs a folder), as a sentence.
    pub fn why_kept_back(&self, draft: DraftId, entry: EntryId) -> Option<String> {
        let core = self.shared.core();
        let found = core.state.drafts.get(&draft)?;
        let path = found.tree.path(entry);
        if let Some(why) = manifest::kept_back_by_name(&found.tree, entry) {
            return Some(why.sentence(&path));
        }
        let top = path.split('/').next().unwrap_or_default();
        if names::is_service_folder(top) {
            let referred = crate::outbox::drafts::settle::facts::referred_folders(&core, found);
            return (!referred.contains(top)).then(|| KeptBack::ServiceFolder.sentence(&path));
        }
        let alone = found.kind == DraftKind::LooseFile && !names::is_self_contained(&found.name);
        alone.then(|| {
            format!(
                "{} is no model that stands alone, so it is kept here and not sent; put it into a folder with its model",
                found.name
            )
        })
    }

    /// Opens a file of a draft under the core's lock.
    pub(in crate::outbox) fn open_in(
        &self,
        core: &mut Core,
        draft: DraftId,
        entry: EntryId,
        writer: Option<Caller>,
    ) -> OutboxResult<StagedFile> {
        let tree = &core.draft(draft)?.tree;
        let node = tree.node(entry).ok_or_else(|| not_found("the file"))?;
        let path = tree.path(entry);
        let file = node.file().ok_or(OutboxError::IsAFolder(path.clone()))?;
        let (content, flushed) = (file.content, file.state == FileState::Flushed);
        if writer.is_some() {
            core.begin_change(draft)?;
        }
        let bytes = match core.open.get(&content) {
            Some(open) => Arc::clone(&open.content),
            None => {
                let opened = self.shared.staging.open_content(content);
                let opened = opened.and_then(|file| Content::existing(content, file, flushed));
                Arc::new(opened.map_err(staging_error(format!("opening {path}")))?)
            }
        };
        Ok(StagedFile::register(
            &self.shared,
            core,
            bytes,
            (draft, entry),
            writer,
        ))
    }
}

fn made(draft: DraftId, name: &str, kind: DraftKind, mode: u32) -> DraftRecord {
    DraftRecord::Made {
        draft,
        name: name.to_owned(),
        kind,
        attributes: Attributes::new(mode, Moment::now()),
    }
}

/// Makes a file in a folder whose name is free, and opens it for writing.
fn make_file(
    shared: &Arc<Shared>,
    core: &mut Core,
    content: Content,
    place: (DraftId, EntryId, &str),
    mode: u32,
    caller: &Caller,
) -> OutboxResult<(EntryInfo, StagedFile)> {
    let (draft, parent, name) = place;
    let entry = EntryId(core.state.next_id());
    core.record(DraftRecord::FileMade {
        draft,
        entry,
        parent,
        name: name.to_owned(),
        content: content.id(),
        attributes: Attributes::new(mode, Moment::now()),
    })?;
    core.stirred(draft, Some(caller), shared.now());
    let content = Arc::new(content);
    let file = StagedFile::register(shared, core, content, (draft, entry), Some(*caller));
    let info = core
        .entry_info(draft, entry)
        .ok_or_else(|| not_found(name))?;
    Ok((info, file))
}
