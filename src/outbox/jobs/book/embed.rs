//! Requests for embeds, as the journal records them.
//!
//! An embed has no tags. So the result of a request whose reply was lost is found by comparison: an embed of the same
//! model and name that did not exist before the request.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::outbox::moment::Moment;
use crate::outbox::staging::ContentHash;
use crate::wire::{EmbedId, ModelId};

/// One request to the service to make an embed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EmbedSubmission {
    /// The model that it shows.
    pub of: ModelId,
    pub name: String,
    /// The checksum of the text.
    pub text_hash: ContentHash,
    /// Embeds of this model and name that existed before.
    #[serde(default)]
    pub before: BTreeSet<EmbedId>,
    pub at: Moment,
    #[serde(default)]
    pub stage: EmbedStage,
}

/// The stage of a request for an embed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmbedStage {
    /// It was sent, or was about to be sent; the outcome is unknown.
    #[default]
    Sent,
    Made {
        embed: EmbedId,
    },
    /// The search for it ended without a result.
    Unknown,
}
