//! Programs that make one folder equal to another. They list `rawmodels/chair/` and not the loose file `chair.glb` that
//! it was made of, so they take the folder for something that their source lacks, remove it and send the file again.
//! A model that may have been a loose file is kept from them.
//!
//! Those that are known by name would fail if the removal failed, although nothing changed: it is ignored. Others are
//! known by what they did: they looked for the loose file just before. Their removal is refused.

use std::sync::Arc;
use std::time::Duration;

use crate::drive::catalog::{files_folder, model_path};
use crate::drive::deletions::LooseLookup;
use crate::drive::error::DriveResult;
use crate::drive::mount::Mount;
use crate::drive::ops::delete::is_own_file;
use crate::drive::places::{Container, Node, refusals};
use crate::drive::posix::{Caller, process_of};
use crate::drive::tree::Tree;
use crate::drive::values::node::{Home, Model, RemoteFolder};
use crate::outbox::model_of_only_file;

/// Names of the programs, without what follows the letters (`unison-2.52`).
const MIRRORS: &[&str] = &["git", "lftp", "openrsync", "rclone", "rsync", "unison"];

/// How long a process that looked for a loose file may not remove its model.
const LOOKED_FOR: Duration = Duration::from_secs(60);

/// What becomes of a removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mirrored {
    /// It is made.
    No,
    /// It is reported as made, and nothing is removed.
    Ignored,
}

/// A process looked for a name in a folder.
pub fn note_lookup(tree: &Tree, folder: &Node, name: &str, found: Option<&Node>, caller: &Caller) {
    if !matches!(folder.container(), Some(Container::Drafts)) || model_of_only_file(name).is_none()
    {
        return;
    }
    let is_beside = |node: &Node| {
        let draft = node.draft_entry().map(|(draft, _)| draft);
        draft.is_some_and(|draft| {
            tree.catalog().asset_of_draft(draft).is_some()
                || tree.outbox().drafts().file_beside(draft).is_some()
        })
    };
    let found = match found {
        None => LooseLookup::Missing,
        Some(node) if is_beside(node) => LooseLookup::Beside,
        Some(_) => return,
    };
    tree.deletions().was_looked_for(name, found, caller.pid);
}

/// Decides whether a process may remove the folder of a model, or a part of it.
///
/// # Errors
/// If the process looked for the loose file of the model.
pub async fn check_mirror(
    mount: &Arc<Mount>,
    folder: &Node,
    node: &Node,
    caller: &Caller,
) -> DriveResult<Mirrored> {
    let is_in_top = matches!(folder.container(), Some(Container::Drafts));
    let model = node.model_folder().or_else(|| node.owner(mount));
    let Some(Model::Raw(home)) = model.filter(|_| !is_in_top || node.model_folder().is_some())
    else {
        return Ok(Mirrored::No);
    };
    let is_known = is_mirror(&caller.program());
    let looked_for = mount
        .deletions()
        .looked_for(caller.process(), process_of, LOOKED_FOR);
    if !is_known && looked_for.is_empty() {
        return Ok(Mirrored::No);
    }
    let Some((loose, lookup)) = loose_file(mount, home).await else {
        return Ok(Mirrored::No);
    };
    let path = model_path(mount.catalog(), Model::Raw(home));
    if is_known {
        tracing::info!(path, loose, "kept from a program that mirrors loose files");
        return Ok(Mirrored::Ignored);
    }
    match looked_for.contains(&(loose.clone(), lookup)) {
        true => Err(refusals::looked_for(&path, &loose)),
        false => Ok(Mirrored::No),
    }
}

fn is_mirror(program: &str) -> bool {
    let end = program.find(|letter: char| !letter.is_ascii_alphabetic());
    MIRRORS.contains(&&program[..end.unwrap_or(program.len())])
}

/// The name of the loose file that a model was made of, or may have been made of on another machine: its only file, if
/// that has the name of the model, or the zip whose files are shown. With it, what a lookup of that name finds here.
async fn loose_file(mount: &Arc<Mount>, home: Home) -> Option<(String, LooseLookup)> {
    let Some(asset) = mount.catalog().asset_of(home) else {
        let Home::Made(draft) = home else {
            return None;
        };
        let name = mount.outbox().drafts().file_beside(draft)?;
        return Some((name, LooseLookup::Beside));
    };
    if let Some(record) = mount.outbox().uploads().sent_record(asset) {
        return Some((record.loose_name()?, LooseLookup::Beside));
    }
    let name = mount.catalog().asset(asset)?.name;
    if let Ok(RemoteFolder::AssetMembers(_)) = files_folder(mount.catalog(), asset).await {
        return Some((format!("{name}.zip"), LooseLookup::Missing));
    }
    let rows = Model::Raw(home).folder().rows(mount).await;
    // What is not known may have been a loose file.
    let Ok(rows) = rows else {
        return Some((name, LooseLookup::Missing));
    };
    let mut own = rows.into_iter().filter(|row| is_own_file(&row.node));
    match (own.next(), own.next()) {
        (Some(only), None) if model_of_only_file(&only.name) == Some(&name) => {
            Some((only.name, LooseLookup::Missing))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirror_is_known_by_the_letters_of_its_name() {
        for name in ["rsync", "unison-2.52", "rclone", "git", "git-annex"] {
            assert!(is_mirror(name), "{name}");
        }
        for name in ["rm", "thunar", "gitk", "", "2rsync"] {
            assert!(!is_mirror(name), "{name}");
        }
    }
}
