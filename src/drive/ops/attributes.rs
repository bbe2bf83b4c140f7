//! What `stat` shows: true sizes, times that stand for content, owners of the mounter.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::content::Text;
use super::rows::entry_kind;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::fresh::blobs::Blob;
use crate::drive::handles::{Body, OpenFile};
use crate::drive::shared::Shared;
use crate::drive::tree::known::system_time;
use crate::drive::tree::node::{
    HiddenFile, Home, JobPart, Node, Place, RemoteFolder, Subject, Top,
};
use crate::drive::types::{Attributes, Entry, Fh, FileKind, Ino};
use crate::outbox::{DraftId, EntryId, EntryInfo, SentEntry};
use crate::wire::AssetId;

/// What only this mount changes may be believed long.
const OWN_HOLDS: Duration = Duration::from_secs(60);

impl Shared {
    /// What is found: attributes, and how long they hold. Counts a reference.
    pub(in crate::drive) async fn entry(self: &Arc<Self>, node: &Node) -> DriveResult<Entry> {
        let mut attributes = self.attributes(node).await?;
        attributes.ino = self.inodes().refer(node);
        Ok(Entry {
            attributes,
            ttl: self.time_to_live(node),
        })
    }

    /// What `stat` shows of a number.
    pub(in crate::drive) async fn getattr(
        self: &Arc<Self>,
        ino: Ino,
        fh: Option<Fh>,
    ) -> DriveResult<Entry> {
        let node = self.node(ino)?;
        let open = fh.and_then(|fh| self.handles.file(fh).ok());
        let found = match (
            open.as_deref().and_then(|open| self.open_size(open)),
            self.attributes(&node).await,
        ) {
            // What was written through a handle is newer than what is kept.
            (Some(size), Ok(attributes)) => Ok(Attributes { size, ..attributes }),
            (None, Ok(attributes)) => Ok(attributes),
            (_, Err(DriveError::NotFound)) => self.removed_attributes(&node),
            (_, Err(error)) => Err(error),
        };
        let attributes = Attributes { ino, ..found? };
        Ok(Entry {
            attributes,
            ttl: self.time_to_live(&node),
        })
    }

    fn open_size(&self, open: &OpenFile) -> Option<u64> {
        match &open.body {
            Body::Staged(staged) => Some(staged.size()),
            Body::Text(text) => Some(text.len()),
            Body::Spool(spool) => Some(spool.len()),
            Body::Remote(_)
            | Body::Member(_)
            | Body::Snapshot(_)
            | Body::Control(_)
            | Body::Again(_) => None,
        }
    }

    /// A file that was removed while it is open is still there for who has it open. The kernel does
    /// not tell which handle it asks for.
    fn removed_attributes(&self, node: &Node) -> DriveResult<Attributes> {
        let open = self.handles.file_of(node).ok_or(DriveError::NotFound)?;
        let size = match &open.body {
            Body::Staged(staged) => staged.size(),
            Body::Text(text) => text.len(),
            Body::Snapshot(bytes) => bytes.len() as u64,
            Body::Remote(remote) => remote.size(),
            Body::Member(member) => member.size(),
            Body::Spool(spool) => spool.len(),
            Body::Control(_) | Body::Again(_) => 0,
        };
        Ok(Attributes {
            nlink: 0,
            ..self.file(size, SystemTime::now())
        })
    }

    /// What `stat` shows of a thing; the number is left to the caller.
    pub(in crate::drive) async fn attributes(
        self: &Arc<Self>,
        node: &Node,
    ) -> DriveResult<Attributes> {
        match node {
            Node::Root => Ok(self.folder(self.opened)),
            Node::Top(top) => Ok(self.folder(self.changed(*top))),
            Node::ById(family) => Ok(self.folder(self.changed(family.top()))),
            Node::Hidden(_) | Node::Bundles(_) => Ok(self.folder(self.opened)),
            Node::Search(family) | Node::Found(family, _) => {
                Ok(self.folder(self.changed(family.top())))
            }
            Node::Model(home) => self.model_attributes(*home),
            Node::Entry(draft, entry) => self.entry_attributes(*draft, *entry),
            Node::Rapid(rapid) => {
                let row = self.known_rapid(*rapid).await?;
                Ok(self.folder(system_time(row.updated.or(row.created))))
            }
            Node::RemoteFolder(folder) | Node::RemoteSubfolder(folder, _) => {
                Ok(self.folder(self.created_with(*folder)))
            }
            Node::RapidLinks(asset) => Ok(self.folder(self.asset_created_at(*asset))),
            Node::Drop(folder) => Ok(self.folder(match folder.subject() {
                Some(subject) => self.created_at(subject),
                None => self.opened,
            })),
            Node::RemoteFile(folder, path, _) => {
                let content = self.content_of(*folder, path).await?;
                let modified = content
                    .modified
                    .unwrap_or_else(|| self.created_with(*folder));
                Ok(self.file(content.size, modified))
            }
            Node::Job(_, _, part) if self.is_ghost(node) => Ok(match part {
                JobPart::Result => self.link("", self.opened),
                JobPart::Text | JobPart::Status => self.file(0, self.opened),
            }),
            Node::Job(_, _, JobPart::Result)
            | Node::RapidLink(..)
            | Node::JobLink(_)
            | Node::ByIdLink(..)
            | Node::FoundLink(..)
            | Node::SourceLink(_) => {
                let target = self.link_target(node).await?;
                Ok(self.link(&target, self.opened))
            }
            Node::HiddenFile(Place::Model(home), HiddenFile::SourceZip) => {
                let len = self.source_zip_len(*home).await?;
                let asset = self.asset_of(*home);
                let created = asset.map_or(self.opened, |asset| self.asset_created_at(asset));
                Ok(self.file(len, created))
            }
            Node::HiddenFile(Place::Rapid(rapid), HiddenFile::PresetZip) => {
                let len = self.blob_len(&Blob::PresetOf(*rapid)).await?;
                Ok(self.file(len, self.created_at(Subject::Rapid(*rapid))))
            }
            Node::BundleFile(bundle, preset, text) => {
                let blob = Blob::Preset(*bundle, *preset, *text);
                let row = self.known().presets.row(preset.0).cloned();
                let updated = system_time(row.and_then(|row| row.updated));
                Ok(self.file(self.blob_len(&blob).await?, updated))
            }
            Node::HiddenFile(..)
            | Node::Job(..)
            | Node::ErrorText(_)
            | Node::Preset(..)
            | Node::PresetFile(_)
            | Node::FactoryPreset(..)
            | Node::Token(_)
            | Node::Webhook(_)
            | Node::Embed(_)
            | Node::EmbedRecord(_)
            | Node::Account(_) => {
                let Text { bytes, modified } = self.text_of(node).await?;
                Ok(self.file(bytes.len() as u64, modified))
            }
        }
    }

    fn model_attributes(&self, home: Home) -> DriveResult<Attributes> {
        let view = self.model(home).ok_or(DriveError::NotFound)?;
        if let (Home::Made(draft), Some(_)) = (home, &view.draft)
            && let Some(info) = self.outbox.entry(draft, EntryId::ROOT)
        {
            return Ok(self.staged_in(draft, &info));
        }
        if let Some(sent) = &view.sent {
            return Ok(deletable(Attributes {
                perm: permissions(sent.mode),
                ..self.folder(sent.mtime)
            }));
        }
        Ok(self.folder(system_time(view.known.and_then(|known| known.created))))
    }

    fn entry_attributes(&self, draft: DraftId, entry: EntryId) -> DriveResult<Attributes> {
        if let Some(info) = self.outbox.entry(draft, entry) {
            return Ok(self.staged_in(draft, &info));
        }
        let sent = self.sent_entry(draft, entry).ok_or(DriveError::NotFound)?;
        Ok(self.sent_attributes(&sent))
    }

    /// What is staged of a draft, or of the asset that it became.
    fn staged_in(&self, draft: DraftId, info: &EntryInfo) -> Attributes {
        let staged = self.staged_attributes(info);
        match self.asset_of_draft(draft) {
            Some(_) => deletable(staged),
            None => staged,
        }
    }

    fn staged_attributes(&self, info: &EntryInfo) -> Attributes {
        let plain = match entry_kind(info.kind) {
            FileKind::Folder => Attributes {
                nlink: 2 + info.subfolders,
                ..self.folder(info.mtime)
            },
            _ => self.file(info.size, info.mtime),
        };
        Attributes {
            perm: permissions(info.mode),
            uid: info.uid.unwrap_or(plain.uid),
            gid: info.gid.unwrap_or(plain.gid),
            ctime: info.ctime,
            ..plain
        }
    }

    fn sent_attributes(&self, sent: &SentEntry) -> Attributes {
        let plain = match entry_kind(sent.kind) {
            FileKind::Folder => self.folder(sent.mtime),
            _ => self.file(sent.size, sent.mtime),
        };
        deletable(Attributes {
            perm: permissions(sent.mode),
            uid: sent.uid.unwrap_or(plain.uid),
            gid: sent.gid.unwrap_or(plain.gid),
            ..plain
        })
    }

    fn folder(&self, modified: SystemTime) -> Attributes {
        Attributes {
            kind: FileKind::Folder,
            perm: 0o755,
            ..self.file(0, modified)
        }
    }

    fn link(&self, target: &str, modified: SystemTime) -> Attributes {
        Attributes {
            kind: FileKind::Link,
            perm: 0o777,
            ..self.file(target.len() as u64, modified)
        }
    }

    fn file(&self, size: u64, modified: SystemTime) -> Attributes {
        Attributes {
            ino: Ino(0),
            kind: FileKind::File,
            size,
            perm: 0o644,
            nlink: 1,
            uid: self.config.uid,
            gid: self.config.gid,
            mtime: modified,
            ctime: modified,
        }
    }

    fn changed(&self, top: Top) -> SystemTime {
        self.known()
            .changed
            .get(&top)
            .copied()
            .unwrap_or(self.opened)
    }

    /// When a model came to be: the time of what has none of its own.
    fn created_with(&self, folder: RemoteFolder) -> SystemTime {
        self.created_at(folder.subject())
    }

    fn created_at(&self, subject: Subject) -> SystemTime {
        match subject {
            Subject::Asset(asset) => self.asset_created_at(asset),
            Subject::Rapid(rapid) => {
                system_time(self.known().rapids.row(rapid.0).and_then(|row| row.created))
            }
        }
    }

    fn asset_created_at(&self, asset: AssetId) -> SystemTime {
        system_time(self.known().assets.row(asset.0).and_then(|row| row.created))
    }

    /// How long the kernel may believe a name and its attributes without asking.
    fn time_to_live(&self, node: &Node) -> Duration {
        match node {
            Node::Root
            | Node::Top(_)
            | Node::Hidden(_)
            | Node::ById(_)
            | Node::Search(_)
            | Node::Bundles(_) => OWN_HOLDS,
            // Nobody but this mount changes a draft.
            Node::Entry(..) => OWN_HOLDS.min(self.config.refresh * 6),
            Node::Model(_)
            | Node::Rapid(_)
            | Node::RemoteFolder(_)
            | Node::RemoteSubfolder(..)
            | Node::RemoteFile(..)
            | Node::Drop(_)
            | Node::RapidLinks(_)
            | Node::RapidLink(..)
            | Node::JobLink(_)
            | Node::Found(..)
            | Node::FoundLink(..)
            | Node::BundleFile(..)
            | Node::Embed(_)
            | Node::ByIdLink(..)
            | Node::SourceLink(_)
            | Node::FactoryPreset(..) => self.config.refresh,
            // Changes at any time, or is not there until something happens.
            Node::HiddenFile(..)
            | Node::Job(..)
            | Node::ErrorText(_)
            // Its text changes with each writing, and its length is believed by who copies it.
            | Node::Preset(..)
            | Node::PresetFile(_)
            | Node::Token(_)
            | Node::Webhook(_)
            | Node::EmbedRecord(_)
            | Node::Account(_) => Duration::ZERO,
        }
    }
}

/// A folder of an asset, which its owner may always look into and remove: nothing can be written there
/// anyway, and `rm -r` of a model that was copied from a read-only folder would fail.
fn deletable(attributes: Attributes) -> Attributes {
    match attributes.kind {
        FileKind::Folder => Attributes {
            perm: attributes.perm | 0o700,
            ..attributes
        },
        _ => attributes,
    }
}

fn permissions(mode: u32) -> u16 {
    // Twelve bits always fit.
    (mode & 0o7777) as u16
}
