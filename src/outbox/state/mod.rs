//! The whole state of the outbox and its records, for opening, snapshots and tests. While the outbox runs, each
//! machine has its own part; see [`Machines`](super::machines::Machines).

#[cfg(test)]
mod tests;

use std::borrow::Borrow;

use serde::{Deserialize, Serialize};

use super::drafts::{
    DraftRecord, DraftsChange, DraftsMismatch, DraftsState, ModelFate, UploadRecord,
};
use super::jobs::{JobBook, JobBookError, JobRecord};
use super::journal::Journaled;
use super::presets::{PresetBook, PresetRecord};

/// The durable state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct State {
    #[serde(flatten)]
    pub drafts: DraftsState,
    /// The files of drop folders.
    pub jobs: JobBook,
    /// The texts of the presets folder.
    pub presets: PresetBook,
}

impl Journaled for State {
    const KIND: &'static str = "snapshot";
}

/// One record of the journal. A record refers to objects by id and states a fact. Every later version can read it:
/// fields may be added with a default, but never renamed. The machines write their own records in the same form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// A snapshot of the whole state.
    Snapshot(Box<State>),
    Draft(DraftRecord),
    Upload(UploadRecord),
    Job(JobRecord),
    Preset(PresetRecord),
}

impl From<DraftRecord> for Record {
    fn from(record: DraftRecord) -> Record {
        Record::Draft(record)
    }
}

impl From<UploadRecord> for Record {
    fn from(record: UploadRecord) -> Record {
        Record::Upload(record)
    }
}

impl From<JobRecord> for Record {
    fn from(record: JobRecord) -> Record {
        Record::Job(record)
    }
}

/// Why a record cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    #[error(transparent)]
    Drafts(#[from] DraftsMismatch),
    #[error(transparent)]
    Jobs(#[from] JobBookError),
}

/// Applies the fate of a draft or an asset to the jobs.
pub fn follow(jobs: &mut JobBook, fate: ModelFate) {
    match fate {
        ModelFate::Accepted { draft, asset } => jobs.draft_became(draft, asset),
        ModelFate::DraftRemoved(draft) => jobs.draft_gone(draft),
        ModelFate::DraftReplaced { old, new } => jobs.draft_replaced(old, new),
        ModelFate::VersionComplete { old, new } => jobs.version_complete(old, new),
        ModelFate::Reopened { draft, asset } => jobs.draft_reopened(draft, asset),
        ModelFate::AssetGone(asset) | ModelFate::AssetLeft(asset) => jobs.asset_gone(asset),
    }
}

impl State {
    /// The state after `records`.
    pub fn replay(
        records: impl IntoIterator<Item = impl Borrow<Record>>,
    ) -> Result<State, ReplayError> {
        let mut state = State::default();
        for record in records {
            state.apply(record.borrow())?;
        }
        Ok(state)
    }

    /// The state after `records`, without those that cannot be applied.
    pub fn replay_what_fits(records: &[Record]) -> State {
        let mut state = State::default();
        for record in records {
            // A record is checked before it changes anything, so an invalid one affects one entry at most.
            let _ = state.apply(record);
        }
        state
    }

    pub fn apply(&mut self, record: &Record) -> Result<(), ReplayError> {
        match record {
            Record::Snapshot(state) => {
                *self = (**state).clone();
                self.drafts.index();
                Ok(())
            }
            Record::Draft(record) => self.apply_to_drafts(record),
            Record::Upload(record) => self.apply_to_drafts(record),
            Record::Job(record) => Ok(self.jobs.apply(record)?),
            Record::Preset(record) => {
                self.presets.apply(record);
                Ok(())
            }
        }
    }

    fn apply_to_drafts(&mut self, record: &impl DraftsChange) -> Result<(), ReplayError> {
        let applied = record.apply_to(&mut self.drafts);
        for fate in std::mem::take(&mut self.drafts.fates) {
            follow(&mut self.jobs, fate);
        }
        Ok(applied?)
    }
}
