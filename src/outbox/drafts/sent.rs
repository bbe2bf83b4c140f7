//! The record of the files that an asset was made from.

use std::collections::BTreeSet;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::outbox::drafts::info::{DraftKind, EntryKind};
use crate::outbox::ids::{DraftId, EntryId};
use crate::outbox::names;
use crate::outbox::staging::ContentHash;
use crate::wire::AssetId;

/// One file or folder that was copied in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentEntry {
    /// Its id in the draft.
    pub id: EntryId,
    /// Its path from the draft's folder, with `/` between names.
    pub path: String,
    pub kind: EntryKind,
    pub size: u64,
    pub mode: u32,
    pub uid: Option<u32>,
    pub gid: Option<u32>,
    /// Modification time as it was set.
    #[serde(with = "crate::outbox::moment::as_moment")]
    pub mtime: SystemTime,
    /// Checksum of the staged bytes (XXH3, 128 bits, hex).
    pub hash: Option<String>,
    /// Its name on the service; `None` if it was not sent.
    pub sent_as: Option<String>,
}

/// Path, length and checksum of a file that is sent.
pub type SentFile = (String, u64, String);

/// The checksum over the names and contents of the files of a model, the same on every machine. Models with the same one
/// have the same files.
pub fn source_hash(files: &BTreeSet<SentFile>) -> ContentHash {
    let mut text = String::new();
    for (path, size, hash) in files {
        // No name has a zero in it.
        text.push_str(&format!("{path}\0{size}\0{hash}\0"));
    }
    ContentHash::of(text.as_bytes())
}

/// The tree that was copied in. Kept as long as the asset exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentRecord {
    pub asset: AssetId,
    pub draft: DraftId,
    /// The draft's name in `rawmodels/`; a loose file's with its extension.
    pub name: String,
    /// The name of its model's folder, if that was taken over from another version or given away to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_name: Option<String>,
    /// The asset whose name it took over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<AssetId>,
    /// The first version of that asset; see [`Replaced::first_version`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_version: Option<AssetId>,
    /// The asset has the tags that say what it was made of.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_noted: bool,
    pub kind: DraftKind,
    /// A command of this program made it, such as `sync`: its only file may be a loose file outside of the drive.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_command: bool,
    /// The name of the zip that it was sent as, if any.
    pub zip_name: Option<String>,
    /// When the draft was made.
    #[serde(with = "crate::outbox::moment::as_moment")]
    pub created: SystemTime,
    /// Permission bits of the draft's folder.
    pub mode: u32,
    /// Modification time of the draft's folder.
    #[serde(with = "crate::outbox::moment::as_moment")]
    pub mtime: SystemTime,
    /// All entries, folders before their contents.
    pub entries: Vec<SentEntry>,
}

impl SentRecord {
    /// The assets that it is a newer version of, as far as they are recorded.
    pub fn older(&self) -> impl Iterator<Item = AssetId> + use<> {
        self.replaces.into_iter().chain(self.first_version)
    }

    /// The file that is found in `rawmodels/` beside the folder of the model, with its name there: the loose file that was
    /// copied in, or the only file of what a command has made, if it has the name of the model.
    pub fn loose_file(&self) -> Option<(String, &SentEntry)> {
        let first = self.entries.first()?;
        if self.kind == DraftKind::LooseFile {
            return Some((self.name.clone(), first));
        }
        let is_only = self.entries.len() == 1 && first.sent_as.is_some();
        let stem = names::model_of_only_file(&first.path).filter(|_| self.by_command && is_only)?;
        let folder = self.folder_name()?;
        // An earlier version keeps its file, whose name has no id.
        let rest = folder.strip_prefix(stem)?;
        let is_named = rest.is_empty() || (rest.starts_with('~') && self.is_old_version());
        is_named.then(|| (names::with_stem(&first.path, folder), first))
    }

    /// The name of [`SentRecord::loose_file`].
    pub fn loose_name(&self) -> Option<String> {
        self.loose_file().map(|(name, _)| name)
    }

    /// The name that its model's folder keeps in `rawmodels/`, whatever the service calls it. `None` for a loose file,
    /// whose model has the name that the service gives it.
    pub fn folder_name(&self) -> Option<&str> {
        let own = (self.kind == DraftKind::Folder).then_some(self.name.as_str());
        self.taken_name.as_deref().or(own)
    }

    /// Paths, lengths and checksums of what was sent. `None` if a checksum is not known.
    pub fn contents(&self) -> Option<BTreeSet<SentFile>> {
        let sent = self.entries.iter();
        let sent = sent.filter(|entry| entry.sent_as.is_some());
        sent.map(|entry| Some((entry.path.clone(), entry.size, entry.hash.clone()?)))
            .collect()
    }

    /// The checksum of its files; see [`source_hash`].
    pub fn source_hash(&self) -> Option<ContentHash> {
        self.contents().as_ref().map(source_hash)
    }

    /// True once a newer version has taken its name.
    pub fn is_old_version(&self) -> bool {
        let id = format!("~{}", self.asset);
        self.taken_name
            .as_ref()
            .is_some_and(|name| name.ends_with(&id))
    }

    /// The zip that was the only file of the draft and was sent as it is.
    pub fn only_zip(&self) -> Option<&SentEntry> {
        let mut files = self.entries.iter().filter(|entry| entry.sent_as.is_some());
        let file = files.next().filter(|_| self.zip_name.is_none())?;
        let is_zip = file.path.to_ascii_lowercase().ends_with(".zip");
        (is_zip && files.next().is_none()).then_some(file)
    }
}
