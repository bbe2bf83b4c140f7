//! Copying again what was copied in before, as far as it is a rename: a loose file that takes the place of
//! the one that was sent under its new name.

use crate::drive::error::{DriveError, DriveResult};
use crate::drive::mount::Mount;
use crate::drive::places::{DraftEntry, Node, Place as _, refusals};
use crate::drive::tree::Tree;
use crate::outbox::{DraftId, EntryId, SentEntry};

/// True for a draft that is an asset, or of which the service may have accepted the upload.
pub(in crate::drive) fn is_frozen(tree: &Tree, draft: DraftId) -> bool {
    tree.catalog.asset_of_draft(draft).is_some() || tree.outbox.uploads().is_frozen(draft)
}

/// A loose file takes the place of the one that was sent under its new name: that is nothing when
/// they are the same, and refused otherwise.
pub(in crate::drive) fn replace_sent_loose_file(
    mount: &Mount,
    source: &Node,
    (standing, sent): (DraftEntry, SentEntry),
) -> DriveResult<()> {
    let Some((draft, entry)) = source.draft_entry().filter(|(_, it)| *it != EntryId::ROOT) else {
        return Err(DriveError::NotAFolder);
    };
    let flushed = mount.outbox.entries().flushed_content(draft, entry);
    if flushed.is_none_or(|(size, hash)| (size, Some(hash)) != (sent.size, sent.hash)) {
        return Err(refusals::frozen_asset(&standing.path(mount)));
    }
    mount.outbox.drafts().remove(draft)?;
    mount.inodes.relocate(source, standing.into());
    Ok(())
}
