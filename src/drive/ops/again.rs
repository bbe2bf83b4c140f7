//! Writing to a loose file that was uploaded: the same bytes change nothing, other bytes are the next version of the
//! model.

use crate::drive::catalog::{newest_version, replaced_models};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::mount::Mount;
use crate::drive::ops::replace::replaced_by_next;
use crate::drive::places::{DraftEntry, Node, Place as _, refusals};
use crate::drive::tree::Tree;
use crate::outbox::{self, Caller, DraftId, DraftKind, EntryId, Renamed, Replaced};
use crate::wire::UploadStatus;

/// True for a draft that is an asset, or whose upload the service may have accepted.
pub fn is_frozen(tree: &Tree, draft: DraftId) -> bool {
    tree.catalog().asset_of_draft(draft).is_some() || tree.outbox().uploads().is_frozen(draft)
}

/// What became of a rename to the name of a file beside the folder of its model.
pub enum RenamedOver {
    /// Both have the same bytes: the new file is gone.
    Same,
    /// The new file is the next version, or takes the place of a file that can still change.
    Other(Renamed),
}

/// Renames a file to the name of one that is found beside the folder of its model.
pub fn rename_over_beside(
    mount: &Mount,
    (source, from): (&Node, &outbox::Place),
    name: &str,
    standing: DraftEntry,
    caller: &Caller,
) -> DriveResult<RenamedOver> {
    let Some((draft, entry)) = source.draft_entry().filter(|(_, it)| *it != EntryId::ROOT) else {
        return Err(DriveError::NotAFolder);
    };
    // Both names are of one file.
    if (draft, entry) == (standing.draft, standing.entry) {
        return Ok(RenamedOver::Same);
    }
    let flushed = mount.outbox().entries().flushed_len_and_hash(draft, entry);
    if flushed.is_some_and(|new| Some(new) == standing.len_and_hash(mount)) {
        take_time_over(mount, (draft, entry), standing);
        match from {
            outbox::Place::Top(_) => mount.outbox().drafts().remove(draft)?,
            // The other files of that draft stay.
            outbox::Place::In {
                draft,
                parent,
                name,
            } => mount
                .outbox()
                .entries()
                .remove_file(*draft, *parent, name, caller)?,
        }
        mount.inodes().relocate(source, standing.into());
        return Ok(RenamedOver::Same);
    }
    let drafts = mount.outbox().drafts();
    if let Some(renamed) = rename_over_changeable(mount, from, standing, caller)? {
        return Ok(RenamedOver::Other(renamed));
    }
    let replaced = replaced_by_file(mount, standing)?;
    // It may be marked as the new version already, with the wish to delete the old one.
    let marked = mount
        .outbox()
        .drafts()
        .get(draft)
        .and_then(|draft| draft.replaces);
    let replaced = marked
        .filter(|marked| marked.asset == replaced.asset)
        .unwrap_or(replaced);
    let renamed = drafts.rename_to_version(from, name, &replaced, caller)?;
    Ok(RenamedOver::Other(renamed))
}

/// Renames a file over one that can still change, or over one whose import failed: then the model of that is sent again. `None`
/// if it can do neither.
pub fn rename_over_changeable(
    mount: &Mount,
    from: &outbox::Place,
    standing: DraftEntry,
    caller: &Caller,
) -> DriveResult<Option<Renamed>> {
    let DraftEntry { draft, entry, .. } = standing;
    let uploads = mount.outbox().uploads();
    if is_frozen(mount, draft) && !uploads.reopen_failed_import(draft)? {
        return Ok(None);
    }
    let drafts = mount.outbox().drafts();
    let info = drafts.get(draft).ok_or(DriveError::NotFound)?;
    let to = match info.kind {
        DraftKind::LooseFile => outbox::Place::Top(info.name),
        DraftKind::Folder => {
            let file = mount.outbox().entries().get(draft, entry);
            let file = file.ok_or(DriveError::NotFound)?;
            outbox::Place::In {
                draft,
                parent: file.parent,
                name: file.name,
            }
        }
    };
    Ok(Some(drafts.rename(from, &to, false, caller)?))
}

/// Gives an uploaded file the modification time of a copy that has the same bytes.
pub fn take_time_over(mount: &Mount, (draft, entry): (DraftId, EntryId), standing: DraftEntry) {
    let asset = mount.catalog().asset_of_draft(standing.draft);
    let copy = mount.outbox().entries().get(draft, entry);
    if let (Some(asset), Some(copy)) = (asset, copy) {
        let uploads = mount.outbox().uploads();
        if let Err(error) = uploads.copied_again(asset, standing.entry, copy.mtime) {
            tracing::debug!(%asset, %error, "a file keeps its earlier time");
        }
    }
}

/// What the next version of an uploaded loose file replaces. Until the model is complete and the service has its files,
/// the name belongs to the staged copy, if that is no folder.
pub fn replaced_by_file(tree: &Tree, standing: DraftEntry) -> DriveResult<Replaced> {
    let asset = tree.catalog().asset_of_draft(standing.draft);
    let asset = asset.ok_or_else(|| refusals::frozen_asset(&standing.path(tree)))?;
    // Another machine may have replaced what was sent from here.
    let replaced = replaced_models(tree.catalog(), &tree.catalog().known());
    let asset = newest_version(&replaced, asset);
    let is_complete = tree
        .catalog()
        .asset(asset)
        .is_none_or(|known| known.state == UploadStatus::Complete);
    let staged = tree.outbox().drafts().get(standing.draft);
    if !is_complete || staged.is_some_and(|draft| draft.kind == DraftKind::LooseFile) {
        return Err(refusals::not_complete_yet(&standing.path(tree)));
    }
    replaced_by_next(tree, asset)
}
