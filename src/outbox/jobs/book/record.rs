//! What the journal says about drop folders, record by record. Fields may be added with a default, never
//! renamed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::outbox::ids::OwnerFolder;
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
    TextKept { job: JobKey, text: Blob, at: Moment },
    /// A file was renamed; one at the target is gone.
    Renamed {
        job: JobKey,
        /// Its new name.
        to: String,
    },
    /// A file was removed.
    Removed { job: JobKey },
    /// A file is to go out.
    Wanted {
        job: JobKey,
        /// Even if its text was sent before.
        again: bool,
    },
    /// A file was refused before it was sent.
    Held {
        job: JobKey,
        /// Why, as a sentence.
        reason: String,
    },
    /// A file takes part in a submission that was made before.
    Joined { job: JobKey, tag: String },
    /// A request is about to go out.
    Sent {
        /// The file it comes from.
        job: JobKey,
        asset: AssetId,
        /// The one-off tag.
        tag: String,
        /// The checksum of the text.
        text_hash: ContentHash,
        at: Moment,
    },
    /// The assets that the paths in a file's text stand for.
    PathsFound {
        job: JobKey,
        /// The owner of each path.
        paths: BTreeMap<String, OwnerFolder>,
    },
    /// A request for several assets is about to go out.
    ManySent {
        /// The file it comes from.
        job: JobKey,
        /// The tag of the request, which no rapid model carries.
        group: String,
        /// The one-off tag and the asset of each item.
        items: Vec<(String, AssetId)>,
        /// The checksum of the text.
        text_hash: ContentHash,
        at: Moment,
    },
    /// A request for an embed is about to go out.
    EmbedSent {
        /// The file it comes from.
        job: JobKey,
        /// The tag of the request, which no embed carries.
        tag: String,
        /// What is known before it goes out.
        embed: EmbedSubmission,
    },
    /// The embed is there.
    EmbedMade { tag: String, embed: EmbedId },
    /// A rapid model is gone, and its drop folder with it.
    RapidGone { rapid: RapidId },
    /// The service has it.
    Taken { tag: String, rapid: RapidId },
    /// It did not go out, for sure, and may go out again.
    NotSent {
        tag: String,
        /// It was to be sent even though its text was sent before.
        #[serde(default)]
        again: bool,
    },
    /// The service refused it.
    Refused { tag: String, reason: String },
    /// It was looked for and not found.
    Lost { tag: String },
    /// The one-off tag is gone from the rapid model.
    TagRemoved { tag: String },
    /// The service is done with it.
    Ended {
        tag: String,
        /// Why it failed, if it did.
        #[serde(default)]
        failure: Option<String>,
    },
}

impl Journaled for JobRecord {
    const KIND: &'static str = "job";
}
