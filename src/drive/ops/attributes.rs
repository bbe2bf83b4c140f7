//! What `stat` shows: true sizes, times that stand for content, owners of the mounter.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::drive::error::{DriveError, DriveResult};
use crate::drive::handles::{Body, OpenFile};
use crate::drive::places::{Lifetime, Node, file};
use crate::drive::shared::Shared;
use crate::drive::types::{Attributes, Entry, Fh, Ino};

/// What only this mount changes may be believed long.
const OWN_HOLDS: Duration = Duration::from_secs(60);

impl Shared {
    /// What is found: attributes, and how long they hold. Counts a reference.
    pub(in crate::drive) async fn entry(self: &Arc<Self>, node: &Node) -> DriveResult<Entry> {
        let mut attributes = node.attributes(self).await?;
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
            node.attributes(self).await,
        ) {
            // What was written through a handle is newer than what is kept.
            (Some(size), Ok(attributes)) => Ok(Attributes { size, ..attributes }),
            (None, Ok(attributes)) => Ok(attributes),
            (_, Err(DriveError::NotFound)) => self.removed_attributes(ino),
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
    fn removed_attributes(&self, ino: Ino) -> DriveResult<Attributes> {
        let open = self.handles.file_of(ino).ok_or(DriveError::NotFound)?;
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
            ..file(self, size, SystemTime::now())
        })
    }

    /// How long the kernel may believe a name and its attributes without asking.
    fn time_to_live(&self, node: &Node) -> Duration {
        match node.lifetime() {
            Lifetime::Own => OWN_HOLDS,
            Lifetime::Draft => OWN_HOLDS.min(self.config.refresh * 6),
            Lifetime::Listing => self.config.refresh,
            Lifetime::None => Duration::ZERO,
        }
    }
}
