//! Renaming: possible among drafts, job texts and presets. The service cannot rename assets; the error is
//! chosen so that `mv` does not fall back to copy and delete.

use std::ffi::OsStr;
use std::sync::Arc;

use super::lookup::{check_new_name, text};
use crate::drive::catalog::{
    keep_for_good, mark_stale, preset_gone, preset_overlay, refresh_listing,
};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::mount::Mount;
use crate::drive::ops::again::{RenamedOver, rename_over_beside};
use crate::drive::ops::remove::is_on_service;
use crate::drive::ops::text::send_job;
use crate::drive::places::{
    Container, DraftEntry, HeldPreset, ModelFolder, Node, Place as _, PresetFolder, RawModels,
    Removal, child, file_beside, loose_row, refusals,
};
use crate::drive::posix::{Caller, Ino, RenameMode};
use crate::drive::tree::Tree;
use crate::drive::values::local::{DropFolder, JobPart, TextTarget};
use crate::drive::values::names::HIDDEN_FOLDER;
use crate::drive::values::node::{Home, ListingKind};
use crate::outbox::{self, DraftId, DraftKind, EntryId, EntryKind, PresetFile, Renamed};

pub async fn rename(
    mount: &Arc<Mount>,
    (parent, name): (Ino, &OsStr),
    (new_parent, new_name): (Ino, &OsStr),
    mode: RenameMode,
    caller: &Caller,
) -> DriveResult<()> {
    let (from, to) = (mount.node(parent)?, mount.node(new_parent)?);
    let (name, new_name) = (text(name)?, check_new_name(new_name)?);
    if mount.config().read_only {
        return Err(refusals::read_only_mount());
    }
    if mode == RenameMode::Exchange {
        return Err(DriveError::Invalid(
            "two names cannot be exchanged here; rename them one after the other".into(),
        ));
    }
    if [name, new_name].contains(&HIDDEN_FOLDER) {
        return Err(refusals::not_permitted_here(HIDDEN_FOLDER));
    }
    let noreplace = mode == RenameMode::NoReplace;
    match (from.container(), to.container()) {
        (Some(Container::Jobs(of)), Some(Container::Jobs(to))) if of == to => {
            rename_job(mount, of, name, new_name, noreplace).await
        }
        (Some(Container::Presets), Some(Container::Presets)) => {
            rename_preset(mount, name, new_name, noreplace).await
        }
        (Some(source), Some(target)) if is_of_drafts(source) && is_of_drafts(target) => {
            let (from, to) = ((&from, source, name), (&to, target, new_name));
            rename_draft_entry(mount, from, to, noreplace, caller).await
        }
        (source, _) => {
            let node = child(mount, &from, name).await?;
            match source {
                Some(Container::Jobs(_) | Container::Presets) => Err(refusals::no_move_between()),
                Some(_) => refuse_move(mount, &node, &to),
                None => Err(refusals::no_rename(&node.path(mount))),
            }
        }
    }
}

fn refuse_move(tree: &Tree, node: &Node, to: &Node) -> DriveResult<()> {
    if node.model_folder().is_some() {
        node.check_movable(tree)?;
    }
    match to.path(tree).as_str() {
        "/" => Err(refusals::no_place("/")),
        _ => Err(refusals::no_move_between()),
    }
}

async fn rename_draft_entry(
    mount: &Arc<Mount>,
    (from, source_in, name): (&Node, Container, &str),
    (to, target_in, new_name): (&Node, Container, &str),
    noreplace: bool,
    caller: &Caller,
) -> DriveResult<()> {
    let source = child(mount, from, name).await?;
    source.check_movable(mount)?;
    check_target(mount, to, target_in, new_name, &source).await?;
    if target_in == Container::Drafts && !noreplace {
        if let Some(standing) = file_beside(mount, new_name) {
            let uploads = mount.outbox().uploads();
            uploads.until_checked(standing.draft).await;
        }
        return rename_to_name(mount, (&source, &place(source_in, name)), new_name, caller);
    }
    if target_in == Container::Drafts
        && RawModels::open_draft(mount, new_name).is_none()
        && file_beside(mount, new_name).is_some()
    {
        return Err(DriveError::Exists);
    }
    let (from, to) = (place(source_in, name), place(target_in, new_name));
    let renamed = mount
        .outbox()
        .drafts()
        .rename(&from, &to, noreplace, &caller.for_outbox())?;
    relocate(mount, &source, renamed);
    Ok(())
}

/// Moves a draft or one of its entries to a name in `rawmodels/`. If an uploaded loose file has the name, what is moved becomes
/// the next version of its model.
pub fn rename_to_name(
    mount: &Mount,
    (source, from): (&Node, &outbox::Place),
    new_name: &str,
    caller: &Caller,
) -> DriveResult<()> {
    let caller = caller.for_outbox();
    let beside = match RawModels::open_draft(mount, new_name) {
        Some(_) => None,
        None => file_beside(mount, new_name),
    };
    let renamed = match beside {
        Some(standing) => {
            let path = standing.path(mount);
            let renamed = rename_over_beside(mount, (source, from), new_name, standing, &caller)?;
            // A save by a rename ends earlier failures of saving the file.
            mount.failures().answered(&path);
            match renamed {
                RenamedOver::Same => return Ok(()),
                RenamedOver::Other(renamed) => renamed,
            }
        }
        None => {
            let to = outbox::Place::Top(new_name.to_owned());
            mount.outbox().drafts().rename(from, &to, false, &caller)?
        }
    };
    relocate(mount, source, renamed);
    Ok(())
}

async fn check_target(
    tree: &Arc<Tree>,
    to: &Node,
    container: Container,
    new_name: &str,
    source: &Node,
) -> DriveResult<()> {
    if container != Container::Drafts {
        return to.check_may_make(tree);
    }
    if new_name.starts_with(".Trash") {
        return Err(refusals::no_trash());
    }
    if let Err(error) = refresh_listing(tree.catalog(), ListingKind::Assets).await {
        tracing::debug!(error = %error, "a draft is renamed without knowing the listing");
    }
    match RawModels::listed_asset(tree, new_name) {
        // An asset is never replaced by a rename.
        Some(_) if source.model_folder().is_some() => Err(DriveError::NotEmpty),
        Some(_) => Err(DriveError::IsAFolder),
        None => Ok(()),
    }
}

/// The kernel keeps the inode number across a rename.
pub fn relocate(mount: &Mount, source: &Node, renamed: Renamed) {
    let new = match renamed.entry {
        // The root of a draft is its one file for a loose file, else its folder.
        EntryId::ROOT => match loose_row_of_kind(mount, renamed.draft) {
            Some(node) => node,
            None => ModelFolder(Home::Made(renamed.draft)).into(),
        },
        entry => DraftEntry::new(renamed.draft, entry).into(),
    };
    // Also if both count as the same node: an entry keeps its identity in another draft, but is found in that draft alone.
    mount.inodes().relocate(source, new);
    match source.removal() {
        Removal::Entry(draft) if draft == renamed.draft => {}
        _ => relocate_below(mount, renamed.draft, renamed.entry),
    }
}

/// The entries below a folder that is in another draft now.
fn relocate_below(mount: &Mount, draft: DraftId, folder: EntryId) {
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        // A file has none.
        let children = mount.outbox().entries().children(draft, folder);
        for child in children.unwrap_or_default() {
            let entry = child.id;
            let moved = Node::from(DraftEntry::new(draft, entry));
            mount.inodes().relocate(&moved, moved.clone());
            if child.kind == EntryKind::Folder {
                folders.push(entry);
            }
        }
    }
}

fn loose_row_of_kind(tree: &Tree, draft: DraftId) -> Option<Node> {
    let info = tree.outbox().drafts().get(draft)?;
    let row = loose_row(tree, draft).filter(|_| info.kind == DraftKind::LooseFile);
    row.map(|row| row.node)
}

async fn rename_job(
    mount: &Arc<Mount>,
    drop: DropFolder,
    name: &str,
    new_name: &str,
    noreplace: bool,
) -> DriveResult<()> {
    let folder = drop.in_outbox();
    if mount.outbox().jobs().get(&folder, name).is_none() {
        return match child(mount, &drop.into(), name).await {
            Ok(node) => Err(refusals::no_rename(&node.path(mount))),
            Err(error) => Err(error),
        };
    }
    if noreplace && mount.outbox().jobs().get(&folder, new_name).is_some() {
        return Err(DriveError::Exists);
    }
    mount.outbox().jobs().rename(&folder, name, new_name)?;
    let (from, to) = (
        TextTarget::Job(drop, name.into()),
        TextTarget::Job(drop, new_name.into()),
    );
    mount.handles().rename_text(&from, &to);
    let node = |name: &str| Node::from(drop.entry(name, JobPart::Text));
    mount.inodes().relocate(&node(name), node(new_name));
    // A text that is open for writing is sent at close.
    if mount.handles().is_text_open(&to) {
        return Ok(());
    }
    send_job(mount, drop, new_name.to_owned()).await
}

async fn rename_preset(
    mount: &Arc<Mount>,
    name: &str,
    new_name: &str,
    noreplace: bool,
) -> DriveResult<()> {
    let folder = Node::from(PresetFolder);
    let source = child(mount, &folder, name).await?;
    if !matches!(source.removal(), Removal::Preset) {
        return Err(refusals::not_permitted_here(&source.path(mount)));
    }
    if noreplace && child(mount, &folder, new_name).await.is_ok() {
        return Err(DriveError::Exists);
    }
    // The rename would delete one of the two on the service.
    let replaces = name != new_name && is_on_service(mount, name) && is_on_service(mount, new_name);
    if replaces && mount.config().no_delete {
        return Err(refusals::no_delete());
    }
    let (shared, from, to) = (Arc::clone(mount), name.to_owned(), new_name.to_owned());
    mount
        .detached(async move {
            let gone = shared.outbox().presets().rename(&from, &to).await?;
            if let Some(gone) = gone {
                preset_gone(shared.catalog(), gone);
            }
            preset_overlay(shared.catalog());
            keep_for_good(shared.catalog()).await
        })
        .await?;
    // The kernel keeps the inode number across a rename.
    let is_held = |file: &PresetFile| file.name == new_name;
    if preset_overlay(mount.catalog()).files.iter().any(is_held) {
        mount
            .inodes()
            .relocate(&source, HeldPreset(new_name.into()).into());
    }
    mount.handles().rename_text(
        &TextTarget::Preset(name.into()),
        &TextTarget::Preset(new_name.into()),
    );
    mark_stale(mount.catalog(), ListingKind::Presets);
    Ok(())
}

fn is_of_drafts(container: Container) -> bool {
    matches!(container, Container::Drafts | Container::Entries(..))
}

/// A name in a folder of drafts as the outbox addresses it.
fn place(folder: Container, name: &str) -> outbox::Place {
    let name = name.to_owned();
    match folder {
        Container::Entries(draft, parent) => outbox::Place::In {
            draft,
            parent,
            name,
        },
        _ => outbox::Place::Top(name),
    }
}
