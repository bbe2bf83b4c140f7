//! What the outbox knows that lasts: drafts, attempts to send them, what was sent, jobs, preset
//! texts. The state is what its journal says: every change is a record, and live changes and replay
//! go through [`State::apply`] alone.
//!
//! Holds no clocks, no handles and nothing of the service's answers that is not in the journal.

mod apply;
mod apply_draft;
mod apply_upload;
pub mod record;
#[cfg(test)]
mod tests;

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::outbox::drafts::info::DraftKind;
use crate::outbox::drafts::sent::{SentEntry, SentRecord};
use crate::outbox::drafts::tree::{Tree, TreeError};
use crate::outbox::drafts::upload::manifest::Manifest;
use crate::outbox::ids::{DraftId, EntryId};
use crate::outbox::jobs::book::{JobBook, JobBookError};
use crate::outbox::journal::forms::as_pairs;
use crate::outbox::moment::Moment;
use crate::outbox::presets::book::PresetBook;
use crate::outbox::staging::ContentId;
use crate::outbox::state::record::Record;
use crate::wire::AssetId;

/// All that lasts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct State {
    /// Drafts by number.
    #[serde(with = "as_pairs")]
    pub drafts: BTreeMap<DraftId, Draft>,
    /// The number of the draft of each name at the top.
    #[serde(skip)]
    pub top: HashMap<String, DraftId>,
    /// What was copied in, for every asset of ours that exists.
    #[serde(with = "as_pairs")]
    pub sent: BTreeMap<AssetId, Arc<SentRecord>>,
    /// Assets of ours that are to be deleted.
    pub discards: BTreeSet<AssetId>,
    /// Assets that somebody deletes, until the service has said that they are gone.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub deletions: BTreeSet<AssetId>,
    /// Starts without an outcome in the journal, by attempt.
    #[serde(with = "as_pairs")]
    pub open_starts: BTreeMap<u64, OpenStart>,
    /// The files of drop folders.
    pub jobs: JobBook,
    /// The texts of the presets folder.
    pub presets: PresetBook,
    /// The highest number given to a draft, an entry or an attempt.
    pub last_id: u64,
    /// The highest number of a content.
    pub last_content: u64,
    /// Contents that nothing refers to any more; whoever owns the disk takes and removes them.
    #[serde(skip)]
    pub freed: Vec<ContentId>,
}

/// A start whose outcome nobody knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenStart {
    /// The name that the asset was to have.
    pub model_name: String,
    /// When it was sent.
    pub at: Moment,
}

/// A draft.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    /// Its name at the top.
    pub name: String,
    /// Folder or loose file.
    pub kind: DraftKind,
    /// When it was made.
    pub created: Moment,
    /// What is in it.
    pub tree: Tree,
    /// Somebody asked for it to be sent; `Some(true)` even if it is not whole.
    #[serde(default)]
    pub ordered: Option<bool>,
    /// The present attempt to send it.
    #[serde(default)]
    pub attempt: Option<Attempt>,
    /// Why sending it cannot go on by itself, or why the import failed.
    #[serde(default)]
    pub failure: Option<String>,
    /// What its owner should know.
    #[serde(default)]
    pub warning: Option<String>,
}

/// One attempt to send a draft.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// Its number, of all attempts.
    pub number: u64,
    /// What is sent.
    pub manifest: Manifest,
    /// How far it is.
    pub stage: Stage,
    /// The objects that the service has.
    #[serde(default)]
    pub put: BTreeSet<usize>,
    /// Where its objects go, as JSON under a seal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub urls: Option<String>,
}

/// How far an attempt is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The service is asked to start it.
    StartSent,
    /// The service gave an asset.
    Started {
        /// The asset.
        asset: AssetId,
    },
    /// The service is told that all is there.
    CompleteSent {
        /// The asset.
        asset: AssetId,
    },
    /// The service has accepted it.
    Accepted {
        /// The asset.
        asset: AssetId,
    },
    /// The service has imported it.
    Imported {
        /// The asset.
        asset: AssetId,
    },
    /// The service could not import it.
    ImportFailed {
        /// The asset.
        asset: AssetId,
    },
}

impl Stage {
    /// The asset, as soon as there is one.
    pub fn asset(&self) -> Option<AssetId> {
        match self {
            Stage::StartSent => None,
            Stage::Started { asset }
            | Stage::CompleteSent { asset }
            | Stage::Accepted { asset }
            | Stage::Imported { asset }
            | Stage::ImportFailed { asset } => Some(*asset),
        }
    }

    /// True once the service may have accepted it: nothing can change any more.
    pub fn is_frozen(&self) -> bool {
        !matches!(self, Stage::StartSent | Stage::Started { .. })
    }

    /// True once the service is known to have accepted it.
    pub fn is_accepted(&self) -> bool {
        matches!(
            self,
            Stage::Accepted { .. } | Stage::Imported { .. } | Stage::ImportFailed { .. }
        )
    }
}

impl Draft {
    /// How far its present attempt is.
    pub fn stage(&self) -> Option<Stage> {
        self.attempt.as_ref().map(|attempt| attempt.stage)
    }

    /// True once nothing can change any more.
    pub fn is_frozen(&self) -> bool {
        self.stage().is_some_and(|stage| stage.is_frozen())
    }

    /// The asset it became, once the service has accepted it.
    pub fn accepted_asset(&self) -> Option<AssetId> {
        self.stage().filter(Stage::is_accepted)?.asset()
    }

    /// The contents of all its files.
    pub fn contents(&self) -> Vec<ContentId> {
        self.tree.files().map(|file| file.content).collect()
    }

    /// Bytes of all its files at their last flush.
    pub fn size(&self) -> u64 {
        self.tree.files().map(|file| file.size).sum()
    }

    /// What is sent of it, as it was copied in.
    pub fn sent_entries(&self, manifest: &Manifest) -> Vec<SentEntry> {
        let sent: BTreeSet<EntryId> = manifest.files.iter().map(|file| file.entry).collect();
        let walked = self.tree.walk().into_iter();
        walked
            .map(|(path, entry, node)| SentEntry {
                id: entry,
                kind: node.kind(),
                size: node.file().map_or(0, |file| file.size),
                mode: node.attributes.mode,
                uid: node.attributes.uid,
                gid: node.attributes.gid,
                mtime: node.attributes.mtime.into(),
                hash: node.file().and_then(|file| Some(file.hash?.to_string())),
                sent_as: sent.contains(&entry).then(|| path.clone()),
                path,
            })
            .collect()
    }

    /// The tree as a record of what was sent.
    fn sent_record(&self, id: DraftId, asset: AssetId, manifest: &Manifest) -> SentRecord {
        let root = self.tree.root();
        SentRecord {
            asset,
            draft: id,
            name: self.name.clone(),
            kind: self.kind,
            zip_name: manifest.zip_name.clone(),
            created: self.created.into(),
            mode: root.attributes.mode,
            mtime: root.attributes.mtime.into(),
            entries: self.sent_entries(manifest),
        }
    }
}

/// Why a record does not fit the state. Live changes are checked before they become records, so in
/// practice this means that a journal does not fit together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// There is no such draft.
    #[error("draft {0} is not there")]
    NoDraft(DraftId),
    /// The number or the name is in use.
    #[error("draft {0} or its name is there already")]
    DuplicateDraft(DraftId),
    /// The attempt is not the draft's present one.
    #[error("draft {draft} has no attempt {attempt}")]
    NoAttempt {
        /// The draft.
        draft: DraftId,
        /// The attempt.
        attempt: u64,
    },
    /// The draft's present attempt is elsewhere.
    #[error("draft {0} is not that far")]
    WrongStage(DraftId),
    /// The change does not fit the draft's tree.
    #[error("draft {draft}: {source}")]
    Tree {
        /// The draft.
        draft: DraftId,
        /// What does not fit.
        #[source]
        source: TreeError,
    },
    /// The change does not fit the drop folders.
    #[error(transparent)]
    Job(#[from] JobBookError),
}

impl State {
    /// The state after `records`.
    pub fn replay(
        records: impl IntoIterator<Item = impl Borrow<Record>>,
    ) -> Result<State, ApplyError> {
        let mut state = State::default();
        for record in records {
            state.apply(record.borrow())?;
        }
        Ok(state)
    }

    /// The state after those of `records` that fit; what does not fit is left out.
    pub fn replay_what_fits(records: &[Record]) -> State {
        let mut state = State::default();
        for record in records {
            // A record checks before it changes anything; what it may leave half done is one entry.
            let _ = state.apply(record);
        }
        state
    }

    /// A number that was never given before.
    pub fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// A draft.
    pub fn draft(&self, draft: DraftId) -> Result<&Draft, ApplyError> {
        self.drafts.get(&draft).ok_or(ApplyError::NoDraft(draft))
    }

    /// All contents that something refers to.
    pub fn kept_contents(&self) -> BTreeSet<ContentId> {
        self.drafts.values().flat_map(Draft::contents).collect()
    }

    /// The draft an asset was made from, while its staged copy is kept.
    pub fn draft_of(&self, asset: AssetId) -> Option<DraftId> {
        let record = self.sent.get(&asset)?;
        let draft = self.drafts.get(&record.draft)?;
        (draft.accepted_asset() == Some(asset)).then_some(record.draft)
    }
}
