//! Making, finding, renaming and removing drafts. Synchronous; uses the local disk only. Each operation checks
//! everything first, then makes its change as one record.

use std::sync::Arc;

use crate::outbox::drafts::info::Replaced;
use crate::outbox::drafts::info::{DraftInfo, DraftKind, EntryInfo, Place, Renamed};
use crate::outbox::drafts::open::{check_free_at_top, make_file, not_found};
use crate::outbox::drafts::parts::DraftParts;
use crate::outbox::drafts::process::is_command;
use crate::outbox::drafts::record::DraftRecord;
use crate::outbox::drafts::remove::remove_draft;
use crate::outbox::drafts::rename::{Moved, record_move};
use crate::outbox::drafts::show::draft_info;
use crate::outbox::drafts::staged_file::StagedFile;
use crate::outbox::drafts::tree::Attributes;
use crate::outbox::error::OutboxResult;
use crate::outbox::ids::{Caller, DraftId, EntryId};
use crate::outbox::moment::Moment;
use crate::outbox::names;
use crate::outbox::staging::Content;

/// Models that were copied in and whose staged copy is kept.
#[derive(Clone)]
pub struct Drafts {
    pub(in crate::outbox) parts: Arc<DraftParts>,
}

impl Drafts {
    /// All drafts, by number.
    pub fn all(&self) -> Vec<DraftInfo> {
        let memory = self.parts.memory();
        memory
            .state
            .drafts
            .keys()
            .filter_map(|id| draft_info(&memory, *id))
            .collect()
    }

    pub fn get(&self, draft: DraftId) -> Option<DraftInfo> {
        draft_info(&self.parts.memory(), draft)
    }

    /// The draft of that name in `rawmodels/`.
    pub fn find(&self, name: &str) -> Option<DraftInfo> {
        let memory = self.parts.memory();
        let id = *memory.state.top.get(name)?;
        draft_info(&memory, id)
    }

    /// The draft of the loose file that becomes the model of that name.
    pub fn find_loose_model(&self, model: &str) -> Option<DraftId> {
        let memory = self.parts.memory();
        let mut drafts = memory.state.drafts.iter();
        let found = drafts.find(|(_, draft)| {
            draft.kind == DraftKind::LooseFile
                && draft.name != model
                && names::model_of_loose_file(&draft.name) == Some(model)
        });
        found.map(|(id, _)| *id)
    }

    /// The file of that name that is found in `rawmodels/` beside the folder of a draft.
    pub fn find_file_beside(&self, name: &str) -> Option<(DraftId, EntryId)> {
        let memory = self.parts.memory();
        let draft = *memory.state.top.get(names::model_of_only_file(name)?)?;
        let (found, entry) = memory.state.drafts.get(&draft)?.file_beside()?;
        (found == name).then_some((draft, entry))
    }

    /// The name of the file that is found in `rawmodels/` beside the folder of a draft.
    pub fn file_beside(&self, draft: DraftId) -> Option<String> {
        let memory = self.parts.memory();
        let (name, _) = memory.state.drafts.get(&draft)?.file_beside()?;
        Some(name.to_owned())
    }

    /// Makes an empty draft folder. Durable on return.
    pub fn create(&self, name: &str, mode: u32, caller: &Caller) -> OutboxResult<DraftInfo> {
        names::check_new(name)?;
        self.parts.own.staging.check_space()?;
        let by_command = is_command(caller.pid);
        let (id, ticket) = {
            let mut memory = self.parts.memory();
            check_free_at_top(&memory, name)?;
            let draft = DraftId(memory.state.next_id());
            let ticket = memory.record(DraftRecord::Made {
                draft,
                name: name.to_owned(),
                kind: DraftKind::Folder,
                attributes: self.attributes(mode, caller),
                by_command,
            })?;
            memory.note_change(draft, Some(caller), self.parts.now());
            (draft, ticket)
        };
        self.parts.journal.settle(ticket)?;
        self.parts.draft_changed(id);
        self.get(id).ok_or_else(|| not_found(name))
    }

    /// Makes a loose file in `rawmodels/`: a draft of kind [`DraftKind::LooseFile`] with one file.
    pub fn create_loose_file(
        &self,
        name: &str,
        mode: u32,
        caller: &Caller,
    ) -> OutboxResult<(DraftInfo, EntryInfo, StagedFile)> {
        names::check_new(name)?;
        check_free_at_top(&self.parts.memory(), name)?;
        let (content, file) = self.parts.own.staging.create()?;
        let mut memory = self.parts.memory();
        check_free_at_top(&memory, name)?;
        let draft = DraftId(memory.state.next_id());
        memory.record(DraftRecord::Made {
            draft,
            name: name.to_owned(),
            kind: DraftKind::LooseFile,
            attributes: self.attributes(0o755, caller),
            by_command: false,
        })?;
        let made = make_file(
            &self.parts,
            &mut memory,
            Content::new(content, file, self.parts.own.staging.space_reserve()),
            (draft, EntryId::ROOT, name),
            mode,
            caller,
        )?;
        let info = draft_info(&memory, draft).ok_or_else(|| not_found(name))?;
        drop(memory);
        self.parts.draft_changed(draft);
        Ok((info, made.0, made.1))
    }

    /// True if the caller's process wrote into the draft. Its `fsync` of the folder only makes the draft durable;
    /// that of another process commits it.
    pub fn wrote_into(&self, draft: DraftId, caller: &Caller) -> bool {
        let now = self.parts.now();
        let mut memory = self.parts.memory();
        memory.state.drafts.contains_key(&draft) && memory.wrote_into(draft, caller, now)
    }

    /// Makes everything in the draft durable, names, times and modes included.
    pub fn sync(&self, draft: DraftId) -> OutboxResult<()> {
        self.parts.memory().draft(draft)?;
        self.parts.journal.settle_all()
    }

    /// The same for all drafts.
    pub fn sync_all(&self) -> OutboxResult<()> {
        self.parts.journal.settle_all()
    }

    /// Renames or moves within a draft, between drafts, and from or to `rawmodels/` itself. Replaces the target as
    /// `rename(2)` does, unless `noreplace`. Durable on return.
    pub fn rename(
        &self,
        from: &Place,
        to: &Place,
        noreplace: bool,
        caller: &Caller,
    ) -> OutboxResult<Renamed> {
        self.move_to(from, (to, noreplace), None, caller)
    }

    /// Renames a loose file in `rawmodels/`, which becomes the new version of an asset. Durable on return.
    pub fn rename_to_version(
        &self,
        from: &Place,
        name: &str,
        replaced: &Replaced,
        caller: &Caller,
    ) -> OutboxResult<Renamed> {
        let to = Place::Top(name.to_owned());
        self.move_to(from, (&to, false), Some(replaced), caller)
    }

    fn move_to(
        &self,
        from: &Place,
        (to, noreplace): (&Place, bool),
        replaces: Option<&Replaced>,
        caller: &Caller,
    ) -> OutboxResult<Renamed> {
        let (source, renamed, left, ticket) = {
            let mut memory = self.parts.memory();
            let left = match from {
                Place::Top(name) => memory.state.top.get(name).copied(),
                Place::In { .. } => None,
            };
            let left = left.and_then(|draft| memory.draft(draft).ok()?.loose_name());
            let (source, renamed) = match record_move(&mut memory, from, to, noreplace, replaces)? {
                Moved::From(source, renamed) => (source, renamed),
                Moved::Nowhere(renamed) => return Ok(renamed),
            };
            let now = self.parts.now();
            if source != renamed.draft {
                memory.share_writers(source, renamed.draft);
            }
            memory.note_change(renamed.draft, Some(caller), now);
            if source != renamed.draft && memory.state.drafts.contains_key(&source) {
                memory.note_change(source, Some(caller), now);
            }
            memory.forget_gone();
            (source, renamed, left, self.parts.journal.last())
        };
        self.parts.journal.settle(ticket)?;
        self.parts.loose_file_left(left);
        self.parts.draft_changed(renamed.draft);
        if source != renamed.draft {
            self.parts.draft_changed(source);
        }
        self.parts.own.discard_wake.notify_one();
        Ok(renamed)
    }

    /// Removes a draft with everything in it. Cancels a running upload and deletes its unfinished asset on the
    /// service. Durable on return.
    pub fn remove(&self, draft: DraftId) -> OutboxResult<()> {
        remove_draft(&self.parts, draft)
    }

    fn attributes(&self, mode: u32, caller: &Caller) -> Attributes {
        Attributes::made_by(mode, caller, self.parts.config.owner, Moment::now())
    }
}
