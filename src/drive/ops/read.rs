//! Reading from an open file.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use crate::drive::catalog::refetch_changed_content;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::files::handles::Body;
use crate::drive::mount::Mount;
use crate::drive::ops::attributes::getattr;
use crate::drive::places::control_help;
use crate::drive::posix::{Access, Extent, Fh, Ino};
use crate::drive::reading::{ReadError, RemoteFile};
use crate::drive::tree::Tree;
use crate::drive::values::sizes::ContentTable;
use crate::outbox::StagedFile;

/// Reads; shorter than asked only at the end of the file.
pub async fn read(mount: &Arc<Mount>, fh: Fh, offset: u64, len: u32) -> DriveResult<Bytes> {
    let open = mount.handles().file(fh)?;
    if open.flags.access == Access::Write {
        return Err(DriveError::BadHandle);
    }
    if let Some(staged) = open.staged() {
        return read_staged(staged, offset, len);
    }
    let body = match &open.body {
        // It has not been emptied yet.
        Body::Overwrite(_, old) => old.as_deref().ok_or(DriveError::BadHandle)?,
        body => body,
    };
    read_body(mount, body, offset, len).await
}

async fn read_body(mount: &Arc<Mount>, body: &Body, offset: u64, len: u32) -> DriveResult<Bytes> {
    match body {
        Body::Staged(staged) => read_staged(staged, offset, len),
        Body::Remote(remote) if remote.begins() => {
            mount.ahead().read_began(remote);
            read_remote(mount, remote, offset, len).await
        }
        Body::Remote(remote) => read_remote(mount, remote, offset, len).await,
        // Write-only.
        Body::Again(_) | Body::Overwrite(..) => Err(DriveError::BadHandle),
        Body::Member(member) => Ok(member.read(offset, u64::from(len)).await?),
        Body::Spool(spool) => spool.read(offset, len).await,
        Body::Events(events) => Ok(events.read(len).await),
        Body::Snapshot(bytes) => Ok(part(bytes, offset, len)),
        Body::Text(text) => Ok(part(&text.bytes(), offset, len)),
        Body::Control(control) => Ok(part(
            &Bytes::from(control_help(control.parent())),
            offset,
            len,
        )),
    }
}

/// The first data or hole at or after an offset; `None` if there is none. Only the files of a draft have holes.
pub async fn seek(
    mount: &Arc<Mount>,
    ino: Ino,
    fh: Fh,
    offset: u64,
    what: Extent,
) -> DriveResult<Option<u64>> {
    let open = mount.handles().file(fh)?;
    if let Body::Staged(staged) = &open.body {
        return Ok(match what {
            Extent::Data => staged.next_data(offset)?,
            Extent::Hole => staged.next_hole(offset)?,
        });
    }
    let size = getattr(mount, ino, Some(fh)).await?.attributes.size;
    let found = match what {
        Extent::Data => offset,
        Extent::Hole => size,
    };
    Ok((offset < size).then_some(found))
}

async fn read_remote(
    tree: &Arc<Tree>,
    remote: &RemoteFile,
    offset: u64,
    len: u32,
) -> DriveResult<Bytes> {
    match remote.read(offset, u64::from(len)).await {
        Err(ReadError::Stale { name }) => {
            look_again(tree, remote);
            Err(ReadError::Stale { name }.into())
        }
        other => Ok(other?),
    }
}

/// The file changed on the service: asks for its new content in the background.
fn look_again(tree: &Arc<Tree>, remote: &RemoteFile) {
    if let Some((folder, path)) = ContentTable::place_of(&remote.key().name) {
        let shared = Arc::clone(tree);
        tree.background()
            .spawn(async move { refetch_changed_content(shared.catalog(), folder, &path).await });
    }
}

fn read_staged(staged: &StagedFile, offset: u64, len: u32) -> DriveResult<Bytes> {
    let mut buffer = BytesMut::zeroed(len as usize);
    let mut filled = 0;
    while filled < buffer.len() {
        match staged.read_at(&mut buffer[filled..], offset + filled as u64)? {
            0 => break,
            read => filled += read,
        }
    }
    buffer.truncate(filled);
    Ok(buffer.freeze())
}

/// The bytes of the range, cut at the end of the file.
fn part(bytes: &Bytes, offset: u64, len: u32) -> Bytes {
    let start = usize::try_from(offset)
        .unwrap_or(usize::MAX)
        .min(bytes.len());
    let end = start.saturating_add(len as usize).min(bytes.len());
    bytes.slice(start..end)
}
