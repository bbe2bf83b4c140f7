//! Opening files. Opening alone never fetches content.

use std::sync::Arc;
use std::time::Instant;

use crate::drive::catalog::{
    file_map, keep_len, open_member, open_member_at, open_staged_member, remote_file, source_zip,
    source_zip_name, zip_in,
};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::events::EventReader;
use crate::drive::files::control::ControlBuffer;
use crate::drive::files::handles::{Body, OpenFile};
use crate::drive::files::recopy::same_bytes;
use crate::drive::files::text::TextBuffer;
use crate::drive::mount::Mount;
use crate::drive::ops::again::is_frozen;
use crate::drive::ops::attributes::entry;
use crate::drive::ops::create::create_new;
use crate::drive::ops::lookup::check_new_name;
use crate::drive::ops::overwrite::open_overwrite;
use crate::drive::ops::remove::{removed_file, unhide};
use crate::drive::places::{Contents, DraftEntry, Node, child, refusal_to_change, refusals};
use crate::drive::posix::{Access, Caller, Ino, OpenFlags, Opened, OpenedMode};
use crate::drive::reading::{RemoteFile, Spool};
use crate::drive::tree::Tree;
use crate::drive::values::local::TextTarget;
use crate::drive::values::node::{Home, RemoteFolder};
use crate::outbox::OpenMode;

/// Opens an existing file.
pub async fn open_file(
    mount: &Arc<Mount>,
    ino: Ino,
    flags: OpenFlags,
    caller: &Caller,
) -> DriveResult<Opened> {
    let node = mount.node(ino)?;
    match open_node(mount, node.clone(), flags, caller).await {
        Err(DriveError::NotFound | DriveError::ReadOnly(_)) if is_gone(mount, &node).await => {
            Err(DriveError::FileGone)
        }
        result => result,
    }
}

async fn is_gone(tree: &Arc<Tree>, node: &Node) -> bool {
    matches!(node.attributes(tree).await, Err(DriveError::NotFound))
}

pub async fn open_node(
    mount: &Arc<Mount>,
    node: Node,
    flags: OpenFlags,
    caller: &Caller,
) -> DriveResult<Opened> {
    if flags.access.writes() || flags.truncate {
        check_writable(mount, &node, flags)?;
    }
    let (body, mode) = match node.contents(mount)? {
        Contents::Entry(draft, entry) => {
            let of = DraftEntry::new(draft, entry);
            open_entry(mount, of, flags, caller).await?
        }
        Contents::Remote(folder, path) => {
            let remote = remote_file(mount.catalog(), folder, &path).await?;
            opened_remote(mount, remote)
        }
        Contents::Member(asset, path) => {
            let member = open_member_at(mount.catalog(), asset, &path).await?;
            (Body::Member(Box::new(member)), OpenedMode::Kept)
        }
        Contents::StagedMember(draft, path) => {
            let member = open_staged_member(mount.catalog(), draft, &path).await?;
            (Body::Member(Box::new(member)), OpenedMode::Kept)
        }
        Contents::SourceZip(home) => (
            Body::Spool(open_source_zip(mount, home).await?),
            OpenedMode::Direct,
        ),
        Contents::Control(parent) => (
            Body::Control(ControlBuffer::new(parent)),
            OpenedMode::Direct,
        ),
        Contents::Events => (
            Body::Events(EventReader::open(mount.events()).await),
            OpenedMode::Stream,
        ),
        Contents::Editable(target) => open_text(mount, &node, target, flags, caller).await?,
        Contents::Snapshot => {
            let text = node.text(mount).await?;
            (Body::Snapshot(text.bytes), OpenedMode::Direct)
        }
        Contents::Folder => return Err(DriveError::IsAFolder),
    };
    let ino = mount.inodes().number(&node);
    let fh = mount.handles().insert_file(OpenFile {
        ino,
        flags,
        body,
        opened_by: *caller,
        opened_at: Instant::now(),
    });
    Ok(Opened { fh, mode })
}

/// Opens a text that is sent at close, with its present contents or empty.
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

/// Opens a file that was copied in: from its staged copy while that is kept, else from the service.
async fn open_entry(
    mount: &Arc<Mount>,
    of: DraftEntry,
    flags: OpenFlags,
    caller: &Caller,
) -> DriveResult<(Body, OpenedMode)> {
    let DraftEntry { draft, entry, .. } = of;
    if flags.access.writes() && is_frozen(mount, draft) {
        if let Some(overwrite) = open_overwrite(mount, of, flags, caller).await? {
            let old = match flags.access == Access::ReadWrite && !flags.truncate {
                true => Some(Box::new(open_sent(mount, of).await?.0)),
                false => None,
            };
            let body = Body::Overwrite(Box::new(overwrite), old);
            return Ok((body, compared_mode(flags)));
        }
        let refusal = refusal_to_change(mount, draft);
        let same = same_bytes(mount, of, flags, refusal);
        let home = || mount.catalog().home_path(Home::Made(draft));
        let same = same.ok_or_else(|| refusal(&home()))?;
        return Ok((Body::Again(Box::new(same)), compared_mode(flags)));
    }
    let mode = match (flags.access.writes(), flags.truncate) {
        (_, true) => OpenMode::Truncate,
        (true, false) => OpenMode::Write,
        (false, false) => OpenMode::Read,
    };
    match mount
        .outbox()
        .entries()
        .open(draft, entry, mode, &caller.for_outbox())
    {
        Ok(staged) => Ok((Body::Staged(staged), staged_mode(flags))),
        Err(error) if mode != OpenMode::Read => Err(error.into()),
        Err(error) => open_sent(mount, of).await.map_err(|gone| match gone {
            DriveError::NotFound => error.into(),
            other => other,
        }),
    }
}

/// How the kernel opens an uploaded file for writing. A file that is not open for reading cannot be mapped.
fn compared_mode(flags: OpenFlags) -> OpenedMode {
    OpenedMode::Compared {
        may_map: flags.access == Access::ReadWrite,
    }
}

/// How the kernel opens a staged file.
pub(super) fn staged_mode(flags: OpenFlags) -> OpenedMode {
    match flags.access {
        Access::Write => OpenedMode::WriteOnly,
        Access::Read | Access::ReadWrite => OpenedMode::Cached,
    }
}

async fn open_sent(mount: &Arc<Mount>, of: DraftEntry) -> DriveResult<(Body, OpenedMode)> {
    let asset = mount
        .catalog()
        .asset_of_draft(of.draft)
        .ok_or(DriveError::NotFound)?;
    let sent = of.sent(mount).ok_or(DriveError::NotFound)?;
    if let Some(staged) = mount.outbox().uploads().open_sent(asset, &sent.path) {
        return Ok((Body::Staged(staged), OpenedMode::Kept));
    }
    let service_name = sent.sent_as.ok_or_else(|| {
        DriveError::NotPermitted(format!(
            "{} was never sent to the service, and its local copy was deleted when the model was complete; copy it in again in another model",
            sent.path
        ))
    })?;
    let folder = RemoteFolder::AssetFiles(asset);
    let map = file_map(mount.catalog(), folder).await?;
    let Some(path) = map.path_of(&service_name).cloned() else {
        if zip_in(&map).is_some() {
            let member = open_member(mount.catalog(), asset, &service_name).await?;
            return Ok((Body::Member(Box::new(member)), OpenedMode::Kept));
        }
        return Err(DriveError::Unreachable(format!(
            "the service does not list {service_name} among the files of the model"
        )));
    };
    let remote = remote_file(mount.catalog(), folder, &path).await?;
    Ok(opened_remote(mount, remote))
}

/// A file that is complete and verified in the cache is passed to the kernel (passthrough). A complete file
/// that is not verified since the start is verified in the background for the next open. A partial file keeps
/// its page cache.
fn opened_remote(mount: &Mount, remote: RemoteFile) -> (Body, OpenedMode) {
    let remote = Arc::new(remote);
    mount.ahead().opened(&remote);
    let mode = match remote.file() {
        Some(file) => OpenedMode::Passthrough(file),
        None => OpenedMode::Kept,
    };
    if matches!(mode, OpenedMode::Kept) && remote.is_complete() {
        let unverified = Arc::clone(&remote);
        mount.runtime().spawn_blocking(move || unverified.verify());
    }
    (Body::Remote(remote), mode)
}

/// Creates a file, or opens the existing one.
pub async fn create(
    mount: &Arc<Mount>,
    parent: Ino,
    name: &std::ffi::OsStr,
    mode: u32,
    flags: OpenFlags,
    caller: &Caller,
) -> DriveResult<(crate::drive::posix::Entry, Opened)> {
    let folder = mount.node(parent)?;
    let name = check_new_name(name)?;
    match child(mount, &folder, name).await {
        Ok(_) if flags.exclusive => Err(DriveError::Exists),
        Ok(node) => {
            let opened = open_node(mount, node.clone(), flags, caller).await?;
            Ok((entry(mount, &node).await?, opened))
        }
        Err(error) if error == DriveError::NotFound || error.may_still_exist() => {
            if let Some(node) = removed_file(mount, &folder, name) {
                let anew = OpenFlags {
                    truncate: true,
                    ..flags
                };
                let opened = open_node(mount, node.clone(), anew, caller).await?;
                unhide(mount, &node);
                return Ok((entry(mount, &node).await?, opened));
            }
            let (node, opened) =
                create_new(mount, &folder, name, mode, flags, caller, error).await?;
            Ok((entry(mount, &node).await?, opened))
        }
        Err(error) => Err(error),
    }
}

fn check_writable(tree: &Tree, node: &Node, flags: OpenFlags) -> DriveResult<()> {
    if tree.config().read_only && !is_control(tree, node) {
        return Err(refusals::read_only_mount());
    }
    node.check_writable(tree, flags)
}

/// Starts downloading all files of an asset as one zip.
async fn open_source_zip(tree: &Arc<Tree>, home: Home) -> DriveResult<Spool> {
    let download = source_zip(tree.catalog(), home).await?;
    let (shared, name) = (Arc::downgrade(tree), source_zip_name(tree.catalog(), home));
    Spool::begin(
        tree.runtime(),
        &tree.config().staging_dir,
        download,
        move |len| {
            if let (Some(shared), Some(name)) = (shared.upgrade(), name) {
                keep_len(shared.catalog(), &name, len);
            }
        },
    )
}

/// True for a `ctl` file. Some commands only affect the mount, so it is writable on a read-only mount.
pub fn is_control(tree: &Tree, node: &Node) -> bool {
    matches!(node.contents(tree), Ok(Contents::Control(_)))
}
