//! One draft as the journal records it: its tree, and the attempt to send it.

use std::collections::BTreeSet;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::outbox::drafts::info::{DraftKind, Replaced};
use crate::outbox::drafts::sent::{SentEntry, SentRecord};
use crate::outbox::drafts::tree::Tree;
use crate::outbox::drafts::upload::manifest::Manifest;
use crate::outbox::ids::{DraftId, EntryId};
use crate::outbox::moment::Moment;
use crate::outbox::names;
use crate::outbox::staging::ContentId;
use crate::wire::AssetId;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    /// Its name in `rawmodels/`.
    pub name: String,
    pub kind: DraftKind,
    /// A command of this program made it, such as `sync`: its only file may be a loose file outside of the drive.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_command: bool,
    /// When it was made.
    pub created: Moment,
    pub tree: Tree,
    /// A command ordered its upload; `Some(true)` with `--force`.
    #[serde(default)]
    pub ordered: Option<bool>,
    #[serde(default)]
    pub attempt: Option<Attempt>,
    /// Why the upload stopped until the user acts, or why the import failed.
    #[serde(default)]
    pub failure: Option<String>,
    /// A warning for the user.
    #[serde(default)]
    pub warning: Option<String>,
    /// The asset whose name it takes when its import is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<Replaced>,
    /// The asset that it has replaced, which is deleted once the service is known to have this one's files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outdated: Option<AssetId>,
}

/// A start request whose outcome is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenStart {
    /// The requested name of the asset.
    pub model_name: String,
    pub at: Moment,
    /// The idempotency key of the request. A later start of the draft uses it again, until the service has answered one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<StartKey>,
}

/// By which a service that knows idempotency keys finds that a start request repeats another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartKey {
    pub draft: DraftId,
    /// Random, so that drafts of the account on other machines have other tokens.
    pub token: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// Its number, unique over all drafts.
    pub number: u64,
    pub manifest: Manifest,
    pub stage: Stage,
    /// The objects that were sent.
    #[serde(default)]
    pub put: BTreeSet<usize>,
    /// The encrypted upload URLs of its objects, as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub urls: Option<String>,
    /// Who started its asset.
    #[serde(default, skip_serializing_if = "AssetOrigin::is_own")]
    pub origin: AssetOrigin,
}

impl Attempt {
    /// Its bytes, until the upload is complete.
    pub fn bytes_under_way(&self) -> u64 {
        match self.stage.asset().is_none() || matches!(self.stage, Stage::Started { .. }) {
            true => self.manifest.total_size(),
            false => 0,
        }
    }
}

/// Who started the asset of an attempt, which decides what is done with it when the attempt is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AssetOrigin {
    /// This machine, on a service on which nobody joins: it is deleted.
    #[default]
    Own,
    /// This machine, and others may join: the service deletes it unless one has.
    Shared,
    /// Another machine: it is never deleted by this one.
    Joined,
}

impl AssetOrigin {
    /// From the reply to a start.
    pub fn of(joined: Option<bool>) -> AssetOrigin {
        match joined {
            None => AssetOrigin::Own,
            Some(false) => AssetOrigin::Shared,
            Some(true) => AssetOrigin::Joined,
        }
    }

    /// For the journal.
    pub fn is_own(&self) -> bool {
        *self == AssetOrigin::Own
    }
}

/// The stage of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The start request is in flight.
    StartSent,
    /// The service created the asset.
    Started { asset: AssetId },
    /// The completion request is in flight.
    CompleteSent { asset: AssetId },
    /// The service has accepted it.
    Accepted { asset: AssetId },
    /// The service has imported it.
    Imported { asset: AssetId },
    /// The service could not import it.
    ImportFailed { asset: AssetId },
}

impl Stage {
    /// The asset, once the service has created it.
    pub fn asset(&self) -> Option<AssetId> {
        match self {
            Stage::StartSent => None,
            Stage::Started { asset }
            | Stage::CompleteSent { asset }
            | Stage::Accepted { asset }
            | Stage::Imported { asset }
            | Stage::ImportFailed { asset } => Some(*asset),
        }
    }

    /// True once the service may have accepted it: the draft cannot change any more.
    pub fn is_frozen(&self) -> bool {
        !matches!(self, Stage::StartSent | Stage::Started { .. })
    }

    /// True once the service is known to have accepted it.
    pub fn is_accepted(&self) -> bool {
        matches!(
            self,
            Stage::Accepted { .. } | Stage::Imported { .. } | Stage::ImportFailed { .. }
        )
    }
}

impl Draft {
    /// The name in `rawmodels/` of a loose file; `None` for a folder.
    pub fn loose_name(&self) -> Option<String> {
        (self.kind == DraftKind::LooseFile).then(|| self.name.clone())
    }

    /// The modification time of the file, if the draft is a loose file.
    pub fn loose_mtime(&self) -> Option<SystemTime> {
        let file = self.tree.child(EntryId::ROOT, &self.loose_name()?)?;
        Some(self.tree.node(file)?.attributes.mtime.into())
    }

    /// The file that is found in `rawmodels/` beside the folder that a command has made: its only file, if it has the name of
    /// the model, as in [`SentRecord::loose_file`]. A new version is sent by a command alone, and has none.
    pub fn file_beside(&self) -> Option<(&str, EntryId)> {
        let is_first = self.by_command && self.replaces.is_none();
        let children = self.tree.root().folder()?;
        let mut children = children.iter().filter(|_| is_first);
        let (Some((name, entry)), None) = (children.next(), children.next()) else {
            return None;
        };
        let is_file = self.tree.node(*entry)?.file().is_some();
        let is_named = names::model_of_only_file(name) == Some(self.model_name());
        (is_file && is_named).then_some((name.as_str(), *entry))
    }

    /// The name of the asset that it becomes.
    pub fn model_name(&self) -> &str {
        match (&self.replaces, self.kind) {
            (Some(replaced), _) => &replaced.model_name,
            (None, DraftKind::Folder) => &self.name,
            (None, DraftKind::LooseFile) => names::stem(&self.name),
        }
    }

    /// The asset of its present attempt, with its origin.
    pub fn begun_asset(&self) -> Option<(AssetId, AssetOrigin)> {
        let attempt = self.attempt.as_ref()?;
        Some((attempt.stage.asset()?, attempt.origin))
    }

    /// The stage of its present attempt.
    pub fn stage(&self) -> Option<Stage> {
        self.attempt.as_ref().map(|attempt| attempt.stage)
    }

    /// True once it cannot change any more.
    pub fn is_frozen(&self) -> bool {
        self.stage().is_some_and(|stage| stage.is_frozen())
    }

    /// The asset it became, once the service has accepted it.
    pub fn accepted_asset(&self) -> Option<AssetId> {
        self.stage().filter(Stage::is_accepted)?.asset()
    }

    /// The contents of all its files.
    pub fn contents(&self) -> Vec<ContentId> {
        self.tree.files().map(|file| file.content).collect()
    }

    /// Bytes of all its files at their last flush.
    pub fn size(&self) -> u64 {
        self.tree.files().map(|file| file.size).sum()
    }

    /// Its entries, with the names of those that are sent.
    pub fn sent_entries(&self, manifest: &Manifest) -> Vec<SentEntry> {
        let sent: BTreeSet<EntryId> = manifest.files.iter().map(|file| file.entry).collect();
        let walked = self.tree.walk().into_iter();
        walked
            .map(|(path, entry, node)| SentEntry {
                id: entry,
                kind: node.kind(),
                size: node.file().map_or(0, |file| file.size),
                mode: node.attributes.mode,
                uid: node.attributes.uid,
                gid: node.attributes.gid,
                mtime: node.attributes.mtime.into(),
                hash: node.file().and_then(|file| Some(file.hash?.to_string())),
                sent_as: sent.contains(&entry).then(|| path.clone()),
                path,
            })
            .collect()
    }

    /// The tree as a record of what was sent.
    pub fn sent_record(&self, id: DraftId, asset: AssetId, manifest: &Manifest) -> SentRecord {
        let root = self.tree.root();
        SentRecord {
            asset,
            draft: id,
            name: self.name.clone(),
            taken_name: None,
            replaces: None,
            first_version: None,
            is_noted: false,
            kind: self.kind,
            by_command: self.by_command,
            zip_name: manifest.zip_name.clone(),
            created: self.created.into(),
            mode: root.attributes.mode,
            mtime: root.attributes.mtime.into(),
            entries: self.sent_entries(manifest),
        }
    }
}
