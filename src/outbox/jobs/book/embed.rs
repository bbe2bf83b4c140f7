//! Requests for embeds, as the journal has them.
//!
//! An embed carries no tags, so a request whose answer was lost is found by what is new: an embed of
//! the same model and name that was not there before the request went out.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::outbox::moment::Moment;
use crate::outbox::staging::ContentHash;
use crate::wire::{EmbedId, ModelId};

/// One request to the service to make an embed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EmbedSubmission {
    /// Of what.
    pub of: ModelId,
    pub name: String,
    /// The checksum of the text.
    pub text_hash: ContentHash,
    /// Embeds of this model and name that were there before.
    #[serde(default)]
    pub before: BTreeSet<EmbedId>,
    pub at: Moment,
    #[serde(default)]
    pub stage: EmbedStage,
}

/// How far a request for an embed is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmbedStage {
    /// It went out, or was about to; nobody knows more.
    #[default]
    Sent,
    /// The embed is there.
    Made { embed: EmbedId },
    /// It was looked for and not found; nobody will ever know by itself.
    Unknown,
}
