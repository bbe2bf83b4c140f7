//! One record of the journal. A record names things by id, says what became true, and is understood by every later
//! version: fields may be added with a default, never renamed.

use serde::{Deserialize, Serialize};

use crate::outbox::drafts::record::{DraftRecord, UploadRecord};
use crate::outbox::jobs::book::JobRecord;
use crate::outbox::presets::book::PresetRecord;
use crate::outbox::state::State;

/// One change of the outbox's state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// Everything so far, in one.
    Snapshot(Box<State>),
    /// A change inside a draft.
    Draft(DraftRecord),
    /// A step of an upload.
    Upload(UploadRecord),
    /// A change of a drop folder.
    Job(JobRecord),
    /// A change of the presets folder.
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

impl From<PresetRecord> for Record {
    fn from(record: PresetRecord) -> Record {
        Record::Preset(record)
    }
}
