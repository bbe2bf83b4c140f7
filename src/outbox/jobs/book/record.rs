//! The records of drop folders in the journal. Fields may be added with a default, but never renamed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::outbox::ids::{Maker, OwnerFolder};
use crate::outbox::jobs::book::JobKey;
use crate::outbox::jobs::book::embed::EmbedSubmission;
use crate::outbox::journal::Journaled;
use crate::outbox::journal::forms::Blob;
use crate::outbox::moment::Moment;
use crate::outbox::staging::ContentHash;
use crate::wire::{AssetId, EmbedId, RapidId};

/// A change of the drop folders.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobRecord {
    /// A file's text was written.
    TextKept {
        job: JobKey,
        text: Blob,
        at: Moment,
        /// Who made the file, if it is new.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        maker: Option<Maker>,
    },
    /// A file was renamed; a replaced file is removed.
    Renamed {
        job: JobKey,
        to: String,
    },
    /// A file was removed.
    Removed {
        job: JobKey,
    },
    /// A file is to be sent.
    Wanted {
        job: JobKey,
        /// Also if its text was sent before.
        again: bool,
        /// See [`JobFile::after`](super::JobFile::after).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<RapidId>,
    },
    /// A file was refused before it was sent.
    Held {
        job: JobKey,
        /// Why, as a sentence.
        reason: String,
    },
    /// A file uses a submission that was made before.
    Joined {
        job: JobKey,
        tag: String,
    },
    /// Whether the result of a file's request carries its name.
    Named {
        job: JobKey,
        is_named: bool,
    },
    /// A request is about to be sent.
    Sent {
        /// Its file.
        job: JobKey,
        asset: AssetId,
        /// The one-off tag.
        tag: String,
        /// The checksum of the text.
        text_hash: ContentHash,
        at: Moment,
        /// See [`Submission::note`](super::Submission::note).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        /// The one-off tag is not sent, because the service knows the request by its idempotency key.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_keyed: bool,
    },
    /// The assets of the paths in a file's text.
    PathsFound {
        job: JobKey,
        /// The owner of each path.
        paths: BTreeMap<String, OwnerFolder>,
    },
    /// A request for several assets is about to be sent.
    ManySent {
        /// The job file.
        job: JobKey,
        /// The tag of the request, which is on no rapid model.
        group: String,
        /// The one-off tag and the asset of each item.
        items: Vec<(String, AssetId)>,
        /// The checksum of the text.
        text_hash: ContentHash,
        at: Moment,
        /// The note of each item, or none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
    },
    /// A request for an embed is about to be sent.
    EmbedSent {
        /// The job file.
        job: JobKey,
        /// The tag of the request, which is on no embed.
        tag: String,
        embed: EmbedSubmission,
    },
    EmbedMade {
        tag: String,
        embed: EmbedId,
    },
    /// A rapid model is gone: its drop folder is removed.
    RapidGone {
        rapid: RapidId,
    },
    /// The service has it.
    Taken {
        tag: String,
        rapid: RapidId,
    },
    /// It certainly had no effect, and may be sent again.
    NotSent {
        tag: String,
        /// It was to be sent although its text was sent before.
        #[serde(default)]
        again: bool,
    },
    Refused {
        tag: String,
        reason: String,
        /// The account has no room for the result.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        account_full: bool,
    },
    /// The search for it ended without a result.
    Lost {
        tag: String,
    },
    /// The one-off tag was removed from the rapid model.
    TagRemoved {
        tag: String,
    },
    /// The optimization has ended.
    Ended {
        tag: String,
        /// Why it failed; `None` if it succeeded.
        #[serde(default)]
        failure: Option<String>,
    },
}

impl Journaled for JobRecord {
    const KIND: &'static str = "job";

    fn adds_data(&self) -> bool {
        matches!(self, JobRecord::TextKept { .. })
    }
}
