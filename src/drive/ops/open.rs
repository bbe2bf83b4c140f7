//! Opening files. Opening alone never fetches content.

use std::sync::{Arc, Weak};

use super::control::ControlBuffer;
use super::lookup::text;
use super::text::{TextBuffer, TextTarget};
use crate::cache::ObjectKey;
use crate::client::{Download, Priority};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::fresh::archives::zip_in;
use crate::drive::handles::{Body, OpenFile};
use crate::drive::places::{Contents, DraftEntry, Node, child, refusals};
use crate::drive::reading::{RemoteFile, SignedUrls, Spool, UrlFuture};
use crate::drive::shared::Shared;
use crate::drive::tree::node::{Home, RemoteFolder};
use crate::drive::tree::sizes::ContentTable;
use crate::drive::types::{Caller, Ino, OpenFlags, Opened, OpenedMode};
use crate::outbox::{OpenMode, StagedFile};
use crate::wire::ModelId;

impl Shared {
    /// Opens a file that exists.
    pub(in crate::drive) async fn open_file(
        self: &Arc<Self>,
        ino: Ino,
        flags: OpenFlags,
        caller: &Caller,
    ) -> DriveResult<Opened> {
        let node = self.node(ino)?;
        self.open_node(node, flags, caller).await
    }

    pub(in crate::drive) async fn open_node(
        self: &Arc<Self>,
        node: Node,
        flags: OpenFlags,
        caller: &Caller,
    ) -> DriveResult<Opened> {
        if flags.access.writes() || flags.truncate {
            self.check_writable(&node, flags)?;
        }
        let (body, mode) = match node.contents(self)? {
            Contents::Entry(draft, entry) => {
                let entry = DraftEntry { draft, entry };
                self.open_entry(entry, flags, caller).await?
            }
            Contents::Remote(folder, path) => {
                let remote = self.remote_file(folder, &path).await?;
                self.opened_remote(remote)
            }
            Contents::Member(asset, path) => {
                let member = self.open_member_at(asset, &path).await?;
                (Body::Member(Box::new(member)), OpenedMode::Kept)
            }
            Contents::SourceZip(home) => (
                Body::Spool(self.open_source_zip(home).await?),
                OpenedMode::Direct,
            ),
            Contents::Control(parent) => (
                Body::Control(ControlBuffer::new(parent)),
                OpenedMode::Direct,
            ),
            Contents::Editable(target) => self.open_text(&node, target, flags, caller).await?,
            Contents::Snapshot => {
                let text = node.text(self).await?;
                (Body::Snapshot(text.bytes), OpenedMode::Direct)
            }
            Contents::Folder => return Err(DriveError::IsAFolder),
        };
        let ino = self.inodes().number(&node);
        let fh = self.handles.insert_file(OpenFile { ino, flags, body });
        Ok(Opened { fh, mode })
    }

    /// A text that goes out when it is closed begins as what it is now, or empty.
    async fn open_text(
        self: &Arc<Self>,
        node: &Node,
        target: TextTarget,
        flags: OpenFlags,
        caller: &Caller,
    ) -> DriveResult<(Body, OpenedMode)> {
        let now = if flags.truncate {
            bytes::Bytes::new()
        } else {
            node.text(self).await?.bytes
        };
        if !flags.access.writes() {
            return Ok((Body::Snapshot(now), OpenedMode::Direct));
        }
        let buffer = TextBuffer::new(target, &now, flags.truncate, caller);
        Ok((Body::Text(buffer), OpenedMode::Direct))
    }

    /// What was copied in is served from its staged copy while that is kept.
    async fn open_entry(
        self: &Arc<Self>,
        of: DraftEntry,
        flags: OpenFlags,
        caller: &Caller,
    ) -> DriveResult<(Body, OpenedMode)> {
        let DraftEntry { draft, entry } = of;
        if flags.access.writes() && self.is_frozen(draft) {
            let same = self.same_bytes(of, flags);
            let home = || self.home_path(Home::Made(draft));
            let same = same.ok_or_else(|| refusals::frozen_asset(&home()))?;
            return Ok((Body::Again(Box::new(same)), OpenedMode::Direct));
        }
        let mode = match (flags.access.writes(), flags.truncate) {
            (_, true) => OpenMode::Truncate,
            (true, false) => OpenMode::Write,
            (false, false) => OpenMode::Read,
        };
        match self
            .outbox
            .open_staged(draft, entry, mode, &caller.for_outbox())
        {
            Ok(staged) => Ok((Body::Staged(staged), OpenedMode::Cached)),
            Err(error) if mode != OpenMode::Read => Err(error.into()),
            Err(error) => self.open_sent(of).await.map_err(|gone| match gone {
                DriveError::NotFound => error.into(),
                other => other,
            }),
        }
    }

    async fn open_sent(self: &Arc<Self>, of: DraftEntry) -> DriveResult<(Body, OpenedMode)> {
        let asset = self.asset_of_draft(of.draft).ok_or(DriveError::NotFound)?;
        let sent = of.sent(self).ok_or(DriveError::NotFound)?;
        if let Some(staged) = self.outbox.open_sent(asset, &sent.path) {
            return Ok((Body::Staged(staged), OpenedMode::Kept));
        }
        let service_name = sent.sent_as.ok_or_else(|| {
            DriveError::NotPermitted(format!(
                "{} was never sent to the service, and its local copy was dropped when the asset was complete",
                sent.path
            ))
        })?;
        let folder = RemoteFolder::AssetFiles(asset);
        let map = self.file_map(folder).await?;
        let Some(path) = map.path_of(&service_name).cloned() else {
            if zip_in(&map).is_some() {
                let member = self.open_member(asset, &service_name).await?;
                return Ok((Body::Member(Box::new(member)), OpenedMode::Kept));
            }
            return Err(DriveError::Unreachable(format!(
                "the service does not list {service_name} among the files of the asset"
            )));
        };
        let remote = self.remote_file(folder, &path).await?;
        Ok(self.opened_remote(remote))
    }

    /// A complete and verified file is lent to the kernel. One that is complete as a start found it
    /// is verified meanwhile, for the next who opens it; one that is still filling keeps its pages.
    fn opened_remote(&self, remote: RemoteFile) -> (Body, OpenedMode) {
        let remote = Arc::new(remote);
        self.opened_ahead(&remote);
        let mode = match remote.file() {
            Some(file) => OpenedMode::Passthrough(file),
            None => OpenedMode::Kept,
        };
        if matches!(mode, OpenedMode::Kept) && remote.is_complete() {
            let unverified = Arc::clone(&remote);
            self.runtime.spawn_blocking(move || unverified.verify());
        }
        (Body::Remote(remote), mode)
    }

    pub(in crate::drive) async fn remote_file(
        self: &Arc<Self>,
        folder: RemoteFolder,
        path: &Arc<str>,
    ) -> DriveResult<RemoteFile> {
        let content = self.content_of(folder, path).await?;
        let key = ObjectKey {
            name: ContentTable::object_name(folder, path),
            size: content.size,
            etag: content.etag,
        };
        let urls = FileUrls {
            shared: Arc::downgrade(self),
            folder,
            path: Arc::clone(path),
        };
        Ok(self.reading.open(&key, Arc::new(urls)))
    }

    /// Makes a file, or opens the one that is there.
    pub(in crate::drive) async fn create(
        self: &Arc<Self>,
        parent: Ino,
        name: &std::ffi::OsStr,
        mode: u32,
        flags: OpenFlags,
        caller: &Caller,
    ) -> DriveResult<(crate::drive::types::Entry, Opened)> {
        let folder = self.node(parent)?;
        let name = text(name).map_err(|error| match error {
            DriveError::NotFound => {
                DriveError::Invalid("the name is not valid UTF-8, which the service needs".into())
            }
            other => other,
        })?;
        match child(self, &folder, name).await {
            Ok(_) if flags.exclusive => Err(DriveError::Exists),
            Ok(node) => {
                let opened = self.open_node(node.clone(), flags, caller).await?;
                Ok((self.entry(&node).await?, opened))
            }
            Err(error) if error == DriveError::NotFound || error.leaves_the_tree_as_it_was() => {
                if let Some(node) = self.removed_file(&folder, name) {
                    let anew = OpenFlags {
                        truncate: true,
                        ..flags
                    };
                    let opened = self.open_node(node.clone(), anew, caller).await?;
                    self.bring_back(&node);
                    return Ok((self.entry(&node).await?, opened));
                }
                let (node, opened) = self
                    .create_new(&folder, name, mode, flags, caller, error)
                    .await?;
                Ok((self.entry(&node).await?, opened))
            }
            Err(error) => Err(error),
        }
    }

    /// Refuses to open for writing what cannot be written, with a sentence.
    fn check_writable(&self, node: &Node, flags: OpenFlags) -> DriveResult<()> {
        if self.config.read_only && !is_control(self, node) {
            return Err(refusals::read_only_mount());
        }
        node.check_writable(self, flags)
    }

    /// Begins to receive all files of an asset as one zip.
    async fn open_source_zip(self: &Arc<Self>, home: Home) -> DriveResult<Spool> {
        let download = self.source_zip(home).await?;
        let (shared, name) = (Arc::downgrade(self), self.source_zip_name(home));
        Spool::begin(
            &self.runtime,
            &self.config.staging_dir,
            download,
            move |len| {
                if let (Some(shared), Some(name)) = (shared.upgrade(), name) {
                    shared.keep_len(&name, len);
                }
            },
        )
    }

    async fn source_zip(&self, home: Home) -> DriveResult<Download> {
        let asset = self
            .asset_of(home)
            .ok_or_else(|| DriveError::Invalid("this is a draft yet; commit it first".into()))?;
        self.asked(self.client.asset_zip(asset, Priority::Interactive))
            .await
    }

    fn source_zip_name(&self, home: Home) -> Option<String> {
        let asset = self.asset_of(home)?;
        Some(format!("{}/source.zip", ModelId::Asset(asset)))
    }

    /// The length of that zip: known once it was read, or where the service tells it before; a draft
    /// has none.
    pub(in crate::drive) async fn source_zip_len(self: &Arc<Self>, home: Home) -> DriveResult<u64> {
        let Some(name) = self.source_zip_name(home) else {
            return Ok(0);
        };
        if let Some(len) = self.kept_len(&name) {
            return Ok(len);
        }
        let told = self.source_zip(home).await?.len;
        if let Some(len) = told {
            self.keep_len(&name, len);
        }
        Ok(told.unwrap_or(0))
    }

    /// The staged file behind a handle.
    pub(in crate::drive) fn staged(open: &OpenFile) -> Option<&StagedFile> {
        match &open.body {
            Body::Staged(staged) => Some(staged),
            _ => None,
        }
    }
}

/// True for a file that takes commands: some concern the mount alone, so they are taken always.
pub(in crate::drive) fn is_control(tree: &Shared, node: &Node) -> bool {
    matches!(node.contents(tree), Ok(Contents::Control(_)))
}

/// The URLs of one file, for whoever reads it.
struct FileUrls {
    /// Weak, because the drive holds the open files.
    shared: Weak<Shared>,
    folder: RemoteFolder,
    path: Arc<str>,
}

impl SignedUrls for FileUrls {
    fn url(&self, renew: bool) -> UrlFuture<'_> {
        Box::pin(async move {
            let shared = self.shared.upgrade();
            let shared = shared
                .ok_or_else(|| DriveError::Unreachable("the drive is shutting down".into()))?;
            shared.url_of(self.folder, &self.path, renew).await
        })
    }
}
