//! How each record changes the state. One function a record; none looks at a clock or a disk.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{ApplyError, Attempt, Draft, OpenStart, Stage, State};
use crate::outbox::draft::tree::{Body, FileBody, FileState, Tree, TreeError};
use crate::outbox::journal::record::{DraftRecord, Record, Target, UploadRecord};
use crate::outbox::moment::Moment;
use crate::outbox::types::{DraftId, DraftKind, EntryId, EntryKind};
use crate::wire::AssetId;

type Applied = Result<(), ApplyError>;

fn in_draft(draft: DraftId) -> impl Fn(TreeError) -> ApplyError {
    move |source| ApplyError::Tree { draft, source }
}

impl State {
    /// Makes the change that the record tells of.
    pub fn apply(&mut self, record: &Record) -> Applied {
        match record {
            Record::Snapshot(state) => {
                *self = (**state).clone();
                self.top = self
                    .drafts
                    .iter()
                    .map(|(id, draft)| (draft.name.clone(), *id))
                    .collect();
                Ok(())
            }
            Record::Draft(record) => self.apply_draft(record),
            Record::Upload(record) => self.apply_upload(record),
            Record::Job(record) => Ok(self.jobs.apply(record)?),
            Record::Preset(record) => {
                self.presets.apply(record);
                Ok(())
            }
        }
    }

    fn apply_draft(&mut self, record: &DraftRecord) -> Applied {
        match record {
            DraftRecord::Made {
                draft,
                name,
                kind,
                attributes,
            } => {
                self.used(draft.0);
                let made = Draft {
                    name: name.clone(),
                    kind: *kind,
                    created: attributes.ctime,
                    tree: Tree::new(*attributes),
                    ordered: None,
                    attempt: None,
                    failure: None,
                    warning: None,
                };
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
                self.used(entry.0);
                self.last_content = self.last_content.max(content.0);
                let body = Body::File(FileBody::new(*content));
                let tree = &mut self.changed(*draft)?.tree;
                tree.insert(*parent, name, *entry, *attributes, body)
                    .map_err(in_draft(*draft))?;
                touch_folder(tree, *parent, attributes.ctime);
                Ok(())
            }
            DraftRecord::FolderMade {
                draft,
                entry,
                parent,
                name,
                attributes,
            } => {
                self.used(entry.0);
                let body = Body::Folder(BTreeMap::new());
                let tree = &mut self.changed(*draft)?.tree;
                tree.insert(*parent, name, *entry, *attributes, body)
                    .map_err(in_draft(*draft))?;
                touch_folder(tree, *parent, attributes.ctime);
                Ok(())
            }
            DraftRecord::Flushed {
                draft,
                entry,
                size,
                hash,
                mtime,
            } => {
                let tree = &mut self.changed(*draft)?.tree;
                let node = tree.node_mut(*entry).map_err(in_draft(*draft))?;
                node.attributes.mtime = *mtime;
                node.attributes.ctime = node.attributes.ctime.max(*mtime);
                let file = tree.file_mut(*entry).map_err(in_draft(*draft))?;
                file.size = *size;
                file.hash = Some(*hash);
                file.state = FileState::Flushed;
                Ok(())
            }
            DraftRecord::WriteFailed { draft, entry } => {
                let tree = &mut self.changed(*draft)?.tree;
                tree.file_mut(*entry).map_err(in_draft(*draft))?.state = FileState::WriteFailed;
                Ok(())
            }
            DraftRecord::Moved {
                draft,
                entry,
                to,
                ctime,
            } => self.apply_move(*draft, *entry, to, *ctime),
            DraftRecord::EntryRemoved { draft, entry, at } => {
                let tree = &mut self.changed(*draft)?.tree;
                let parent = tree.node(*entry).map(|node| node.parent);
                let branch = tree.take(*entry).map_err(in_draft(*draft))?;
                if let Some(parent) = parent {
                    touch_folder(tree, parent, *at);
                }
                self.freed.extend(branch.contents());
                Ok(())
            }
            DraftRecord::AttributesSet {
                draft,
                entry,
                attributes,
            } => {
                let tree = &mut self.draft_mut(*draft)?.tree;
                tree.node_mut(*entry).map_err(in_draft(*draft))?.attributes = *attributes;
                Ok(())
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
                Ok(())
            }
        }
    }

    fn apply_move(&mut self, from: DraftId, entry: EntryId, to: &Target, ctime: Moment) -> Applied {
        match to {
            Target::Top { draft, name } if entry == EntryId::ROOT => {
                debug_assert_eq!(*draft, from, "a whole draft keeps its number");
                self.rename_draft(from, name)
            }
            Target::Top { draft, name } => {
                self.used(draft.0);
                self.clear_top(name, *draft)?;
                let tree = &mut self.changed(from)?.tree;
                let attributes = tree.node(entry).map(|node| node.attributes);
                let branch = tree.take(entry).map_err(in_draft(from))?;
                let attributes = attributes.expect("it was just taken out");
                let kind = branch.kind();
                let tree = match kind {
                    EntryKind::Folder => Tree::from_branch(branch).map_err(in_draft(*draft))?,
                    EntryKind::File => {
                        let mut tree = Tree::new(attributes);
                        tree.graft(EntryId::ROOT, name, branch)
                            .map_err(in_draft(*draft))?;
                        tree
                    }
                };
                let made = Draft {
                    name: name.clone(),
                    kind: match kind {
                        EntryKind::Folder => DraftKind::Folder,
                        EntryKind::File => DraftKind::LooseFile,
                    },
                    created: ctime,
                    tree,
                    ordered: None,
                    attempt: None,
                    failure: None,
                    warning: None,
                };
                self.add_draft(*draft, made)
            }
            Target::In {
                draft,
                parent,
                name,
                entry: number,
            } => {
                self.used(number.0);
                let branch = if entry == EntryId::ROOT {
                    let whole = self.drafts.remove(&from).ok_or(ApplyError::NoDraft(from))?;
                    self.top.remove(&whole.name);
                    self.drop_asset(whole.stage().and_then(|stage| stage.asset()));
                    match whole.kind {
                        DraftKind::Folder => whole.tree.into_branch(*number),
                        DraftKind::LooseFile => {
                            let mut tree = whole.tree;
                            let file = tree.child(EntryId::ROOT, &whole.name);
                            let file = file.ok_or(ApplyError::NoDraft(from))?;
                            tree.take(file).map_err(in_draft(from))?
                        }
                    }
                } else {
                    let tree = &mut self.changed(from)?.tree;
                    let old_parent = tree.node(entry).map(|node| node.parent);
                    let branch = tree.take(entry).map_err(in_draft(from))?;
                    if let Some(old_parent) = old_parent {
                        touch_folder(tree, old_parent, ctime);
                    }
                    branch
                };
                let tree = &mut self.changed(*draft)?.tree;
                let replaced = match tree.child(*parent, name) {
                    Some(old) => tree.take(old).map_err(in_draft(*draft))?.contents(),
                    None => Vec::new(),
                };
                let top = branch.top;
                tree.graft(*parent, name, branch)
                    .map_err(in_draft(*draft))?;
                touch_folder(tree, *parent, ctime);
                tree.node_mut(top)
                    .map_err(in_draft(*draft))?
                    .attributes
                    .ctime = ctime;
                self.freed.extend(replaced);
                Ok(())
            }
        }
    }

    fn apply_upload(&mut self, record: &UploadRecord) -> Applied {
        match record {
            UploadRecord::Ordered { draft, force } => {
                let draft = self.draft_mut(*draft)?;
                draft.ordered = Some(draft.ordered.unwrap_or(false) || *force);
                draft.failure = None;
                Ok(())
            }
            UploadRecord::StartSent {
                draft,
                attempt,
                at,
                manifest,
                warning,
            } => {
                self.used(*attempt);
                let open = OpenStart {
                    model_name: manifest.model_name.clone(),
                    at: *at,
                };
                self.open_starts.insert(*attempt, open);
                let draft = self.draft_mut(*draft)?;
                draft.warning.clone_from(warning);
                draft.failure = None;
                draft.attempt = Some(Attempt {
                    number: *attempt,
                    manifest: manifest.clone(),
                    stage: Stage::StartSent,
                    put: Default::default(),
                });
                Ok(())
            }
            UploadRecord::StartRefused { draft, attempt } => {
                self.open_starts.remove(attempt);
                if let Some(draft) = self.drafts.get_mut(draft)
                    && draft
                        .attempt
                        .as_ref()
                        .is_some_and(|it| it.number == *attempt)
                {
                    draft.attempt = None;
                }
                Ok(())
            }
            UploadRecord::Started {
                draft,
                attempt,
                asset,
            } => {
                self.open_starts.remove(attempt);
                match self.attempt_mut(*draft, *attempt) {
                    Ok(attempt) => attempt.stage = Stage::Started { asset: *asset },
                    // The draft changed or went while the service was asked: nobody wants it now.
                    Err(_) => drop(self.discards.insert(*asset)),
                }
                Ok(())
            }
            UploadRecord::FilePut {
                draft,
                attempt,
                file,
            } => {
                self.attempt_mut(*draft, *attempt)?.put.insert(*file);
                Ok(())
            }
            UploadRecord::CompleteSent { draft, attempt } => {
                self.advance(*draft, *attempt, |asset| Stage::CompleteSent { asset })
            }
            UploadRecord::CompleteRefused { draft, attempt } => {
                self.advance(*draft, *attempt, |asset| Stage::Started { asset })
            }
            UploadRecord::Accepted { draft, attempt } => {
                self.advance(*draft, *attempt, |asset| Stage::Accepted { asset })?;
                let id = *draft;
                let draft = self.draft_mut(id)?;
                draft.failure = None;
                draft.ordered = None;
                let attempt = draft.attempt.as_ref().expect("it was just advanced");
                let asset = attempt
                    .stage
                    .asset()
                    .expect("an accepted attempt has an asset");
                let record = draft.sent_record(id, asset, &attempt.manifest);
                self.sent.insert(asset, Arc::new(record));
                self.jobs.draft_became(id, asset);
                Ok(())
            }
            UploadRecord::AttemptDropped { draft, attempt } => {
                self.attempt_mut(*draft, *attempt)?;
                let stage = self
                    .draft_mut(*draft)?
                    .attempt
                    .take()
                    .map(|attempt| attempt.stage);
                self.drop_asset(stage.and_then(|stage| stage.asset()));
                Ok(())
            }
            UploadRecord::Discarded { asset } => {
                self.discards.remove(asset);
                Ok(())
            }
            UploadRecord::Failed { draft, reason } => {
                let draft = self.draft_mut(*draft)?;
                draft.failure = Some(reason.clone());
                draft.ordered = None;
                Ok(())
            }
            UploadRecord::Retried { draft } => {
                let draft = self.draft_mut(*draft)?;
                draft.failure = None;
                if let Some(attempt) = &mut draft.attempt
                    && let Stage::ImportFailed { asset } = attempt.stage
                {
                    attempt.stage = Stage::Accepted { asset };
                }
                Ok(())
            }
            UploadRecord::Imported { draft } => {
                self.advance_present(*draft, |asset| Stage::Imported { asset })
            }
            UploadRecord::ImportFailed { draft, reason } => {
                self.advance_present(*draft, |asset| Stage::ImportFailed { asset })?;
                self.draft_mut(*draft)?.failure = Some(reason.clone());
                Ok(())
            }
            UploadRecord::Verified { draft } => {
                let gone = self
                    .drafts
                    .remove(draft)
                    .ok_or(ApplyError::NoDraft(*draft))?;
                self.top.remove(&gone.name);
                self.freed.extend(gone.contents());
                Ok(())
            }
            UploadRecord::AssetGone { asset } => {
                if let Some(draft) = self.draft_of(*asset) {
                    let gone = self.drafts.remove(&draft).expect("draft_of gives a draft");
                    self.top.remove(&gone.name);
                    self.freed.extend(gone.contents());
                }
                self.sent.remove(asset);
                self.discards.remove(asset);
                self.jobs.asset_gone(*asset);
                Ok(())
            }
            UploadRecord::StartForgotten { attempt } => {
                self.open_starts.remove(attempt);
                Ok(())
            }
        }
    }

    fn add_draft(&mut self, id: DraftId, draft: Draft) -> Applied {
        if self.drafts.contains_key(&id) || self.top.contains_key(&draft.name) {
            return Err(ApplyError::DuplicateDraft(id));
        }
        self.top.insert(draft.name.clone(), id);
        self.drafts.insert(id, draft);
        Ok(())
    }

    /// Removes a draft; what the service has of it is to be deleted.
    fn remove_draft(&mut self, id: DraftId) -> Applied {
        let draft = self.drafts.remove(&id).ok_or(ApplyError::NoDraft(id))?;
        self.top.remove(&draft.name);
        self.drop_asset(draft.stage().and_then(|stage| stage.asset()));
        self.freed.extend(draft.contents());
        self.jobs.draft_gone(id);
        Ok(())
    }

    /// What the service has of an attempt is to be deleted.
    fn drop_asset(&mut self, asset: Option<AssetId>) {
        if let Some(asset) = asset {
            self.discards.insert(asset);
            self.sent.remove(&asset);
            self.jobs.asset_gone(asset);
        }
    }

    /// Makes room for a draft that takes the name of another.
    fn clear_top(&mut self, name: &str, newcomer: DraftId) -> Applied {
        match self.top.get(name).copied() {
            Some(old) if old != newcomer => self.remove_draft(old),
            _ => Ok(()),
        }
    }

    fn rename_draft(&mut self, id: DraftId, name: &str) -> Applied {
        self.clear_top(name, id)?;
        let draft = self.changed(id)?;
        let old = std::mem::replace(&mut draft.name, name.to_owned());
        if draft.kind == DraftKind::LooseFile
            && let Some(file) = draft.tree.child(EntryId::ROOT, &old)
        {
            let branch = draft.tree.take(file).map_err(in_draft(id))?;
            draft
                .tree
                .graft(EntryId::ROOT, name, branch)
                .map_err(in_draft(id))?;
        }
        self.top.remove(&old);
        self.top.insert(name.to_owned(), id);
        Ok(())
    }

    fn draft_mut(&mut self, id: DraftId) -> Result<&mut Draft, ApplyError> {
        self.drafts.get_mut(&id).ok_or(ApplyError::NoDraft(id))
    }

    /// A draft whose content changes: what was asked for and what failed before is void.
    fn changed(&mut self, id: DraftId) -> Result<&mut Draft, ApplyError> {
        let draft = self.draft_mut(id)?;
        draft.ordered = None;
        draft.failure = None;
        draft.warning = None;
        Ok(draft)
    }

    fn attempt_mut(&mut self, draft: DraftId, attempt: u64) -> Result<&mut Attempt, ApplyError> {
        let present = self.draft_mut(draft)?.attempt.as_mut();
        present
            .filter(|present| present.number == attempt)
            .ok_or(ApplyError::NoAttempt { draft, attempt })
    }

    fn advance(&mut self, draft: DraftId, attempt: u64, stage: fn(AssetId) -> Stage) -> Applied {
        let present = self.attempt_mut(draft, attempt)?;
        let asset = present.stage.asset().ok_or(ApplyError::WrongStage(draft))?;
        present.stage = stage(asset);
        Ok(())
    }

    fn advance_present(&mut self, draft: DraftId, stage: fn(AssetId) -> Stage) -> Applied {
        let attempt = self.draft(draft)?.attempt.as_ref();
        let number = attempt.ok_or(ApplyError::WrongStage(draft))?.number;
        self.advance(draft, number, stage)
    }

    fn used(&mut self, id: u64) {
        self.last_id = self.last_id.max(id);
    }
}

/// A folder's times follow a change of what is in it.
fn touch_folder(tree: &mut Tree, folder: EntryId, now: Moment) {
    if let Ok(node) = tree.node_mut(folder) {
        node.attributes.mtime = now;
        node.attributes.ctime = now;
    }
}
