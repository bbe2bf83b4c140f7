//! How records about the entries of drafts change the state.

use std::collections::BTreeMap;

use crate::outbox::drafts::draft::Draft;
use crate::outbox::drafts::info::{DraftKind, EntryKind};
use crate::outbox::drafts::record::{DraftRecord, Target};
use crate::outbox::drafts::state::{Applied, DraftsMismatch, DraftsState, in_draft, touch_folder};
use crate::outbox::drafts::tree::{Attributes, Branch, FileBody, FileState, NodeBody, Tree};
use crate::outbox::ids::{DraftId, EntryId};
use crate::outbox::moment::Moment;

impl DraftsState {
    pub(super) fn apply_draft(&mut self, record: &DraftRecord) -> Applied {
        match record {
            DraftRecord::Made {
                draft,
                name,
                kind,
                attributes,
                by_command,
            } => {
                self.used(draft.0);
                let tree = Tree::new(*attributes);
                let mut made = new_draft(name, *kind, attributes.ctime, tree);
                made.by_command = *by_command;
                self.add_draft(*draft, made)
            }
            DraftRecord::Removed { draft } => self.remove_draft(*draft),
            DraftRecord::FileMade {
                draft,
                entry,
                parent,
                name,
                content,
                attributes,
            } => {
                self.last_content = self.last_content.max(content.0);
                let place = (*draft, *parent, name.as_str());
                let body = NodeBody::File(FileBody::new(*content));
                self.insert_entry(place, *entry, *attributes, body)
            }
            DraftRecord::FolderMade {
                draft,
                entry,
                parent,
                name,
                attributes,
            } => {
                let place = (*draft, *parent, name.as_str());
                let body = NodeBody::Folder(BTreeMap::new());
                self.insert_entry(place, *entry, *attributes, body)
            }
            DraftRecord::Moved {
                draft,
                entry,
                to,
                ctime,
                replaces,
            } => {
                self.apply_move(*draft, *entry, to, *ctime)?;
                match (to, replaces) {
                    (Target::Top { draft, .. }, Some(replaced)) => self.replaces(*draft, replaced),
                    _ => Ok(()),
                }
            }
            DraftRecord::Replaces { draft, replaced } => self.replaces(*draft, replaced),
            DraftRecord::EntryRemoved { draft, entry, at } => {
                let branch = self.take_branch(*draft, *entry, *at)?;
                self.freed.extend(branch.contents());
                Ok(())
            }
            DraftRecord::Flushed { .. }
            | DraftRecord::WriteFailed { .. }
            | DraftRecord::AttributesSet { .. }
            | DraftRecord::XattrSet { .. } => self.apply_to_entry(record),
        }
    }

    /// Records that change one entry in place.
    fn apply_to_entry(&mut self, record: &DraftRecord) -> Applied {
        match record {
            DraftRecord::Flushed {
                draft,
                entry,
                size,
                hash,
                mtime,
            } => {
                let tree = &mut self.changed(*draft)?.tree;
                let file = tree.file_mut(*entry).map_err(in_draft(*draft))?;
                file.size = *size;
                file.hash = Some(*hash);
                file.state = FileState::Flushed;
                let attributes = &mut tree.node_mut(*entry).map_err(in_draft(*draft))?.attributes;
                attributes.mtime = *mtime;
                attributes.ctime = attributes.ctime.max(*mtime);
            }
            DraftRecord::WriteFailed { draft, entry, size } => {
                let tree = &mut self.changed(*draft)?.tree;
                let file = tree.file_mut(*entry).map_err(in_draft(*draft))?;
                file.state = FileState::WriteFailed;
                file.size = size.unwrap_or(file.size);
            }
            DraftRecord::AttributesSet {
                draft,
                entry,
                attributes,
            } => {
                let tree = &mut self.draft_mut(*draft)?.tree;
                tree.node_mut(*entry).map_err(in_draft(*draft))?.attributes = *attributes;
            }
            DraftRecord::XattrSet {
                draft,
                entry,
                name,
                value,
            } => {
                let tree = &mut self.draft_mut(*draft)?.tree;
                let xattrs = &mut tree.node_mut(*entry).map_err(in_draft(*draft))?.xattrs;
                match value {
                    Some(value) => xattrs.insert(name.clone(), value.clone()),
                    None => xattrs.remove(name),
                };
            }
            DraftRecord::Made { .. }
            | DraftRecord::Removed { .. }
            | DraftRecord::FileMade { .. }
            | DraftRecord::FolderMade { .. }
            | DraftRecord::Moved { .. }
            | DraftRecord::Replaces { .. }
            | DraftRecord::EntryRemoved { .. } => unreachable!("changes more than one entry"),
        }
        Ok(())
    }

    fn insert_entry(
        &mut self,
        place: (DraftId, EntryId, &str),
        entry: EntryId,
        attributes: Attributes,
        body: NodeBody,
    ) -> Applied {
        let (draft, parent, name) = place;
        self.used(entry.0);
        let tree = &mut self.changed(draft)?.tree;
        let made = tree.insert(parent, name, entry, attributes, body);
        made.map_err(in_draft(draft))?;
        touch_folder(tree, parent, attributes.ctime);
        Ok(())
    }

    fn apply_move(&mut self, from: DraftId, entry: EntryId, to: &Target, ctime: Moment) -> Applied {
        match to {
            Target::Top { draft, name } if entry == EntryId::ROOT => {
                debug_assert_eq!(*draft, from, "a whole draft keeps its number");
                self.rename_draft(from, name)
            }
            Target::Top { draft, name } => self.move_to_top((from, entry), (*draft, name), ctime),
            Target::In {
                draft,
                parent,
                name,
                entry: number,
            } => {
                self.used(number.0);
                let branch = match entry {
                    EntryId::ROOT => self.take_whole(from, *number)?,
                    entry => self.take_branch(from, entry, ctime)?,
                };
                self.put_branch(*draft, (*parent, name), branch, ctime)
            }
        }
    }

    /// Makes an entry of a draft a draft of its own.
    fn move_to_top(
        &mut self,
        from: (DraftId, EntryId),
        to: (DraftId, &str),
        ctime: Moment,
    ) -> Applied {
        let (draft, name) = to;
        self.used(draft.0);
        self.clear_top(name, draft)?;
        let attributes = self
            .draft(from.0)?
            .tree
            .node(from.1)
            .map(|node| node.attributes);
        let branch = self.take_branch(from.0, from.1, ctime)?;
        let (kind, tree) = match (branch.kind(), attributes) {
            (EntryKind::File, Some(attributes)) => {
                let mut tree = Tree::new(attributes);
                tree.graft(EntryId::ROOT, name, branch)
                    .map_err(in_draft(draft))?;
                (DraftKind::LooseFile, tree)
            }
            _ => (
                DraftKind::Folder,
                Tree::from_branch(branch).map_err(in_draft(draft))?,
            ),
        };
        self.add_draft(draft, new_draft(name, kind, ctime, tree))
    }

    /// Ends a draft and returns its contents: its folder under a new id, or its loose file.
    fn take_whole(&mut self, draft: DraftId, number: EntryId) -> Result<Branch, DraftsMismatch> {
        let whole = self
            .drafts
            .remove(&draft)
            .ok_or(DraftsMismatch::NoDraft(draft))?;
        self.top.remove(&whole.name);
        self.give_up(whole.begun_asset());
        match whole.kind {
            DraftKind::Folder => Ok(whole.tree.into_branch(number)),
            DraftKind::LooseFile => {
                let mut tree = whole.tree;
                let file = tree
                    .child(EntryId::ROOT, &whole.name)
                    .ok_or(DraftsMismatch::NoDraft(draft))?;
                tree.take(file).map_err(in_draft(draft))
            }
        }
    }

    fn take_branch(
        &mut self,
        draft: DraftId,
        entry: EntryId,
        at: Moment,
    ) -> Result<Branch, DraftsMismatch> {
        let tree = &mut self.changed(draft)?.tree;
        let parent = tree.node(entry).map(|node| node.parent);
        let branch = tree.take(entry).map_err(in_draft(draft))?;
        if let Some(parent) = parent {
            touch_folder(tree, parent, at);
        }
        Ok(branch)
    }

    /// Puts a branch into a folder, and replaces an entry of that name.
    fn put_branch(
        &mut self,
        draft: DraftId,
        place: (EntryId, &str),
        branch: Branch,
        ctime: Moment,
    ) -> Applied {
        let (parent, name) = place;
        let tree = &mut self.changed(draft)?.tree;
        let replaced = match tree.child(parent, name) {
            Some(old) => tree.take(old).map_err(in_draft(draft))?.contents(),
            None => Vec::new(),
        };
        let top = branch.top;
        tree.graft(parent, name, branch).map_err(in_draft(draft))?;
        touch_folder(tree, parent, ctime);
        tree.node_mut(top)
            .map_err(in_draft(draft))?
            .attributes
            .ctime = ctime;
        self.freed.extend(replaced);
        Ok(())
    }
}

fn new_draft(name: &str, kind: DraftKind, created: Moment, tree: Tree) -> Draft {
    Draft {
        name: name.to_owned(),
        kind,
        by_command: false,
        created,
        tree,
        ordered: None,
        attempt: None,
        failure: None,
        warning: None,
        replaces: None,
        outdated: None,
    }
}
