//! The durable state of drafts and uploads, which the journal records. Every change is a record, applied in the same
//! way when it is made and in replay. Pure: no clock, no disk.

mod entries;
mod replacing;
mod uploads;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::draft::{AssetOrigin, Attempt, Draft, OpenStart};
use super::info::DraftKind;
use super::record::{DraftRecord, UploadRecord};
use super::sent::SentRecord;
use super::tree::{FileState, Tree, TreeError};
use crate::outbox::ids::{DraftId, EntryId};
use crate::outbox::journal::Journaled;
use crate::outbox::journal::forms::as_pairs;
use crate::outbox::moment::Moment;
use crate::outbox::staging::ContentId;
use crate::wire::AssetId;

/// The durable state of drafts and uploads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct DraftsState {
    #[serde(with = "as_pairs")]
    pub drafts: BTreeMap<DraftId, Draft>,
    /// The drafts by their names in `rawmodels/`.
    #[serde(skip)]
    pub top: HashMap<String, DraftId>,
    /// The records of what was sent, for each existing asset that was uploaded here.
    #[serde(with = "as_pairs")]
    pub sent: BTreeMap<AssetId, Arc<SentRecord>>,
    /// Unwanted assets of uploads, which are to be deleted.
    pub discards: BTreeSet<AssetId>,
    /// Those of them that other machines may have joined: the service deletes them unless one has.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub shared_discards: BTreeSet<AssetId>,
    /// Assets that the user deletes, until the service has confirmed the deletion.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub deletions: BTreeSet<AssetId>,
    /// Start requests without an outcome in the journal, by attempt.
    #[serde(with = "as_pairs")]
    pub open_starts: BTreeMap<u64, OpenStart>,
    /// The highest id of a draft, an entry or an attempt.
    pub last_id: u64,
    /// The highest id of a content.
    pub last_content: u64,
    /// Contents that are no longer referred to; taken by the caller to delete them.
    #[serde(skip)]
    pub freed: Vec<ContentId>,
    /// Fates of drafts and assets; taken by the caller to report them.
    #[serde(skip)]
    pub fates: Vec<ModelFate>,
}

/// The fate of a draft or an asset, which jobs follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelFate {
    /// The service has accepted a draft.
    Accepted {
        draft: DraftId,
        asset: AssetId,
    },
    DraftRemoved(DraftId),
    /// A draft has taken the place of another one, which is removed.
    DraftReplaced {
        old: DraftId,
        new: DraftId,
    },
    /// An asset is the new version of another one.
    VersionComplete {
        old: AssetId,
        new: AssetId,
    },
    /// The asset of a draft is given up, and the draft can change again.
    Reopened {
        draft: DraftId,
        asset: AssetId,
    },
    AssetGone(AssetId),
    /// Given up here; it stays for the machine that started it.
    AssetLeft(AssetId),
}

/// Why a record cannot be applied. Changes are checked before they are recorded, so in practice this means that the
/// journal is damaged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DraftsMismatch {
    #[error("draft {0} does not exist")]
    NoDraft(DraftId),
    /// The id or the name is in use.
    #[error("draft {0} or its name exists already")]
    DuplicateDraft(DraftId),
    #[error("draft {draft} has no attempt {attempt}")]
    NoAttempt { draft: DraftId, attempt: u64 },
    /// The draft's attempt is at another stage.
    #[error("the upload of draft {0} is not at the stage that this record needs")]
    WrongStage(DraftId),
    #[error("draft {draft}: {source}")]
    Tree {
        draft: DraftId,
        #[source]
        source: TreeError,
    },
}

/// The result of applying a record.
pub type Applied = Result<(), DraftsMismatch>;

/// A record that changes drafts or uploads.
pub trait DraftsChange: Journaled {
    fn apply_to(&self, state: &mut DraftsState) -> Applied;

    /// False if no content is freed by it.
    fn may_free(&self) -> bool {
        true
    }
}

impl Journaled for DraftRecord {
    const KIND: &'static str = "draft";

    fn adds_data(&self) -> bool {
        match self {
            DraftRecord::Made { .. }
            | DraftRecord::FileMade { .. }
            | DraftRecord::FolderMade { .. }
            | DraftRecord::Flushed { .. }
            | DraftRecord::AttributesSet { .. } => true,
            DraftRecord::XattrSet { value, .. } => value.is_some(),
            DraftRecord::Removed { .. }
            | DraftRecord::WriteFailed { .. }
            | DraftRecord::Moved { .. }
            | DraftRecord::Replaces { .. }
            | DraftRecord::EntryRemoved { .. } => false,
        }
    }
}

impl Journaled for UploadRecord {
    const KIND: &'static str = "upload";
}

impl DraftsChange for DraftRecord {
    fn apply_to(&self, state: &mut DraftsState) -> Applied {
        state.apply_draft(self)
    }

    fn may_free(&self) -> bool {
        matches!(
            self,
            DraftRecord::Removed { .. }
                | DraftRecord::EntryRemoved { .. }
                | DraftRecord::Moved { .. }
        )
    }
}

impl DraftsChange for UploadRecord {
    fn apply_to(&self, state: &mut DraftsState) -> Applied {
        state.apply_upload(self)
    }
}

/// Adds the draft to an error of its tree.
fn in_draft(draft: DraftId) -> impl Fn(TreeError) -> DraftsMismatch {
    move |source| DraftsMismatch::Tree { draft, source }
}

impl DraftsState {
    /// A new id.
    pub fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    pub fn draft(&self, draft: DraftId) -> Result<&Draft, DraftsMismatch> {
        let found = self.drafts.get(&draft);
        found.ok_or(DraftsMismatch::NoDraft(draft))
    }

    /// All contents that are referred to.
    pub fn kept_contents(&self) -> BTreeSet<ContentId> {
        self.drafts.values().flat_map(Draft::contents).collect()
    }

    /// After a kill the journal and the disk may disagree about a file that was being written: one that was never flushed has
    /// more bytes than its record, one that was written from the start anew has fewer. Its length is that of the disk, so that
    /// `stat`, reading and appending agree; it is not sent until it is written again.
    pub fn fit_to_disk(&mut self, len_on_disk: impl Fn(ContentId) -> Option<u64>) {
        for draft in self.drafts.values_mut() {
            for file in draft.tree.files_mut() {
                let Some(len) = len_on_disk(file.content) else {
                    continue;
                };
                if file.state == FileState::Flushed && len < file.size {
                    file.state = FileState::Unflushed;
                }
                // What is behind the length of a flush is cut off when the file is opened.
                if file.state != FileState::Flushed {
                    file.size = len;
                }
            }
        }
    }

    /// The draft of an asset, while its staged copy is kept.
    pub fn draft_of(&self, asset: AssetId) -> Option<DraftId> {
        let record = self.sent.get(&asset)?;
        let draft = self.drafts.get(&record.draft)?;
        (draft.accepted_asset() == Some(asset)).then_some(record.draft)
    }

    /// The asset that a draft became, also after its staged copy was deleted.
    pub fn asset_of(&self, draft: DraftId) -> Option<AssetId> {
        let present = self.drafts.get(&draft);
        let present = present.and_then(Draft::accepted_asset);
        let sent = || self.sent.values().find(|record| record.draft == draft);
        present.or_else(|| sent().map(|record| record.asset))
    }

    /// Computes the fields that a snapshot leaves out.
    pub fn index(&mut self) {
        let names = self.drafts.iter();
        self.top = names.map(|(id, draft)| (draft.name.clone(), *id)).collect();
    }

    fn add_draft(&mut self, id: DraftId, draft: Draft) -> Applied {
        if self.drafts.contains_key(&id) || self.top.contains_key(&draft.name) {
            return Err(DraftsMismatch::DuplicateDraft(id));
        }
        self.top.insert(draft.name.clone(), id);
        self.drafts.insert(id, draft);
        Ok(())
    }

    /// Removes a draft. Its unfinished asset is to be deleted.
    fn remove_draft(&mut self, id: DraftId) -> Applied {
        let draft = self.drafts.remove(&id).ok_or(DraftsMismatch::NoDraft(id))?;
        self.top.remove(&draft.name);
        self.give_up(draft.begun_asset());
        self.freed.extend(draft.contents());
        self.fates.push(ModelFate::DraftRemoved(id));
        Ok(())
    }

    /// Gives up the asset of an attempt: marks it for deletion, unless another machine started it.
    fn give_up(&mut self, begun: Option<(AssetId, AssetOrigin)>) {
        let Some((asset, origin)) = begun else {
            return;
        };
        match origin {
            AssetOrigin::Joined => {
                self.sent.remove(&asset);
                self.fates.push(ModelFate::AssetLeft(asset));
            }
            AssetOrigin::Own | AssetOrigin::Shared => self.drop_asset(asset),
        }
        if origin == AssetOrigin::Shared {
            self.shared_discards.insert(asset);
        }
    }

    /// Marks an asset for deletion.
    fn drop_asset(&mut self, asset: AssetId) {
        self.discards.insert(asset);
        self.shared_discards.remove(&asset);
        self.forget_asset(asset);
    }

    fn forget_asset(&mut self, asset: AssetId) {
        self.sent.remove(&asset);
        self.fates.push(ModelFate::AssetGone(asset));
    }

    fn no_discard(&mut self, asset: AssetId) {
        self.discards.remove(&asset);
        self.shared_discards.remove(&asset);
    }

    /// Removes another draft whose name a draft takes.
    fn clear_top(&mut self, name: &str, newcomer: DraftId) -> Applied {
        match self.top.get(name).copied() {
            Some(old) if old != newcomer => {
                let new = newcomer;
                self.fates.push(ModelFate::DraftReplaced { old, new });
                self.remove_draft(old)
            }
            _ => Ok(()),
        }
    }

    fn rename_draft(&mut self, id: DraftId, name: &str) -> Applied {
        self.clear_top(name, id)?;
        let draft = self.changed(id)?;
        // Under another name it is a model of its own.
        draft.replaces = None;
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

    fn draft_mut(&mut self, id: DraftId) -> Result<&mut Draft, DraftsMismatch> {
        self.drafts.get_mut(&id).ok_or(DraftsMismatch::NoDraft(id))
    }

    /// A draft whose content changes. Earlier commands and failures no longer apply.
    fn changed(&mut self, id: DraftId) -> Result<&mut Draft, DraftsMismatch> {
        let draft = self.draft_mut(id)?;
        draft.ordered = None;
        draft.failure = None;
        draft.warning = None;
        Ok(draft)
    }

    fn attempt_mut(
        &mut self,
        draft: DraftId,
        attempt: u64,
    ) -> Result<&mut Attempt, DraftsMismatch> {
        let present = self.draft_mut(draft)?.attempt.as_mut();
        present
            .filter(|present| present.number == attempt)
            .ok_or(DraftsMismatch::NoAttempt { draft, attempt })
    }

    fn used(&mut self, id: u64) {
        self.last_id = self.last_id.max(id);
    }
}

/// Updates the times of a folder in which something changed.
fn touch_folder(tree: &mut Tree, folder: EntryId, now: Moment) {
    if let Ok(node) = tree.node_mut(folder) {
        node.attributes.mtime = now;
        node.attributes.ctime = now;
    }
}
