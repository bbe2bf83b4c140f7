//! Opening files. Opening alone never fetches content.

use std::sync::Arc;

use super::control::ControlBuffer;
use super::lookup::text;
use super::text::TextBuffer;
use crate::drive::ahead::opened_ahead;
use crate::drive::catalog::{
    file_map, keep_len, open_member, open_member_at, remote_file, source_zip, source_zip_name,
    zip_in,
};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::handles::{Body, OpenFile};
use crate::drive::ops::again::is_frozen;
use crate::drive::ops::attributes::entry;
use crate::drive::ops::create::create_new;
use crate::drive::ops::remove::{bring_back, removed_file};
use crate::drive::parts::Tree;
use crate::drive::places::{Contents, DraftEntry, Node, TextTarget, child, refusals, same_bytes};
use crate::drive::posix::{Caller, Ino, OpenFlags, Opened, OpenedMode};
use crate::drive::reading::{RemoteFile, Spool};
use crate::drive::values::node::{Home, RemoteFolder};
use crate::outbox::{OpenMode, StagedFile};

/// Opens a file that exists.
pub(in crate::drive) async fn open_file(
    tree: &Arc<Tree>,
    ino: Ino,
    flags: OpenFlags,
    caller: &Caller,
) -> DriveResult<Opened> {
    let node = tree.node(ino)?;
    open_node(tree, node, flags, caller).await
}

pub(in crate::drive) async fn open_node(
    tree: &Arc<Tree>,
    node: Node,
    flags: OpenFlags,
    caller: &Caller,
) -> DriveResult<Opened> {
    if flags.access.writes() || flags.truncate {
        check_writable(tree, &node, flags)?;
    }
    let (body, mode) = match node.contents(tree)? {
        Contents::Entry(draft, entry) => {
            let entry = DraftEntry { draft, entry };
            open_entry(tree, entry, flags, caller).await?
        }
        Contents::Remote(folder, path) => {
            let remote = remote_file(&tree.catalog, folder, &path).await?;
            opened_remote(tree, remote)
        }
        Contents::Member(asset, path) => {
            let member = open_member_at(&tree.catalog, asset, &path).await?;
            (Body::Member(Box::new(member)), OpenedMode::Kept)
        }
        Contents::SourceZip(home) => (
            Body::Spool(open_source_zip(tree, home).await?),
            OpenedMode::Direct,
        ),
        Contents::Control(parent) => (
            Body::Control(ControlBuffer::new(parent)),
            OpenedMode::Direct,
        ),
        Contents::Editable(target) => open_text(tree, &node, target, flags, caller).await?,
        Contents::Snapshot => {
            let text = node.text(tree).await?;
            (Body::Snapshot(text.bytes), OpenedMode::Direct)
        }
        Contents::Folder => return Err(DriveError::IsAFolder),
    };
    let ino = tree.inodes.number(&node);
    let fh = tree.handles.insert_file(OpenFile { ino, flags, body });
    Ok(Opened { fh, mode })
}

/// A text that goes out when it is closed begins as what it is now, or empty.
async fn open_text(
    tree: &Arc<Tree>,
    node: &Node,
    target: TextTarget,
    flags: OpenFlags,
    caller: &Caller,
) -> DriveResult<(Body, OpenedMode)> {
    let now = if flags.truncate {
        bytes::Bytes::new()
    } else {
        node.text(tree).await?.bytes
    };
    if !flags.access.writes() {
        return Ok((Body::Snapshot(now), OpenedMode::Direct));
    }
    let buffer = TextBuffer::new(target, &now, flags.truncate, caller);
    Ok((Body::Text(buffer), OpenedMode::Direct))
}

/// What was copied in is served from its staged copy while that is kept.
async fn open_entry(
    tree: &Arc<Tree>,
    of: DraftEntry,
    flags: OpenFlags,
    caller: &Caller,
) -> DriveResult<(Body, OpenedMode)> {
    let DraftEntry { draft, entry } = of;
    if flags.access.writes() && is_frozen(tree, draft) {
        let same = same_bytes(tree, of, flags);
        let home = || tree.catalog.home_path(Home::Made(draft));
        let same = same.ok_or_else(|| refusals::frozen_asset(&home()))?;
        return Ok((Body::Again(Box::new(same)), OpenedMode::Direct));
    }
    let mode = match (flags.access.writes(), flags.truncate) {
        (_, true) => OpenMode::Truncate,
        (true, false) => OpenMode::Write,
        (false, false) => OpenMode::Read,
    };
    match tree
        .outbox
        .open_staged(draft, entry, mode, &caller.for_outbox())
    {
        Ok(staged) => Ok((Body::Staged(staged), OpenedMode::Cached)),
        Err(error) if mode != OpenMode::Read => Err(error.into()),
        Err(error) => open_sent(tree, of).await.map_err(|gone| match gone {
            DriveError::NotFound => error.into(),
            other => other,
        }),
    }
}

async fn open_sent(tree: &Arc<Tree>, of: DraftEntry) -> DriveResult<(Body, OpenedMode)> {
    let asset = tree
        .catalog
        .asset_of_draft(of.draft)
        .ok_or(DriveError::NotFound)?;
    let sent = of.sent(tree).ok_or(DriveError::NotFound)?;
    if let Some(staged) = tree.outbox.open_sent(asset, &sent.path) {
        return Ok((Body::Staged(staged), OpenedMode::Kept));
    }
    let service_name = sent.sent_as.ok_or_else(|| {
        DriveError::NotPermitted(format!(
            "{} was never sent to the service, and its local copy was dropped when the asset was complete",
            sent.path
        ))
    })?;
    let folder = RemoteFolder::AssetFiles(asset);
    let map = file_map(&tree.catalog, folder).await?;
    let Some(path) = map.path_of(&service_name).cloned() else {
        if zip_in(&map).is_some() {
            let member = open_member(&tree.catalog, asset, &service_name).await?;
            return Ok((Body::Member(Box::new(member)), OpenedMode::Kept));
        }
        return Err(DriveError::Unreachable(format!(
            "the service does not list {service_name} among the files of the asset"
        )));
    };
    let remote = remote_file(&tree.catalog, folder, &path).await?;
    Ok(opened_remote(tree, remote))
}

/// A complete and verified file is lent to the kernel. One that is complete as a start found it
/// is verified meanwhile, for the next who opens it; one that is still filling keeps its pages.
fn opened_remote(tree: &Tree, remote: RemoteFile) -> (Body, OpenedMode) {
    let remote = Arc::new(remote);
    opened_ahead(tree, &remote);
    let mode = match remote.file() {
        Some(file) => OpenedMode::Passthrough(file),
        None => OpenedMode::Kept,
    };
    if matches!(mode, OpenedMode::Kept) && remote.is_complete() {
        let unverified = Arc::clone(&remote);
        tree.runtime.spawn_blocking(move || unverified.verify());
    }
    (Body::Remote(remote), mode)
}

/// Makes a file, or opens the one that is there.
pub(in crate::drive) async fn create(
    tree: &Arc<Tree>,
    parent: Ino,
    name: &std::ffi::OsStr,
    mode: u32,
    flags: OpenFlags,
    caller: &Caller,
) -> DriveResult<(crate::drive::posix::Entry, Opened)> {
    let folder = tree.node(parent)?;
    let name = text(name).map_err(|error| match error {
        DriveError::NotFound => {
            DriveError::Invalid("the name is not valid UTF-8, which the service needs".into())
        }
        other => other,
    })?;
    match child(tree, &folder, name).await {
        Ok(_) if flags.exclusive => Err(DriveError::Exists),
        Ok(node) => {
            let opened = open_node(tree, node.clone(), flags, caller).await?;
            Ok((entry(tree, &node).await?, opened))
        }
        Err(error) if error == DriveError::NotFound || error.leaves_the_tree_as_it_was() => {
            if let Some(node) = removed_file(tree, &folder, name) {
                let anew = OpenFlags {
                    truncate: true,
                    ..flags
                };
                let opened = open_node(tree, node.clone(), anew, caller).await?;
                bring_back(tree, &node);
                return Ok((entry(tree, &node).await?, opened));
            }
            let (node, opened) =
                create_new(tree, &folder, name, mode, flags, caller, error).await?;
            Ok((entry(tree, &node).await?, opened))
        }
        Err(error) => Err(error),
    }
}

/// Refuses to open for writing what cannot be written, with a sentence.
fn check_writable(tree: &Tree, node: &Node, flags: OpenFlags) -> DriveResult<()> {
    if tree.config.read_only && !is_control(tree, node) {
        return Err(refusals::read_only_mount());
    }
    node.check_writable(tree, flags)
}

/// Begins to receive all files of an asset as one zip.
async fn open_source_zip(tree: &Arc<Tree>, home: Home) -> DriveResult<Spool> {
    let download = source_zip(&tree.catalog, home).await?;
    let (shared, name) = (Arc::downgrade(tree), source_zip_name(&tree.catalog, home));
    Spool::begin(
        &tree.runtime,
        &tree.config.staging_dir,
        download,
        move |len| {
            if let (Some(shared), Some(name)) = (shared.upgrade(), name) {
                keep_len(&shared.catalog, &name, len);
            }
        },
    )
}

/// The staged file behind a handle.
pub(in crate::drive) fn staged(open: &OpenFile) -> Option<&StagedFile> {
    match &open.body {
        Body::Staged(staged) => Some(staged),
        _ => None,
    }
}

/// True for a file that takes commands: some concern the mount alone, so they are taken always.
pub(in crate::drive) fn is_control(tree: &Tree, node: &Node) -> bool {
    matches!(node.contents(tree), Ok(Contents::Control(_)))
}
