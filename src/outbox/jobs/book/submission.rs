//! A request for a rapid model, as the journal records it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::outbox::moment::Moment;
use crate::outbox::staging::ContentHash;
use crate::wire::{AssetId, RapidId};

/// One request to the service to make a rapid model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Submission {
    pub asset: AssetId,
    /// The checksum of the text.
    pub text_hash: ContentHash,
    pub at: Moment,
    pub stage: SubmissionStage,
    /// The one-off tag is still on the rapid model.
    pub tagged: bool,
    /// The tag that says which text a rapid model was made with (`notes`). Any rapid model with this tag counts as the
    /// result of this request, even if another machine requested it. `None` if the user wants to pay for the same text
    /// again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The tag of its request for several assets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Names (without extension) of texts of this machine that led to this result, and were removed, renamed or sent again
    /// since. The result still has them as tags, for other machines.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub former_names: BTreeSet<String>,
}

impl Submission {
    pub(super) fn sent(
        asset: AssetId,
        text_hash: ContentHash,
        at: Moment,
        note: Option<&String>,
        group: Option<&String>,
    ) -> Submission {
        Submission {
            asset,
            text_hash,
            at,
            stage: SubmissionStage::Sent,
            tagged: true,
            note: note.cloned(),
            group: group.cloned(),
            former_names: BTreeSet::new(),
        }
    }

    /// The same; with a key it has no one-off tag.
    pub(super) fn keyed(self, is_keyed: bool) -> Submission {
        let tagged = !is_keyed;
        Submission { tagged, ..self }
    }
}

/// The stage of a submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubmissionStage {
    /// Sent, or about to be sent; the answer is not known yet.
    Sent,
    /// The service works on it.
    Taken { rapid: RapidId },
    /// The rapid model is done.
    Done { rapid: RapidId },
    /// The service failed at it.
    Failed { rapid: RapidId, reason: String },
    /// Searched for and not found; the user has to decide.
    Unknown,
}

impl SubmissionStage {
    /// The rapid model, if it is known.
    pub fn rapid(&self) -> Option<RapidId> {
        match self {
            SubmissionStage::Taken { rapid }
            | SubmissionStage::Done { rapid }
            | SubmissionStage::Failed { rapid, .. } => Some(*rapid),
            SubmissionStage::Sent | SubmissionStage::Unknown => None,
        }
    }
}
