//! The records of drafts in the journal. Fields may be added with a default, but never renamed.

use serde::{Deserialize, Serialize};

use crate::outbox::drafts::draft::AssetOrigin;
use crate::outbox::drafts::info::DraftKind;
use crate::outbox::drafts::info::Replaced;
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
        draft: DraftId,
        /// Its name in `rawmodels/`.
        name: String,
        kind: DraftKind,
        /// Attributes of its folder.
        attributes: Attributes,
        /// A command of this program makes it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        by_command: bool,
    },
    /// A draft was removed with everything in it.
    Removed { draft: DraftId },
    /// A file was made, empty.
    FileMade {
        draft: DraftId,
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
    /// A write into a file failed, or its bytes could not be recorded.
    WriteFailed {
        draft: DraftId,
        entry: EntryId,
        /// Its length since then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<u64>,
    },
    /// Something was renamed or moved; a replaced target is removed.
    Moved {
        /// The draft it was in.
        draft: DraftId,
        /// The root for the whole draft.
        entry: EntryId,
        /// The new position.
        to: Target,
        ctime: Moment,
        /// The asset that it is a new version of, if it was a whole draft.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replaces: Option<Replaced>,
    },
    /// The draft is a new version of an asset.
    Replaces { draft: DraftId, replaced: Replaced },
    /// A file or an empty folder was removed.
    EntryRemoved {
        draft: DraftId,
        /// The removed entry.
        entry: EntryId,
        at: Moment,
    },
    /// Attributes were set.
    AttributesSet {
        draft: DraftId,
        entry: EntryId,
        /// All attributes, changed or not.
        attributes: Attributes,
    },
    /// An extended attribute was set or, without a value, removed.
    XattrSet {
        draft: DraftId,
        entry: EntryId,
        name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<Blob>,
    },
}

/// The target of a move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// `rawmodels/`: it is a draft.
    Top {
        /// The draft's own id if a draft was renamed.
        draft: DraftId,
        name: String,
    },
    In {
        draft: DraftId,
        parent: EntryId,
        name: String,
        /// A new id if it was a draft's folder, else its own.
        entry: EntryId,
    },
}

/// A step of an upload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UploadRecord {
    /// A command ordered the upload.
    Ordered {
        draft: DraftId,
        /// Even if it is incomplete.
        force: bool,
    },
    /// The start request is about to be sent.
    StartSent {
        draft: DraftId,
        /// The number of this attempt, unique over all uploads.
        attempt: u64,
        at: Moment,
        manifest: Manifest,
        /// The token of its idempotency key: that of the requests before it that were not answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// A warning for the user.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        warning: Option<String>,
    },
    /// The service certainly did not start it.
    StartRefused { draft: DraftId, attempt: u64 },
    /// The service has an asset for it.
    Started {
        draft: DraftId,
        attempt: u64,
        asset: AssetId,
        /// The encrypted upload URLs of its objects, as JSON.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        urls: Option<String>,
        /// Who started it.
        #[serde(default, skip_serializing_if = "AssetOrigin::is_own")]
        origin: AssetOrigin,
    },
    /// A file is on the service.
    FilePut {
        draft: DraftId,
        attempt: u64,
        /// The index of the object in the manifest.
        file: usize,
    },
    /// The completion request is about to be sent.
    CompleteSent { draft: DraftId, attempt: u64 },
    /// The service certainly refused the completion: the draft can change again.
    CompleteRefused { draft: DraftId, attempt: u64 },
    /// The service has accepted the upload.
    Accepted { draft: DraftId, attempt: u64 },
    /// An attempt was given up; its asset is to be deleted, unless another machine started it.
    AttemptDropped { draft: DraftId, attempt: u64 },
    /// An unwanted asset is gone from the service, or stays because another machine has joined it.
    Discarded { asset: AssetId },
    /// The upload stopped until the user acts.
    Failed {
        draft: DraftId,
        /// Why, as a sentence.
        reason: String,
    },
    /// The upload or the import is retried.
    Retried { draft: DraftId },
    /// The service has imported the model.
    Imported { draft: DraftId },
    /// The service could not import the model.
    ImportFailed { draft: DraftId, reason: String },
    /// The service has what was sent: the staged copy can be deleted.
    Verified { draft: DraftId },
    /// An asset has the tags that say what it was made of, or the service takes none.
    Noted { asset: AssetId },
    /// A file that was sent was copied in again with the same bytes, and has this time there.
    CopiedAgain {
        asset: AssetId,
        entry: EntryId,
        mtime: Moment,
    },
    /// A DELETE request for an asset is about to be sent, whether the asset was made here or elsewhere.
    DeletionSent { asset: AssetId },
    /// The asset was not deleted, and the caller got an error.
    DeletionRefused { asset: AssetId },
    /// An asset is gone from the service.
    AssetGone { asset: AssetId },
    /// A start request without a reply is no longer searched for.
    StartForgotten {
        /// The attempt whose reply was lost.
        attempt: u64,
    },
}
