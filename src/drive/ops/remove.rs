//! Removing. In a draft entries are removed at once. The service deletes an asset or an optimized model only as
//! a whole: `unlink` hides, and the `rmdir` that ends an `rm -r` sends the one DELETE, if it comes from the
//! process that removed the entries. Otherwise everything hidden appears again after a while. Files of the
//! service that appear after that process listed the folder do not keep it.

use std::ffi::OsStr;
use std::sync::Arc;

use super::again::is_frozen;
use super::delete::{
    check_may_delete, check_may_hide, delete_embed, delete_on_service, is_own_file,
};
use super::lookup::{child_or_vanished, text};
use super::mirror::{Mirrored, check_mirror};
use crate::drive::catalog::{keep_for_good, mark_stale, model_path, preset_gone};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::mount::Mount;
use crate::drive::places::{
    Container, DraftEntry, ModelFolder, Node, Place as _, Removal, dismiss_error, is_hidden,
    is_removed_part, refusals, shown_parts,
};
use crate::drive::posix::{Caller, FileKind, Ino, process_of};
use crate::drive::tree::Tree;
use crate::drive::values::local::DropFolder;
use crate::drive::values::names::shown_path;
use crate::drive::values::node::{Home, ListingKind, Model};
use crate::outbox::{DraftId, EntryId, EntryKind, model_of_loose_file};

/// The hidden file of an asset under this name. Tools that remove a file before they write it may copy it in
/// again.
pub fn removed_file(tree: &Tree, folder: &Node, name: &str) -> Option<Node> {
    let (draft, parent) = folder.draft_entry()?;
    let Some(asset) = tree.catalog().asset_of_draft(draft) else {
        return removed_unconfirmed_file(tree, draft, parent, name);
    };
    let record = tree.outbox().uploads().sent_record(asset)?;
    let entries = &record.entries;
    let path = match parent {
        EntryId::ROOT => name.to_owned(),
        parent => {
            let within = entries.iter().find(|entry| entry.id == parent)?;
            format!("{}/{name}", within.path)
        }
    };
    let entry = entries.iter().find(|entry| entry.path == path)?;
    let is_file = entry.kind == EntryKind::File;
    let node = Node::from(DraftEntry::in_folder(tree, draft, entry.id));
    (is_file && is_hidden(tree, &node)).then_some(node)
}

/// The same before the service has confirmed the upload, when the entries are still those of the draft.
fn removed_unconfirmed_file(
    tree: &Tree,
    draft: DraftId,
    parent: EntryId,
    name: &str,
) -> Option<Node> {
    let children = tree.outbox().entries().children(draft, parent).ok()?;
    let child = children.into_iter().find(|child| child.name == name)?;
    let node = Node::from(DraftEntry::in_folder(tree, draft, child.id));
    let is_removed_file =
        child.kind == EntryKind::File && is_frozen(tree, draft) && is_hidden(tree, &node);
    is_removed_file.then_some(node)
}

/// Shows a hidden node again.
pub fn unhide(tree: &Tree, node: &Node) {
    if let Some(model) = node.owner(tree) {
        tree.deletions().unhide(model, node);
    }
}

/// Finds the folder and the node of a name; refused on a read-only mount.
async fn to_be_removed<'a>(
    mount: &Arc<Mount>,
    parent: Ino,
    name: &'a OsStr,
    caller: &Caller,
) -> DriveResult<(Node, &'a str, Node)> {
    let folder = mount.node(parent)?;
    let name = text(name)?;
    let node = child_or_vanished(mount, (parent, &folder), name, caller).await?;
    if mount.config().read_only {
        return Err(refusals::read_only_mount());
    }
    Ok((folder, name, node))
}

pub async fn remove_file(
    mount: &Arc<Mount>,
    parent: Ino,
    name: &OsStr,
    caller: &Caller,
) -> DriveResult<()> {
    let _waits = mount.remover_waits(caller);
    let (folder, name, node) = to_be_removed(mount, parent, name, caller).await?;
    if check_mirror(mount, &folder, &node, caller).await? == Mirrored::Ignored {
        return Ok(());
    }
    remove_file_node(mount, (&folder, name), node, caller).await?;
    was_removed(mount, parent, name, caller);
    Ok(())
}

/// Notes that a process removed a name: what else it listed in the folder stays removable for it.
fn was_removed(tree: &Tree, parent: Ino, name: &str, caller: &Caller) {
    let (process, hold) = (caller.process(), tree.config().restore_after);
    tree.deletions()
        .was_removed((parent, name), process, process_of, hold);
}

/// Notes that the folder of a loose file is gone with the file: `rm -r` removes the folder next.
fn was_emptied(mount: &Mount, (folder, model): (&Node, &str), caller: &Caller) {
    let emptied = (mount.inodes().number(folder), model);
    let (process, hold) = (caller.process(), mount.config().restore_after);
    let mut deletions = mount.deletions();
    deletions.was_emptied(emptied, process, process_of, hold);
}

async fn remove_file_node(
    mount: &Arc<Mount>,
    (folder, name): (&Node, &str),
    node: Node,
    caller: &Caller,
) -> DriveResult<()> {
    match node.removal() {
        Removal::Vanished if node.kind() != Some(FileKind::Folder) => Ok(()),
        Removal::Entry(draft) => {
            if node.attributes(mount).await?.kind == FileKind::Folder {
                return Err(DriveError::IsAFolder);
            }
            remove_entry(mount, (folder, name), (draft, node), caller).await?;
            if let Some(model) = model_of_loose_file(name)
                && mount.outbox().drafts().get(draft).is_none()
            {
                was_emptied(mount, (folder, model), caller);
            }
            Ok(())
        }
        Removal::Job(folder, text_name) => remove_job(mount, folder, &text_name),
        Removal::JobPart(entry) if is_removed_part(mount, &entry) => {
            mount.deletions().forget_removed_part(&entry);
            Ok(())
        }
        Removal::ErrorText(parent) => dismiss_error(mount, parent),
        Removal::Preset if mount.config().no_delete && is_on_service(mount, name) => {
            Err(refusals::no_delete())
        }
        Removal::Preset => {
            let (shared, file_name) = (Arc::clone(mount), name.to_owned());
            mount
                .detached(async move {
                    let gone = shared.outbox().presets().remove(&file_name).await?;
                    if let Some(gone) = gone {
                        preset_gone(shared.catalog(), gone);
                        keep_for_good(shared.catalog()).await?;
                    }
                    mark_stale(shared.catalog(), ListingKind::Presets);
                    Ok(())
                })
                .await
        }
        Removal::Embed(embed) => delete_embed(mount, embed).await,
        _ if node.kind() == Some(FileKind::Folder) => Err(DriveError::IsAFolder),
        Removal::JobPart(_) | Removal::Part => hide(mount, node, caller).await,
        Removal::Model(_) | Removal::Refused | Removal::Vanished => {
            Err(refusals::not_permitted_here(&node.path(mount)))
        }
    }
}

/// Whether the service has a preset that is shown under the name.
pub fn is_on_service(tree: &Tree, preset: &str) -> bool {
    tree.catalog().known().presets.find(preset).is_some()
}

fn remove_job(tree: &Tree, folder: DropFolder, text_name: &str) -> DriveResult<()> {
    let in_outbox = folder.in_outbox();
    let job = tree.outbox().jobs().get(&in_outbox, text_name);
    tree.outbox().jobs().remove(&in_outbox, text_name)?;
    // Only parts that were shown are remembered: an editor looks up its own names again.
    for (_, part) in job.iter().flat_map(shown_parts) {
        let part_entry = folder.entry(text_name, part);
        let mut deletions = tree.deletions();
        deletions.keep_removed_part(part_entry, tree.config().restore_after);
    }
    Ok(())
}

async fn remove_entry(
    tree: &Arc<Tree>,
    (folder, name): (&Node, &str),
    (draft, node): (DraftId, Node),
    caller: &Caller,
) -> DriveResult<()> {
    let is_open = tree.catalog().asset_of_draft(draft).is_none();
    match folder.container() {
        Some(Container::Drafts) if is_open => Ok(tree.outbox().drafts().remove(draft)?),
        Some(Container::Drafts) => {
            let path = tree.catalog().home_path(Home::Made(draft));
            let path = shown_path(&path);
            Err(DriveError::NotPermitted(format!(
                "{name} has become a model; deleting its folder {path} deletes it"
            )))
        }
        Some(Container::Entries(_, parent)) if is_open && !is_frozen(tree, draft) => {
            let caller = caller.for_outbox();
            Ok(tree
                .outbox()
                .entries()
                .remove_file(draft, parent, name, &caller)?)
        }
        _ => hide(tree, node, caller).await,
    }
}

/// Removes an empty folder. For the folder of a model this deletes the model.
pub async fn remove_dir(
    mount: &Arc<Mount>,
    parent: Ino,
    name: &OsStr,
    caller: &Caller,
) -> DriveResult<()> {
    let _waits = mount.remover_waits(caller);
    let (folder, name, node) = to_be_removed(mount, parent, name, caller).await?;
    if check_mirror(mount, &folder, &node, caller).await? == Mirrored::Ignored {
        return Ok(());
    }
    remove_dir_node(mount, (&folder, name), node, caller).await?;
    was_removed(mount, parent, name, caller);
    Ok(())
}

async fn remove_dir_node(
    mount: &Arc<Mount>,
    (folder, name): (&Node, &str),
    node: Node,
    caller: &Caller,
) -> DriveResult<()> {
    match node.removal() {
        Removal::Vanished if node.kind() == Some(FileKind::Folder) => {
            mount.deletions().remove_emptied(name);
            Ok(())
        }
        Removal::Model(Model::Raw(Home::Made(draft))) if is_open_draft(mount, draft) => {
            if !is_empty_draft(mount, draft).await? {
                return Err(DriveError::NotEmpty);
            }
            mount.outbox().drafts().remove(draft)?;
            mount.deletions().end(Model::Raw(Home::Made(draft)));
            Ok(())
        }
        Removal::Model(model) => delete_model(mount, model, caller).await,
        Removal::Entry(draft) if !is_frozen(mount, draft) => {
            let parent = folder
                .draft_entry()
                .map_or(EntryId::ROOT, |(_, entry)| entry);
            let caller = caller.for_outbox();
            Ok(mount
                .outbox()
                .entries()
                .remove_dir(draft, parent, name, &caller)?)
        }
        Removal::Entry(_) | Removal::Part if node.kind() != Some(FileKind::File) => {
            check_emptied(mount, &node, caller).await?;
            hide(mount, node, caller).await
        }
        _ if node.kind() == Some(FileKind::Folder) => {
            Err(refusals::not_permitted_here(&node.path(mount)))
        }
        _ => Err(DriveError::NotAFolder),
    }
}

/// Refuses to remove a folder of a model with something in it. `rm -r` reads a folder once, before it
/// removes what it read: what the service makes meanwhile (analysis, renders) is not in its way.
async fn check_emptied(mount: &Arc<Mount>, folder: &Node, caller: &Caller) -> DriveResult<()> {
    let left = folder.rows(mount).await?;
    if left.is_empty() {
        return Ok(());
    }
    // Only files of the service appear without the user's action.
    let is_own = left.iter().any(|row| row.node.draft_entry().is_some());
    let model = folder.model_folder().or_else(|| folder.owner(mount));
    let Some(model) = model.filter(|_| !is_own) else {
        return Err(DriveError::NotEmpty);
    };
    let rows = mount.inodes().numbers(left.iter().map(|row| &row.node));
    let of = (model, mount.inodes().number(folder));
    let process = process_of(caller.pid);
    let hold = mount.config().restore_after;
    let deletions = mount.deletions();
    match deletions.has_only_new_rows(&rows, of, process, process_of, hold) {
        true => Ok(()),
        false => Err(DriveError::NotEmpty),
    }
}

/// True when nothing is left of a draft, or of the files in its zip.
async fn is_empty_draft(mount: &Arc<Mount>, draft: DraftId) -> DriveResult<bool> {
    let children = mount.outbox().entries().children(draft, EntryId::ROOT)?;
    let mut children = children.iter();
    if children.all(|it| is_hidden(mount, &DraftEntry::in_folder(mount, draft, it.id).into())) {
        return Ok(true);
    }
    let folder = ModelFolder(Home::Made(draft));
    let shown = folder.rows(mount).await?;
    Ok(shown.is_empty())
}

fn is_open_draft(tree: &Tree, draft: DraftId) -> bool {
    tree.catalog().asset_of_draft(draft).is_none()
}

/// Hides a part of a model until the model is deleted, or for a while.
async fn hide(tree: &Arc<Tree>, node: Node, caller: &Caller) -> DriveResult<()> {
    let model = node
        .owner(tree)
        .ok_or_else(|| refusals::not_permitted_here(&node.path(tree)))?;
    // Nothing is asked of the service for what it does not have.
    let is_local = matches!(model, Model::Raw(Home::Made(draft)) if is_open_draft(tree, draft));
    if !is_local {
        check_may_hide(tree, model, is_own_file(&node)).await?;
    }
    hide_part(tree, model, node, caller);
    Ok(())
}

fn hide_part(tree: &Tree, model: Model, node: Node, caller: &Caller) {
    let process = caller.process();
    tree.deletions()
        .hide(model, &node, process, tree.config().restore_after);
}

/// The `rmdir` that ends an `rm -r`: deletes on the service.
async fn delete_model(mount: &Arc<Mount>, model: Model, caller: &Caller) -> DriveResult<()> {
    check_may_delete(mount, model).await?;
    check_emptied(mount, &model.folder(), caller).await?;
    if !mount.deletions().may_end(model, caller.process()) {
        return Err(DriveError::NotPermitted(format!(
            "another process removed what was in {}; its files appear again in a moment; delete it with one `rm -r`",
            shown_path(&model_path(mount.catalog(), model))
        )));
    }
    let shared = Arc::clone(mount);
    let deleted = mount
        .detached(async move { delete_on_service(&shared, model).await })
        .await;
    mount.deletions().end(model);
    deleted
}
