//! A draft that is one zip. The service will show the files in it, so the drive shows them before the upload.
//!
//! Invariant: a [`LoneZip`] was flushed completely, is not open for writing, and is the only file that the draft
//! sends. A folder also has to be quiet, because more files may be copied into it.

use std::time::SystemTime;

use crate::outbox::drafts::draft::Draft;
use crate::outbox::drafts::entries::Entries;
use crate::outbox::drafts::info::{DraftKind, DraftPhase};
use crate::outbox::drafts::memory::DraftsMemory;
use crate::outbox::drafts::show::draft_info;
use crate::outbox::drafts::tree::FileState;
use crate::outbox::drafts::upload::manifest;
use crate::outbox::ids::{DraftId, EntryId};
use crate::outbox::names::{self, FileName};

/// The zip that a draft consists of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoneZip {
    /// Its entry in the draft.
    pub entry: EntryId,
    pub name: String,
    /// Its length in bytes.
    pub size: u64,
    /// The checksum of its bytes (XXH3, 128 bits, hex).
    pub hash: String,
    /// When it was last changed.
    pub modified: SystemTime,
}

impl Entries {
    /// The zip that is the only file of a draft, while its staged copy is kept. `None` while it is written, and while
    /// more files may still be copied into the folder.
    pub fn lone_zip(&self, draft: DraftId) -> Option<LoneZip> {
        let memory = self.parts.memory();
        let found = memory.state.drafts.get(&draft)?;
        let zip = only_zip(found)?;
        let may_get_more = found.kind == DraftKind::Folder
            && draft_info(&memory, draft)?.phase == DraftPhase::Editing
            && memory.activity_of(draft).is_some_and(|activity| {
                let quiet = self.parts.now().saturating_sub(activity.last_change);
                quiet < self.parts.config.settle
            });
        (!may_get_more && !is_being_written(&memory, zip.entry)).then_some(zip)
    }

    /// True while a zip has the bytes that it had when it was opened. A removed zip does not change for processes
    /// that have it open.
    pub fn is_unchanged(&self, draft: DraftId, zip: &LoneZip) -> bool {
        let memory = self.parts.memory();
        let Some(home) = memory.home_of(draft, zip.entry) else {
            return true;
        };
        let node = memory.state.drafts[&home].tree.node(zip.entry);
        let file = node.and_then(|node| node.file());
        let is_same = file.is_some_and(|file| {
            let hash = file.hash.map(|hash| hash.to_string());
            file.state == FileState::Flushed && hash.as_ref() == Some(&zip.hash)
        });
        is_same && !is_being_written(&memory, zip.entry)
    }
}

fn is_being_written(memory: &DraftsMemory, entry: EntryId) -> bool {
    let mut open = memory.open.values();
    open.any(|content| content.entry == entry && content.writers > 0)
}

fn only_zip(draft: &Draft) -> Option<LoneZip> {
    let tree = &draft.tree;
    // In a large draft this stops at the second file.
    let mut plain_files = tree.root().folder()?.values().filter(|id| {
        let node = tree.node(**id);
        node.is_some_and(|node| {
            node.file().is_some() && names::judge_file(&node.name) == FileName::Plain
        })
    });
    let entry = *plain_files.next()?;
    let node = tree.node(entry)?;
    if names::extension(&node.name) != "zip" || plain_files.next().is_some() {
        return None;
    }
    let file = node.file()?;
    if file.state != FileState::Flushed || manifest::sendable(tree).len() != 1 {
        return None;
    }
    Some(LoneZip {
        entry,
        name: node.name.clone(),
        size: file.size,
        hash: file.hash?.to_string(),
        modified: node.attributes.mtime.into(),
    })
}
