//! What the journal says about drafts, record by record. Fields may be added with a default, never renamed.

use serde::{Deserialize, Serialize};

use crate::outbox::drafts::info::DraftKind;
use crate::outbox::drafts::tree::Attributes;
use crate::outbox::drafts::upload::manifest::Manifest;
use crate::outbox::ids::{DraftId, EntryId};
use crate::outbox::journal::forms::Blob;
use crate::outbox::moment::Moment;
use crate::outbox::staging::{ContentHash, ContentId};
use crate::wire::AssetId;

/// A change inside a draft.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DraftRecord {
    /// A draft was made.
    Made {
        /// Its number.
        draft: DraftId,
        /// Its name at the top.
        name: String,
        kind: DraftKind,
        /// Attributes of its folder.
        attributes: Attributes,
    },
    /// A draft was removed with everything in it.
    Removed {
        /// Its number.
        draft: DraftId,
    },
    /// A file was made, empty.
    FileMade {
        draft: DraftId,
        /// Its number.
        entry: EntryId,
        /// The folder it is in.
        parent: EntryId,
        name: String,
        /// Its staged bytes.
        content: ContentId,
        attributes: Attributes,
    },
    /// A folder was made.
    FolderMade {
        draft: DraftId,
        /// Its number.
        entry: EntryId,
        /// The folder it is in.
        parent: EntryId,
        name: String,
        attributes: Attributes,
    },
    /// A file's bytes are durable.
    Flushed {
        draft: DraftId,
        entry: EntryId,
        size: u64,
        /// The checksum of its bytes.
        hash: ContentHash,
        mtime: Moment,
    },
    /// A write into a file failed.
    WriteFailed { draft: DraftId, entry: EntryId },
    /// Something was renamed or moved; what stood at the target is gone.
    Moved {
        /// The draft it was in.
        draft: DraftId,
        /// What was moved; the root for the whole draft.
        entry: EntryId,
        /// Where it is now.
        to: Target,
        ctime: Moment,
    },
    /// A file or an empty folder was removed.
    EntryRemoved {
        draft: DraftId,
        /// What was removed.
        entry: EntryId,
        at: Moment,
    },
    /// Attributes were set.
    AttributesSet {
        draft: DraftId,
        /// Whose.
        entry: EntryId,
        /// All of them as they are now.
        attributes: Attributes,
    },
    /// An extended attribute was set or, without a value, removed.
    XattrSet {
        draft: DraftId,
        /// Whose.
        entry: EntryId,
        name: String,
        /// Its value.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<Blob>,
    },
}

/// Where something was moved to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// The top: it is a draft.
    Top {
        /// The draft's number; its present one when a draft was renamed.
        draft: DraftId,
        name: String,
    },
    /// A folder of a draft.
    In {
        draft: DraftId,
        parent: EntryId,
        /// Its name there.
        name: String,
        /// Its number there; its present one unless it was a draft's folder.
        entry: EntryId,
    },
}

/// A step of an upload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UploadRecord {
    /// Somebody asked for the draft to be sent.
    Ordered {
        draft: DraftId,
        /// Even if it is not whole.
        force: bool,
    },
    /// The start request is about to be sent.
    StartSent {
        draft: DraftId,
        /// The number of this attempt, of all uploads.
        attempt: u64,
        at: Moment,
        /// What is sent.
        manifest: Manifest,
        /// A warning for its owner.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        warning: Option<String>,
    },
    /// The service did not start it, for sure.
    StartRefused { draft: DraftId, attempt: u64 },
    /// The service gave an asset.
    Started {
        draft: DraftId,
        attempt: u64,
        asset: AssetId,
        /// Where its objects go, as JSON under a seal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        urls: Option<String>,
    },
    /// A file is on the service.
    FilePut {
        draft: DraftId,
        attempt: u64,
        /// The file's place in the manifest.
        file: usize,
    },
    /// The completion request is about to be sent.
    CompleteSent { draft: DraftId, attempt: u64 },
    /// The service did not take the completion, for sure: the draft can change again.
    CompleteRefused { draft: DraftId, attempt: u64 },
    /// The service has accepted the upload.
    Accepted { draft: DraftId, attempt: u64 },
    /// An attempt is given up; what the service has of it is to be deleted.
    AttemptDropped { draft: DraftId, attempt: u64 },
    /// An asset that nobody wants is gone from the service.
    Discarded { asset: AssetId },
    /// The upload cannot go on by itself.
    Failed {
        draft: DraftId,
        /// Why, as a sentence.
        reason: String,
    },
    /// The failure is taken back: it is tried again.
    Retried { draft: DraftId },
    /// The service has imported the model.
    Imported { draft: DraftId },
    /// The service could not import the model.
    ImportFailed { draft: DraftId, reason: String },
    /// What the service has was compared with what was sent: the staged copy may go.
    Verified { draft: DraftId },
    /// A DELETE request for an asset is about to be sent, whether the asset was made here or elsewhere.
    DeletionSent { asset: AssetId },
    /// The asset was not deleted, and the caller got an error.
    DeletionRefused { asset: AssetId },
    /// An asset is gone from the service.
    AssetGone { asset: AssetId },
    /// An orphan of a lost start was dealt with.
    StartForgotten {
        /// The attempt whose reply was lost.
        attempt: u64,
    },
}
