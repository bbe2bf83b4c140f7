//! What the journal's records say, as JSON. A record names things by id, says what became true, and
//! is understood by every later version: fields may be added with a default, never renamed.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::outbox::draft::tree::Attributes;
use crate::outbox::jobs::book::JobRecord;
use crate::outbox::moment::Moment;
use crate::outbox::presets::book::PresetRecord;
use crate::outbox::staging::{ContentHash, ContentId};
use crate::outbox::state::State;
use crate::outbox::types::{DraftId, DraftKind, EntryId};
use crate::outbox::upload::manifest::Manifest;
use crate::wire::AssetId;

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
        /// Folder or loose file.
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
        /// The draft.
        draft: DraftId,
        /// Its number.
        entry: EntryId,
        /// The folder it is in.
        parent: EntryId,
        /// Its name.
        name: String,
        /// Its staged bytes.
        content: ContentId,
        /// Its attributes.
        attributes: Attributes,
    },
    /// A folder was made.
    FolderMade {
        /// The draft.
        draft: DraftId,
        /// Its number.
        entry: EntryId,
        /// The folder it is in.
        parent: EntryId,
        /// Its name.
        name: String,
        /// Its attributes.
        attributes: Attributes,
    },
    /// A file's bytes are durable.
    Flushed {
        /// The draft.
        draft: DraftId,
        /// The file.
        entry: EntryId,
        /// Its length.
        size: u64,
        /// The checksum of its bytes.
        hash: ContentHash,
        /// Its modification time.
        mtime: Moment,
    },
    /// A write into a file failed.
    WriteFailed {
        /// The draft.
        draft: DraftId,
        /// The file.
        entry: EntryId,
    },
    /// Something was renamed or moved; what stood at the target is gone.
    Moved {
        /// The draft it was in.
        draft: DraftId,
        /// What was moved; the root for the whole draft.
        entry: EntryId,
        /// Where it is now.
        to: Target,
        /// When.
        ctime: Moment,
    },
    /// A file or an empty folder was removed.
    EntryRemoved {
        /// The draft.
        draft: DraftId,
        /// What was removed.
        entry: EntryId,
        /// When.
        at: Moment,
    },
    /// Attributes were set.
    AttributesSet {
        /// The draft.
        draft: DraftId,
        /// Whose.
        entry: EntryId,
        /// All of them as they are now.
        attributes: Attributes,
    },
    /// An extended attribute was set or, without a value, removed.
    XattrSet {
        /// The draft.
        draft: DraftId,
        /// Whose.
        entry: EntryId,
        /// Its name.
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
        /// Its name.
        name: String,
    },
    /// A folder of a draft.
    In {
        /// The draft.
        draft: DraftId,
        /// The folder.
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
        /// The draft.
        draft: DraftId,
        /// Even if it is not whole.
        force: bool,
    },
    /// The service is about to be asked for URLs.
    StartSent {
        /// The draft.
        draft: DraftId,
        /// The number of this attempt, of all uploads.
        attempt: u64,
        /// When.
        at: Moment,
        /// What is sent.
        manifest: Manifest,
        /// What its owner should know.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        warning: Option<String>,
    },
    /// The service did not start it, for sure.
    StartRefused {
        /// The draft.
        draft: DraftId,
        /// The attempt.
        attempt: u64,
    },
    /// The service gave an asset.
    Started {
        /// The draft.
        draft: DraftId,
        /// The attempt.
        attempt: u64,
        /// The asset.
        asset: AssetId,
        /// Where its objects go, as JSON under a seal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        urls: Option<String>,
    },
    /// A file is on the service.
    FilePut {
        /// The draft.
        draft: DraftId,
        /// The attempt.
        attempt: u64,
        /// The file's place in the manifest.
        file: usize,
    },
    /// The service is about to be told that everything is there.
    CompleteSent {
        /// The draft.
        draft: DraftId,
        /// The attempt.
        attempt: u64,
    },
    /// The service did not take the completion, for sure: the draft can change again.
    CompleteRefused {
        /// The draft.
        draft: DraftId,
        /// The attempt.
        attempt: u64,
    },
    /// The service has accepted the upload.
    Accepted {
        /// The draft.
        draft: DraftId,
        /// The attempt.
        attempt: u64,
    },
    /// An attempt is given up; what the service has of it is to be deleted.
    AttemptDropped {
        /// The draft.
        draft: DraftId,
        /// The attempt.
        attempt: u64,
    },
    /// An asset that nobody wants is gone from the service.
    Discarded {
        /// The asset.
        asset: AssetId,
    },
    /// The upload cannot go on by itself.
    Failed {
        /// The draft.
        draft: DraftId,
        /// Why, as a sentence.
        reason: String,
    },
    /// The failure is taken back: it is tried again.
    Retried {
        /// The draft.
        draft: DraftId,
    },
    /// The service has imported the model.
    Imported {
        /// The draft.
        draft: DraftId,
    },
    /// The service could not import the model.
    ImportFailed {
        /// The draft.
        draft: DraftId,
        /// Why.
        reason: String,
    },
    /// What the service has was compared with what was sent: the staged copy may go.
    Verified {
        /// The draft.
        draft: DraftId,
    },
    /// A DELETE request for an asset is about to be sent, whether the asset was made here or elsewhere.
    DeletionSent {
        /// The asset.
        asset: AssetId,
    },
    /// The asset was not deleted, and its owner was told so.
    DeletionRefused {
        /// The asset.
        asset: AssetId,
    },
    /// An asset is gone from the service.
    AssetGone {
        /// The asset.
        asset: AssetId,
    },
    /// An orphan of a lost start was dealt with.
    StartForgotten {
        /// The attempt whose reply was lost.
        attempt: u64,
    },
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

/// Bytes, written as text where they are UTF-8 and as base64 else.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Blob(pub Vec<u8>);

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum BlobForm {
    Text(String),
    Base64(String),
}

impl Serialize for Blob {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use base64::Engine as _;
        let form = match String::from_utf8(self.0.clone()) {
            Ok(text) => BlobForm::Text(text),
            Err(_) => BlobForm::Base64(base64::engine::general_purpose::STANDARD.encode(&self.0)),
        };
        form.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Blob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Blob, D::Error> {
        use base64::Engine as _;
        match BlobForm::deserialize(deserializer)? {
            BlobForm::Text(text) => Ok(Blob(text.into_bytes())),
            BlobForm::Base64(text) => base64::engine::general_purpose::STANDARD
                .decode(text)
                .map(Blob)
                .map_err(serde::de::Error::custom),
        }
    }
}

/// For maps whose keys are no text: written as a list of pairs.
pub mod as_pairs {
    use std::collections::BTreeMap;

    use super::*;

    /// Writes a map as a list of pairs.
    pub fn serialize<K, V, S>(map: &BTreeMap<K, V>, serializer: S) -> Result<S::Ok, S::Error>
    where
        K: Serialize,
        V: Serialize,
        S: Serializer,
    {
        serializer.collect_seq(map)
    }

    /// Reads a map that was written as a list of pairs.
    pub fn deserialize<'de, K, V, D>(deserializer: D) -> Result<BTreeMap<K, V>, D::Error>
    where
        K: Deserialize<'de> + Ord,
        V: Deserialize<'de>,
        D: Deserializer<'de>,
    {
        Vec::<(K, V)>::deserialize(deserializer).map(|pairs| pairs.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_any_kind_survive() {
        for bytes in [b"plain".to_vec(), vec![0xFF, 0, 0xC3], Vec::new()] {
            let text = serde_json::to_string(&Blob(bytes.clone())).unwrap();
            assert_eq!(serde_json::from_str::<Blob>(&text).unwrap().0, bytes);
        }
    }
}
