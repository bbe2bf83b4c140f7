//! `stat`: sizes, times, owners, and how long the kernel may cache them.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::drive::error::{DriveError, DriveResult};
use crate::drive::files::handles::{Body, OpenFile};
use crate::drive::mount::Mount;
use crate::drive::places::{Lifetime, Node, file, folder, removed_entry};
use crate::drive::posix::{Attributes, Entry, Fh, FileKind, Ino};
use crate::outbox::StagedFile;

/// How long the kernel may use a name and its attributes without asking again. The kernel is never notified of a change:
/// a notification waits for the lock of the folder, which a program may hold until the drive answers it. If the drive is
/// killed then, neither ends. So a name expires before a person or a script can notice that it is old, but consecutive
/// calls of one program share an answer.
pub const NAME_TTL: Duration = Duration::from_millis(10);

/// Returns when the kernel has forgotten each name that it knows now, with a margin for the clock ticks that it counts in: a
/// program that looks then finds what was renamed or removed before.
pub async fn until_names_expire() {
    tokio::time::sleep(NAME_TTL * 2).await;
}

/// The attributes of a node with their cache time. Counts one kernel reference.
pub async fn entry(mount: &Arc<Mount>, node: &Node) -> DriveResult<Entry> {
    let mut attributes = node.attributes(mount).await?;
    attributes.ino = mount.inodes().refer(node);
    if let Some(size) = mount.handles().unsaved_size(attributes.ino) {
        attributes.size = size;
    }
    Ok(Entry {
        attributes,
        ttl: time_to_live(node),
    })
}

pub async fn getattr(mount: &Arc<Mount>, ino: Ino, fh: Option<Fh>) -> DriveResult<Entry> {
    let node = mount.node(ino)?;
    let open = fh.and_then(|fh| mount.handles().file(fh).ok());
    // For `fstat` the kernel names no handle, not even that of the writer.
    let size_of_writer = || mount.handles().unsaved_size(ino);
    let open_size = open.as_deref().and_then(open_size).or_else(size_of_writer);
    let found = match (open_size, node.attributes(mount).await) {
        // The size of an open handle is newer than the stored one.
        (Some(size), Ok(attributes)) => Ok(Attributes { size, ..attributes }),
        (None, Ok(attributes)) => Ok(attributes),
        (_, Err(DriveError::NotFound)) => match removed_attributes(mount, ino, &node) {
            Some(attributes) => Ok(attributes),
            None if node.kind() == Some(FileKind::File) => Err(DriveError::FileGone),
            // A folder may be the working directory of a program, whose path the kernel cannot look up again.
            None => Err(DriveError::NotFound),
        },
        (_, Err(error)) => Err(error),
    };
    let attributes = Attributes { ino, ..found? };
    Ok(Entry {
        attributes,
        ttl: time_to_live(&node),
    })
}

fn open_size(open: &OpenFile) -> Option<u64> {
    match &open.body {
        Body::Staged(staged) => Some(staged.size()),
        Body::Text(text) => Some(text.len()),
        Body::Spool(spool) => Some(spool.len()),
        Body::Remote(_)
        | Body::Member(_)
        | Body::Snapshot(_)
        | Body::Control(_)
        | Body::Events(_)
        | Body::Again(_) => None,
        Body::Overwrite(of, _) => of.file().map(StagedFile::size),
    }
}

/// Attributes of a file or folder that was removed while it is open. The kernel does not say which handle it asks for.
fn removed_attributes(mount: &Mount, ino: Ino, node: &Node) -> Option<Attributes> {
    let removed = |attributes| Attributes {
        nlink: 0,
        ..attributes
    };
    if let Some(of_draft) = removed_entry(mount, node) {
        return Some(removed(of_draft));
    }
    if mount.handles().has_folder(ino) {
        return Some(removed(folder(mount, SystemTime::now())));
    }
    let open = mount.handles().file_of(ino)?;
    let size = match &open.body {
        Body::Staged(staged) => staged.size(),
        Body::Text(text) => text.len(),
        Body::Snapshot(bytes) => bytes.len() as u64,
        Body::Remote(remote) => remote.size(),
        Body::Member(member) => member.size(),
        Body::Spool(spool) => spool.len(),
        Body::Overwrite(of, _) => of.file().map_or(0, StagedFile::size),
        Body::Control(_) | Body::Events(_) | Body::Again(_) => 0,
    };
    Some(removed(file(mount, size, SystemTime::now())))
}

/// How long the kernel may cache a name and its attributes.
pub(super) fn time_to_live(node: &Node) -> Duration {
    match node.lifetime() {
        Lifetime::Brief => NAME_TTL,
        Lifetime::None => Duration::ZERO,
    }
}
