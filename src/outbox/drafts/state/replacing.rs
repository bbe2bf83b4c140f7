//! How a draft becomes the new version of an asset: while it is imported, the old version keeps the name; the record
//! that the import is complete moves the name.

use std::sync::Arc;

use crate::outbox::drafts::info::DraftKind;
use crate::outbox::drafts::info::Replaced;
use crate::outbox::drafts::state::{Applied, DraftsMismatch, DraftsState, ModelFate, in_draft};
use crate::outbox::ids::{DraftId, EntryId};
use crate::outbox::names;
use crate::wire::AssetId;

impl DraftsState {
    pub(super) fn replaces(&mut self, draft: DraftId, replaced: &Replaced) -> Applied {
        let draft = self.draft_mut(draft)?;
        let is_marked = |known: &Replaced| known.asset == replaced.asset;
        // A mark that only changes what becomes of the old version does not stop an upload.
        if !draft.replaces.as_ref().is_some_and(is_marked) {
            draft.ordered = None;
        }
        draft.replaces = Some(replaced.clone());
        Ok(())
    }

    /// The import of a draft is complete. If it is a new version, the name moves to it, and the old version is called
    /// by its name and id.
    pub(super) fn take_name(&mut self, id: DraftId) -> Applied {
        let draft = self.draft_mut(id)?;
        let Some(replaced) = draft.replaces.take() else {
            return Ok(());
        };
        let asset = draft
            .accepted_asset()
            .ok_or(DraftsMismatch::WrongStage(id))?;
        draft.outdated = replaced.remove_old.then_some(replaced.asset);
        let kind = draft.kind;
        self.fates.push(ModelFate::VersionComplete {
            old: replaced.asset,
            new: asset,
        });
        self.rename_old_version(asset, &replaced);
        // A draft that was made under the name meanwhile keeps it.
        let name = match self.top.get(&replaced.name) {
            Some(other) if *other != id => free_name(self, &replaced.name, asset, ""),
            _ => replaced.name,
        };
        let Some(record) = self.sent.get_mut(&asset) else {
            return Ok(());
        };
        let record = Arc::make_mut(record);
        record.replaces = Some(replaced.asset);
        record.first_version = replaced.first_version;
        match kind {
            DraftKind::Folder => {
                record.name.clone_from(&name);
                set_draft_name(self, id, &name)
            }
            DraftKind::LooseFile => {
                record.taken_name = Some(name);
                Ok(())
            }
        }
    }

    /// Renames the old versions that hold the name: `name` becomes `name~id`.
    fn rename_old_version(&mut self, new: AssetId, replaced: &Replaced) {
        let has_name = |asset: &AssetId, folder: Option<&str>| {
            *asset != new && (*asset == replaced.asset || folder == Some(replaced.name.as_str()))
        };
        let sent = self.sent.iter();
        let held = sent.filter(|(asset, record)| has_name(asset, record.folder_name()));
        let held: Vec<AssetId> = held.map(|(asset, _)| *asset).collect();
        for old in held {
            let kept = self.draft_of(old);
            let Some(record) = self.sent.get(&old) else {
                continue;
            };
            let ending = match record.kind {
                DraftKind::Folder => "",
                DraftKind::LooseFile => &record.name[names::stem(&record.name).len()..],
            };
            let name = free_name(self, &replaced.name, old, ending);
            let Some(record) = self.sent.get_mut(&old).map(Arc::make_mut) else {
                continue;
            };
            let new_name = match record.kind {
                DraftKind::Folder => name.clone(),
                DraftKind::LooseFile => names::with_stem(&record.name, &name),
            };
            record.name.clone_from(&new_name);
            record.taken_name = Some(name);
            if let Some(draft) = kept {
                // Its name is free, and its tree has the file.
                let _ = set_draft_name(self, draft, &new_name);
            }
        }
    }

    /// The service has the files of a new version: the old one is to be deleted, if that was asked for.
    pub(super) fn drop_outdated(&mut self, draft: DraftId) -> Applied {
        let Some(old) = self.draft(draft)?.outdated else {
            return Ok(());
        };
        if let Some(kept) = self.draft_of(old) {
            self.drop_outdated(kept)?;
            self.end_draft(kept)?;
        }
        self.drop_asset(old);
        Ok(())
    }
}

/// `name~id`, or more of it while a draft has that name, also with `ending`.
fn free_name(state: &DraftsState, name: &str, asset: AssetId, ending: &str) -> String {
    let is_taken = |name: &str| state.top.contains_key(name);
    names::with_free_id(name, asset.0, ending, |found| {
        !is_taken(found) && !is_taken(&format!("{found}{ending}"))
    })
}

/// Gives a draft another name without changing anything else of it.
fn set_draft_name(state: &mut DraftsState, id: DraftId, name: &str) -> Applied {
    let draft = state.draft_mut(id)?;
    let old = std::mem::replace(&mut draft.name, name.to_owned());
    if draft.kind == DraftKind::LooseFile
        && let Some(file) = draft.tree.child(EntryId::ROOT, &old)
    {
        let branch = draft.tree.take(file).map_err(in_draft(id))?;
        let grafted = draft.tree.graft(EntryId::ROOT, name, branch);
        grafted.map_err(in_draft(id))?;
    }
    state.top.remove(&old);
    state.top.insert(name.to_owned(), id);
    Ok(())
}
