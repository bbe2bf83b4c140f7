//! Copying a loose file a second time by a rename: the new copy gets the name of the uploaded one.

use crate::drive::error::{DriveError, DriveResult};
use crate::drive::mount::Mount;
use crate::drive::places::{DraftEntry, Node, Place as _, refusals};
use crate::drive::tree::Tree;
use crate::outbox::{DraftId, EntryId, SentEntry};

/// True for a draft that is an asset, or whose upload the service may have accepted.
pub(in crate::drive) fn is_frozen(tree: &Tree, draft: DraftId) -> bool {
    tree.catalog().asset_of_draft(draft).is_some() || tree.outbox().uploads().is_frozen(draft)
}

/// Renames a loose file to the name of an uploaded one: a success without effect if both are equal, refused
/// otherwise.
pub(in crate::drive) fn replace_sent_loose_file(
    mount: &Mount,
    source: &Node,
    (standing, sent): (DraftEntry, SentEntry),
) -> DriveResult<()> {
    let Some((draft, entry)) = source.draft_entry().filter(|(_, it)| *it != EntryId::ROOT) else {
        return Err(DriveError::NotAFolder);
    };
    let flushed = mount.outbox().entries().flushed_content(draft, entry);
    if flushed.is_none_or(|(size, hash)| (size, Some(hash)) != (sent.size, sent.hash)) {
        return Err(refusals::frozen_asset(&standing.path(mount)));
    }
    mount.outbox().drafts().remove(draft)?;
    mount.inodes().relocate(source, standing.into());
    Ok(())
}
