//! Files and folders that were copied into `rawmodels/`: entries of a draft, also after the draft became an
//! asset, and loose files.

use std::sync::Arc;

use async_trait::async_trait;

use super::attributes::{deletable, file, folder, permissions};
use super::errors::model_failure;
use super::hiding::without_hidden;
use super::node::{Node, Row};
use super::place::{AttributeRule, Container, Contents, Place, Removal};
use super::refusals;
use super::sent_entry::{can_be_compared, sent_attributes, sent_children};
use crate::drive::catalog::model_status;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::posix::{Attributes, FileKind, OpenFlags};
use crate::drive::tree::Tree;
use crate::drive::values::node::{Home, Model};
use crate::outbox::{
    DraftId, DraftKind, DraftPhase, EntryId, EntryInfo, EntryKind, ItemStatus, SentEntry,
    SentRecord,
};

/// A file or folder that was copied in. Its inode number stays the same when the draft becomes an asset and
/// when the entry moves to another draft.
#[derive(Debug, Clone, Copy)]
pub struct DraftEntry {
    pub draft: DraftId,
    pub entry: EntryId,
    name: EntryName,
}

/// A file that has a name in `rawmodels/` and one in the folder of its model has an inode for each: while the next version is
/// written in place to one, readers of the other have the old version whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryName {
    /// The name that it was copied in with.
    First,
    /// The other name.
    Second,
}

#[async_trait]
impl Place for DraftEntry {
    fn identity(&self) -> String {
        match self.name {
            EntryName::First => format!("entry/{}", self.entry),
            EntryName::Second => format!("entry/{}/second", self.entry),
        }
    }

    fn kind(&self) -> Option<FileKind> {
        None
    }

    fn path(&self, tree: &Tree) -> String {
        let home = tree.catalog().home_path(self.home());
        // A loose file has the path of its draft.
        if !self.is_frozen(tree)
            && let Some(draft) = tree.outbox().drafts().get(self.draft)
            && draft.kind == DraftKind::LooseFile
        {
            return home;
        }
        let mut parts = Vec::new();
        let mut at = self.entry;
        while at != EntryId::ROOT {
            let Some(info) = tree.outbox().entries().get(self.draft, at) else {
                break;
            };
            parts.push(info.name);
            at = info.parent;
        }
        if parts.is_empty()
            && let Some(sent) = self.sent(tree)
        {
            parts.push(sent.path);
        }
        parts.push(home);
        parts.reverse();
        parts.join("/")
    }

    /// A loose file that was sent keeps its name in `rawmodels/`.
    fn other_path(&self, tree: &Tree) -> Option<String> {
        let name = match tree.catalog().asset_of_draft(self.draft) {
            Some(asset) => tree.outbox().uploads().sent_record(asset)?.loose_name(),
            None => tree.outbox().drafts().file_beside(self.draft),
        };
        Some(format!("/rawmodels/{}", name?))
    }

    async fn attributes(&self, tree: &Arc<Tree>) -> DriveResult<Attributes> {
        if let Some(info) = tree.outbox().entries().get(self.draft, self.entry) {
            return Ok(staged_in(tree, self.draft, &info));
        }
        let sent = self.sent(tree).ok_or(DriveError::NotFound)?;
        Ok(sent_attributes(tree, &sent))
    }

    async fn rows(&self, tree: &Arc<Tree>) -> DriveResult<Vec<Row>> {
        entry_rows(tree, self.draft, self.entry)
    }

    async fn child(&self, tree: &Arc<Tree>, name: &str) -> DriveResult<Node> {
        if tree.outbox().drafts().get(self.draft).is_some() {
            let child = own_child(tree, self.draft, self.entry, name);
            return child.ok_or(DriveError::NotFound);
        }
        let rows = entry_rows(tree, self.draft, self.entry)?;
        let row = rows.into_iter().find(|row| row.name == name);
        row.map(|row| row.node).ok_or(DriveError::NotFound)
    }

    fn failure(&self, tree: &Tree) -> Option<String> {
        let excluded = tree.outbox().entries().why_excluded(self.draft, self.entry);
        excluded.or_else(|| {
            self.is_alone(tree)
                .then(|| model_failure(tree, self.home()))
                .flatten()
        })
    }

    /// A loose file shows the state of its draft.
    fn shown_model(&self, tree: &Tree) -> Option<Model> {
        self.is_alone(tree).then(|| Model::Raw(self.home()))
    }

    fn owner(&self, _: &Tree) -> Option<Model> {
        Some(Model::Raw(self.home()))
    }

    fn draft_entry(&self) -> Option<(DraftId, EntryId)> {
        Some((self.draft, self.entry))
    }

    fn container(&self) -> Option<Container> {
        Some(Container::Entries(self.draft, self.entry))
    }

    fn check_may_make(&self, tree: &Tree) -> DriveResult<()> {
        match self.is_frozen(tree) {
            true => Err(refusals::frozen_asset(
                &tree.catalog().home_path(self.home()),
            )),
            false => Ok(()),
        }
    }

    fn contents(&self, _: &Tree) -> DriveResult<Contents> {
        Ok(Contents::Entry(self.draft, self.entry))
    }

    fn check_writable(&self, tree: &Tree, flags: OpenFlags) -> DriveResult<()> {
        let may_be_written = !self.is_frozen(tree)
            || self.is_copied_again(tree, flags)
            // It may have a next version, or be sent again.
            || (!flags.append && (self.is_loose(tree) || has_failed(tree, self.draft)));
        match may_be_written {
            true => Ok(()),
            false => Err(refusal_to_change(tree, self.draft)(&self.path(tree))),
        }
    }

    fn check_movable(&self, tree: &Tree) -> DriveResult<()> {
        match self.is_frozen(tree) || tree.outbox().uploads().is_frozen(self.draft) {
            true => Err(DriveError::NotPermitted(
                refusals::frozen_asset(&self.path(tree)).to_string(),
            )),
            false => Ok(()),
        }
    }

    fn removal(&self) -> Removal {
        Removal::Entry(self.draft)
    }

    fn attribute_rule(&self) -> AttributeRule {
        AttributeRule::Entry(self.draft, self.entry)
    }

    /// The files of a model are pinned as a whole.
    fn cache_name(&self, tree: &Tree) -> DriveResult<String> {
        cache_name(tree, self.home())
    }

    fn has_status(&self, tree: &Tree) -> bool {
        self.is_loose(tree)
    }

    async fn status(&self, tree: &Arc<Tree>) -> DriveResult<Option<ItemStatus>> {
        match self.is_loose(tree) {
            true => Ok(Some(model_status(tree.catalog(), self.home()).await?)),
            false => Ok(None),
        }
    }
}

impl DraftEntry {
    /// The entry as it is found where it was copied to.
    pub fn new(draft: DraftId, entry: EntryId) -> DraftEntry {
        DraftEntry {
            draft,
            entry,
            name: EntryName::First,
        }
    }

    /// The entry as it is found in the folder of its model.
    pub fn in_folder(tree: &Tree, draft: DraftId, entry: EntryId) -> DraftEntry {
        let name = match kind_of(tree, draft) {
            Some(DraftKind::LooseFile) => EntryName::Second,
            Some(DraftKind::Folder) | None => EntryName::First,
        };
        DraftEntry { draft, entry, name }
    }

    /// The entry as it is found in `rawmodels/`, beside the folder of its model.
    pub(super) fn beside(kind: DraftKind, draft: DraftId, entry: EntryId) -> DraftEntry {
        let name = match kind {
            DraftKind::LooseFile => EntryName::First,
            DraftKind::Folder => EntryName::Second,
        };
        DraftEntry { draft, entry, name }
    }

    fn home(&self) -> Home {
        Home::Made(self.draft)
    }

    fn is_frozen(&self, tree: &Tree) -> bool {
        tree.catalog().asset_of_draft(self.draft).is_some()
    }

    /// The entry in the record of what was sent.
    pub fn sent(&self, tree: &Tree) -> Option<SentEntry> {
        let Some(asset) = tree.catalog().asset_of_draft(self.draft) else {
            return tree.outbox().uploads().frozen_entry(self.draft, self.entry);
        };
        let record = tree.outbox().uploads().sent_record(asset)?;
        let mut entries = record.entries.iter();
        entries.find(|sent| sent.id == self.entry).cloned()
    }

    /// Its length and checksum; `None` if a part of it is not on the disk yet.
    pub fn len_and_hash(&self, tree: &Tree) -> Option<(u64, String)> {
        let sent = || {
            let sent = self.sent(tree)?;
            Some((sent.size, sent.hash?))
        };
        let entries = tree.outbox().entries();
        let staged = entries.flushed_len_and_hash(self.draft, self.entry);
        staged.or_else(sent)
    }

    fn is_copied_again(&self, tree: &Tree, flags: OpenFlags) -> bool {
        let sent = self.sent(tree);
        sent.is_some_and(|sent| can_be_compared(&sent, flags))
    }

    /// True for a loose file.
    pub fn is_alone(&self, tree: &Tree) -> bool {
        loose_entry(tree, self.draft).is_some_and(|info| info.id == self.entry)
    }

    /// True for a loose file, also after it became an asset.
    fn is_loose(&self, tree: &Tree) -> bool {
        let draft = tree.outbox().drafts().get(self.draft);
        let sent = || {
            let records = tree.outbox().uploads().sent_records();
            let mut records = records.iter();
            let record = records.find(|record| record.draft == self.draft);
            record.is_some_and(|record| record.loose_file().is_some())
        };
        let is_beside = || tree.outbox().drafts().file_beside(self.draft).is_some();
        draft.is_some_and(|draft| draft.kind == DraftKind::LooseFile) || is_beside() || sent()
    }
}

/// True for a draft whose import failed: its files can be replaced, and then it is sent again.
pub fn has_failed(tree: &Tree, draft: DraftId) -> bool {
    let draft = tree.outbox().drafts().get(draft);
    draft.is_some_and(|draft| draft.phase == DraftPhase::ImportFailed)
}

/// Makes the error for a path whose bytes cannot change.
pub type WriteRefusal = fn(&str) -> DriveError;

/// The error for the files of a draft that cannot change now.
pub fn refusal_to_change(tree: &Tree, draft: DraftId) -> WriteRefusal {
    match tree.outbox().drafts().get(draft) {
        Some(draft) if draft.phase == DraftPhase::ImportFailed => refusals::failed_import,
        Some(draft) if draft.kind == DraftKind::LooseFile => refusals::not_complete_yet,
        _ => refusals::frozen_asset,
    }
}

pub(super) fn own_child(tree: &Tree, draft: DraftId, folder: EntryId, name: &str) -> Option<Node> {
    let info = tree.outbox().entries().child(draft, folder, name)?;
    Some(DraftEntry::in_folder(tree, draft, info.id).into())
}

/// How a draft was copied in, also after it became an asset.
fn kind_of(tree: &Tree, draft: DraftId) -> Option<DraftKind> {
    if let Some(draft) = tree.outbox().drafts().get(draft) {
        return Some(draft.kind);
    }
    let asset = tree.catalog().asset_of_draft(draft)?;
    Some(tree.outbox().uploads().sent_record(asset)?.kind)
}

/// The row of a loose file in `rawmodels/`.
pub fn loose_row(tree: &Tree, draft: DraftId) -> Option<Row> {
    loose_entry(tree, draft).map(|info| entry_row(DraftEntry::new(draft, info.id), &info))
}

fn loose_entry(tree: &Tree, draft: DraftId) -> Option<EntryInfo> {
    let children = tree
        .outbox()
        .entries()
        .children(draft, EntryId::ROOT)
        .ok()?;
    children.into_iter().next()
}

/// A file that is found in `rawmodels/` beside the folder of its model, and is not listed there: the loose file that was copied
/// in, or one that a command has copied in. The name resolves for as long as the draft or its asset exists.
pub fn file_beside(tree: &Tree, name: &str) -> Option<DraftEntry> {
    if let Some((draft, entry)) = tree.outbox().drafts().find_file_beside(name) {
        let kind = tree.outbox().drafts().get(draft)?.kind;
        return Some(DraftEntry::beside(kind, draft, entry));
    }
    let records = tree.outbox().uploads().sent_records();
    // A record leaves a moment after its asset was deleted.
    let is_it = |record: &&Arc<SentRecord>| {
        record.loose_file().is_some_and(|(loose, _)| loose == name)
            && !tree.catalog().known().assets.was_deleted(record.asset.0)
    };
    // A new version has the name of the one that it is going to replace.
    let record = records.iter().rev().find(is_it)?;
    let (_, sent) = record.loose_file()?;
    Some(DraftEntry::beside(record.kind, record.draft, sent.id))
}

fn entry_row(entry: DraftEntry, info: &EntryInfo) -> Row {
    Row::of_kind(&info.name, entry, entry_kind(info.kind))
}

fn sent_row(entry: DraftEntry, (name, sent): (String, SentEntry)) -> Row {
    Row::of_kind(name, entry, entry_kind(sent.kind))
}

fn entry_kind(kind: EntryKind) -> FileKind {
    match kind {
        EntryKind::File => FileKind::File,
        EntryKind::Folder => FileKind::Folder,
    }
}

/// The entries of a folder: of the draft while its staged copy is kept, then of the record of what was sent.
pub(super) fn entry_rows(tree: &Tree, draft: DraftId, folder: EntryId) -> DriveResult<Vec<Row>> {
    let shown = |entry| DraftEntry::in_folder(tree, draft, entry);
    let mut rows: Vec<Row> = if tree.outbox().drafts().get(draft).is_some() {
        let children = tree.outbox().entries().children(draft, folder)?;
        let children = children.iter();
        children.map(|it| entry_row(shown(it.id), it)).collect()
    } else {
        let children = sent_children(tree, draft, folder)?;
        children
            .into_iter()
            .map(|child| sent_row(shown(child.1.id), child))
            .collect()
    };
    if folder != EntryId::ROOT {
        without_hidden(tree, &mut rows, Model::Raw(Home::Made(draft)));
    }
    Ok(rows)
}

/// Attributes of a file of a draft that was removed or replaced while it is open.
pub fn removed_entry(tree: &Tree, node: &Node) -> Option<Attributes> {
    let (draft, entry) = node.draft_entry()?;
    let info = tree.outbox().entries().removed(entry)?;
    Some(staged_in(tree, draft, &info))
}

/// Attributes of a staged entry.
pub(super) fn staged_in(tree: &Tree, draft: DraftId, info: &EntryInfo) -> Attributes {
    let plain = match info.kind {
        EntryKind::Folder => Attributes {
            nlink: 2 + info.subfolders,
            ..folder(tree, info.mtime)
        },
        EntryKind::File => Attributes {
            allocated: tree.outbox().entries().allocated(draft, info.id),
            ..file(tree, info.size, info.mtime)
        },
    };
    let staged = Attributes {
        perm: permissions(info.mode),
        uid: info.uid.unwrap_or(plain.uid),
        gid: info.gid.unwrap_or(plain.gid),
        ctime: info.ctime,
        ..plain
    };
    match tree.catalog().asset_of_draft(draft) {
        Some(_) => deletable(staged),
        None => staged,
    }
}

/// The prefix under which the block cache stores the files of a source model.
pub(super) fn cache_name(tree: &Tree, home: Home) -> DriveResult<String> {
    match tree.catalog().asset_of(home) {
        Some(asset) => Ok(format!("raw/{asset}")),
        None => Err(DriveError::Invalid(
            "this is still a draft, and completely on the local disk already".into(),
        )),
    }
}
