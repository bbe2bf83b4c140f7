//! Entries of drafts after the upload, from the record of what was sent. The record lasts as long as the asset.

use super::attributes::{deletable, file, folder, permissions};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::posix::{Access, Attributes, OpenFlags};
use crate::drive::tree::Tree;
use crate::outbox::{DraftId, EntryId, EntryKind, SentEntry, is_service_folder};

/// True if writes to an uploaded entry can be compared with the uploaded bytes: the checksum is known, and the writer
/// writes from start to end without reading.
pub fn can_be_compared(sent: &SentEntry, flags: OpenFlags) -> bool {
    let reads = match flags.access {
        Access::Read => true,
        Access::Write => false,
        Access::ReadWrite => !flags.truncate,
    };
    sent.hash.is_some() && !reads && !flags.append
}

/// The entries of a folder that are still there, with their names.
pub(super) fn sent_children(
    tree: &Tree,
    draft: DraftId,
    folder: EntryId,
) -> DriveResult<Vec<(String, SentEntry)>> {
    let asset = tree
        .catalog()
        .asset_of_draft(draft)
        .ok_or(DriveError::NotFound)?;
    let record = tree
        .outbox()
        .uploads()
        .sent_record(asset)
        .ok_or(DriveError::NotFound)?;
    let prefix = match folder {
        EntryId::ROOT => String::new(),
        folder => {
            let mut entries = record.entries.iter();
            let within = entries.find(|entry| entry.id == folder);
            format!("{}/", within.ok_or(DriveError::NotFound)?.path)
        }
    };
    let in_folder = |sent: &SentEntry| {
        let name = sent.path.strip_prefix(&prefix)?;
        let is_here = !name.is_empty() && !name.contains('/');
        (is_here && is_still_there(&record.entries, sent)).then(|| (name.to_owned(), sent.clone()))
    };
    Ok(record.entries.iter().filter_map(in_folder).collect())
}

/// Files that were never sent were deleted with the staged copy, and with them folders that contained nothing
/// else. Empty folders stay, except those with the name of a service folder.
fn is_still_there(entries: &[SentEntry], entry: &SentEntry) -> bool {
    if entry.kind == EntryKind::File {
        return entry.sent_as.is_some();
    }
    let within = format!("{}/", entry.path);
    let is_file_within =
        |other: &&SentEntry| other.kind == EntryKind::File && other.path.starts_with(&within);
    let mut files = entries.iter().filter(is_file_within).peekable();
    match files.peek() {
        None => !is_service_folder(&entry.path),
        Some(_) => files.any(|file| file.sent_as.is_some()),
    }
}

pub(super) fn sent_attributes(tree: &Tree, sent: &SentEntry) -> Attributes {
    let plain = match sent.kind {
        EntryKind::Folder => folder(tree, sent.mtime),
        EntryKind::File => file(tree, sent.size, sent.mtime),
    };
    deletable(Attributes {
        perm: permissions(sent.mode),
        uid: sent.uid.unwrap_or(plain.uid),
        gid: sent.gid.unwrap_or(plain.gid),
        ..plain
    })
}
