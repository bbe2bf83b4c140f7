//! How each record changes the state; none looks at a clock or a disk. What is inside a draft is in
//! [`apply_draft`](super::apply_draft), the steps of uploads in [`apply_upload`](super::apply_upload).

use crate::outbox::drafts::info::DraftKind;
use crate::outbox::drafts::tree::{Tree, TreeError};
use crate::outbox::ids::{DraftId, EntryId};
use crate::outbox::moment::Moment;
use crate::outbox::state::record::Record;
use crate::outbox::state::{ApplyError, Attempt, Draft, State};
use crate::wire::AssetId;

/// Whether a record fits.
pub(super) type Applied = Result<(), ApplyError>;

/// Names the draft in whose tree something does not fit.
pub(super) fn in_draft(draft: DraftId) -> impl Fn(TreeError) -> ApplyError {
    move |source| ApplyError::Tree { draft, source }
}

impl State {
    /// Makes the change that the record tells of.
    pub fn apply(&mut self, record: &Record) -> Applied {
        match record {
            Record::Snapshot(state) => {
                *self = (**state).clone();
                self.top = self
                    .drafts
                    .iter()
                    .map(|(id, draft)| (draft.name.clone(), *id))
                    .collect();
                Ok(())
            }
            Record::Draft(record) => self.apply_draft(record),
            Record::Upload(record) => self.apply_upload(record),
            Record::Job(record) => Ok(self.jobs.apply(record)?),
            Record::Preset(record) => {
                self.presets.apply(record);
                Ok(())
            }
        }
    }

    pub(super) fn add_draft(&mut self, id: DraftId, draft: Draft) -> Applied {
        if self.drafts.contains_key(&id) || self.top.contains_key(&draft.name) {
            return Err(ApplyError::DuplicateDraft(id));
        }
        self.top.insert(draft.name.clone(), id);
        self.drafts.insert(id, draft);
        Ok(())
    }

    /// Removes a draft; what the service has of it is to be deleted.
    pub(super) fn remove_draft(&mut self, id: DraftId) -> Applied {
        let draft = self.drafts.remove(&id).ok_or(ApplyError::NoDraft(id))?;
        self.top.remove(&draft.name);
        self.drop_asset(draft.stage().and_then(|stage| stage.asset()));
        self.freed.extend(draft.contents());
        self.jobs.draft_gone(id);
        Ok(())
    }

    /// What the service has of an attempt is to be deleted.
    pub(super) fn drop_asset(&mut self, asset: Option<AssetId>) {
        if let Some(asset) = asset {
            self.discards.insert(asset);
            self.sent.remove(&asset);
            self.jobs.asset_gone(asset);
        }
    }

    /// Makes room for a draft that takes the name of another.
    pub(super) fn clear_top(&mut self, name: &str, newcomer: DraftId) -> Applied {
        match self.top.get(name).copied() {
            Some(old) if old != newcomer => self.remove_draft(old),
            _ => Ok(()),
        }
    }

    pub(super) fn rename_draft(&mut self, id: DraftId, name: &str) -> Applied {
        self.clear_top(name, id)?;
        let draft = self.changed(id)?;
        let old = std::mem::replace(&mut draft.name, name.to_owned());
        if draft.kind == DraftKind::LooseFile
            && let Some(file) = draft.tree.child(EntryId::ROOT, &old)
        {
            let branch = draft.tree.take(file).map_err(in_draft(id))?;
            draft
                .tree
                .graft(EntryId::ROOT, name, branch)
                .map_err(in_draft(id))?;
        }
        self.top.remove(&old);
        self.top.insert(name.to_owned(), id);
        Ok(())
    }

    pub(super) fn draft_mut(&mut self, id: DraftId) -> Result<&mut Draft, ApplyError> {
        self.drafts.get_mut(&id).ok_or(ApplyError::NoDraft(id))
    }

    /// A draft whose content changes: what was asked for and what failed before is void.
    pub(super) fn changed(&mut self, id: DraftId) -> Result<&mut Draft, ApplyError> {
        let draft = self.draft_mut(id)?;
        draft.ordered = None;
        draft.failure = None;
        draft.warning = None;
        Ok(draft)
    }

    pub(super) fn attempt_mut(
        &mut self,
        draft: DraftId,
        attempt: u64,
    ) -> Result<&mut Attempt, ApplyError> {
        let present = self.draft_mut(draft)?.attempt.as_mut();
        present
            .filter(|present| present.number == attempt)
            .ok_or(ApplyError::NoAttempt { draft, attempt })
    }

    pub(super) fn used(&mut self, id: u64) {
        self.last_id = self.last_id.max(id);
    }
}

/// A folder's times follow a change of what is in it.
pub(super) fn touch_folder(tree: &mut Tree, folder: EntryId, now: Moment) {
    if let Ok(node) = tree.node_mut(folder) {
        node.attributes.mtime = now;
        node.attributes.ctime = now;
    }
}
