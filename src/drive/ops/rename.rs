//! Renaming: freely among drafts, job texts and presets; never an asset, because the service has no
//! such call, and never with an error that would make `mv` copy and delete instead.

use std::ffi::OsStr;
use std::sync::Arc;

use super::lookup::text;
use crate::drive::catalog::{doubt, keep_for_good, preset_gone, preset_overlay, refreshed};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::ops::again::replace_sent_loose_file;
use crate::drive::ops::remove::is_on_service;
use crate::drive::ops::text::send_job;
use crate::drive::parts::Tree;
use crate::drive::places::{
    Container, DraftEntry, DropFolder, HeldPreset, JobPart, ModelFolder, Node, PresetFolder,
    RawModels, Removal, TextTarget, child, loose_row, refusals, sent_loose_file,
};
use crate::drive::posix::{Caller, Ino, RenameMode};
use crate::drive::values::names::HIDDEN_FOLDER;
use crate::drive::values::node::{Home, ListingKind};
use crate::outbox::{self, DraftId, DraftKind, EntryId, PresetFile, Renamed};

/// Renames.
pub(in crate::drive) async fn rename(
    tree: &Arc<Tree>,
    (parent, name): (Ino, &OsStr),
    (new_parent, new_name): (Ino, &OsStr),
    mode: RenameMode,
    caller: &Caller,
) -> DriveResult<()> {
    let (from, to) = (tree.node(parent)?, tree.node(new_parent)?);
    let (name, new_name) = (text(name)?, text(new_name)?);
    if tree.config.read_only {
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
            rename_job(tree, of, name, new_name, noreplace).await
        }
        (Some(Container::Presets), Some(Container::Presets)) => {
            rename_preset(tree, name, new_name, noreplace).await
        }
        (Some(source), Some(target)) if is_of_drafts(source) && is_of_drafts(target) => {
            let (from, to) = ((&from, source, name), (&to, target, new_name));
            rename_draft_entry(tree, from, to, noreplace, caller).await
        }
        (source, _) => {
            let node = child(tree, &from, name).await?;
            match source {
                Some(Container::Jobs(_) | Container::Presets) => Err(refusals::no_move_between()),
                Some(_) => refuse_move(tree, &node, &to),
                None => Err(refusals::no_rename(&node.path(tree))),
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
    tree: &Arc<Tree>,
    (from, source_in, name): (&Node, Container, &str),
    (to, target_in, new_name): (&Node, Container, &str),
    noreplace: bool,
    caller: &Caller,
) -> DriveResult<()> {
    let source = child(tree, from, name).await?;
    source.check_movable(tree)?;
    check_target(tree, to, target_in, new_name, &source).await?;
    if target_in == Container::Drafts
        && RawModels::open_draft(tree, new_name).is_none()
        && let Some(sent) = sent_loose_file(tree, new_name)
    {
        return match noreplace {
            true => Err(DriveError::Exists),
            false => replace_sent_loose_file(tree, &source, sent),
        };
    }
    let (from, to) = (place(source_in, name), place(target_in, new_name));
    let renamed = tree
        .outbox
        .rename(&from, &to, noreplace, &caller.for_outbox())?;
    relocate(tree, &source, renamed);
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
    if let Err(error) = refreshed(&tree.catalog, ListingKind::Assets).await {
        tracing::debug!(error = %error, "a draft is renamed without knowing the listing");
    }
    match RawModels::listed_asset(tree, new_name) {
        // An asset is never replaced by a rename.
        Some(_) if source.model_folder().is_some() => Err(DriveError::NotEmpty),
        Some(_) => Err(DriveError::IsAFolder),
        None => Ok(()),
    }
}

/// The kernel keeps the number of what it renamed.
fn relocate(tree: &Tree, source: &Node, renamed: Renamed) {
    let new = match renamed.entry {
        // A loose file is its draft's one file; a folder is the draft.
        EntryId::ROOT => match loose_row_of_kind(tree, renamed.draft) {
            Some(node) => node,
            None => ModelFolder(Home::Made(renamed.draft)).into(),
        },
        entry => {
            let draft = renamed.draft;
            DraftEntry { draft, entry }.into()
        }
    };
    if new != *source {
        tree.inodes.relocate(source, new);
    }
}

fn loose_row_of_kind(tree: &Tree, draft: DraftId) -> Option<Node> {
    let info = tree.outbox.draft(draft)?;
    let row = loose_row(tree, draft).filter(|_| info.kind == DraftKind::LooseFile);
    row.map(|row| row.node)
}

async fn rename_job(
    tree: &Arc<Tree>,
    drop: DropFolder,
    name: &str,
    new_name: &str,
    noreplace: bool,
) -> DriveResult<()> {
    let folder = drop.in_outbox();
    if tree.outbox.job(&folder, name).is_none() {
        return match child(tree, &drop.into(), name).await {
            Ok(node) => Err(refusals::no_rename(&node.path(tree))),
            Err(error) => Err(error),
        };
    }
    if noreplace && tree.outbox.job(&folder, new_name).is_some() {
        return Err(DriveError::Exists);
    }
    tree.outbox.rename_job(&folder, name, new_name)?;
    let (from, to) = (
        TextTarget::Job(drop, name.into()),
        TextTarget::Job(drop, new_name.into()),
    );
    tree.handles.rename_text(&from, &to);
    let node = |name: &str| Node::from(drop.entry(name, JobPart::Text));
    tree.inodes.relocate(&node(name), node(new_name));
    // A text that is still open for writing goes out when it is closed.
    if tree.handles.is_text_open(&to) {
        return Ok(());
    }
    send_job(tree, drop, new_name.to_owned()).await
}

async fn rename_preset(
    tree: &Arc<Tree>,
    name: &str,
    new_name: &str,
    noreplace: bool,
) -> DriveResult<()> {
    let folder = Node::from(PresetFolder);
    let source = child(tree, &folder, name).await?;
    if !matches!(source.removal(), Removal::Preset) {
        return Err(refusals::not_permitted_here(&source.path(tree)));
    }
    if noreplace && child(tree, &folder, new_name).await.is_ok() {
        return Err(DriveError::Exists);
    }
    // The service has one of them afterwards.
    let replaces = name != new_name && is_on_service(tree, name) && is_on_service(tree, new_name);
    if replaces && tree.config.no_delete {
        return Err(refusals::no_delete());
    }
    let (shared, from, to) = (Arc::clone(tree), name.to_owned(), new_name.to_owned());
    tree.detached(async move {
        let gone = shared.outbox.rename_preset(&from, &to).await?;
        if let Some(gone) = gone {
            preset_gone(&shared.catalog, gone);
        }
        preset_overlay(&shared.catalog);
        keep_for_good(&shared.catalog).await
    })
    .await?;
    // The kernel keeps the number of what it renamed.
    let is_held = |file: &PresetFile| file.name == new_name;
    if preset_overlay(&tree.catalog).files.iter().any(is_held) {
        tree.inodes
            .relocate(&source, HeldPreset(new_name.into()).into());
    }
    tree.handles.rename_text(
        &TextTarget::Preset(name.into()),
        &TextTarget::Preset(new_name.into()),
    );
    doubt(&tree.catalog, ListingKind::Presets);
    Ok(())
}

fn is_of_drafts(container: Container) -> bool {
    matches!(container, Container::Drafts | Container::Entries(..))
}

/// A name in a folder of drafts, in the outbox's words.
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
