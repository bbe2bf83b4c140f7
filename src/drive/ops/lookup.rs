//! Finding a name in a folder, and the attributes of the found node.

use std::ffi::OsStr;
use std::sync::Arc;

use crate::drive::catalog::look_at;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::mount::Mount;
use crate::drive::ops::attributes::entry;
use crate::drive::ops::mirror::note_lookup;
use crate::drive::places::{Container, Node, Vanished, child, refusals};
use crate::drive::posix::{Caller, Entry, FileKind, Ino, process_of};
use crate::drive::tree::Tree;
use crate::drive::values::names::NAME_MAX_BYTES;

/// Finds a name and counts one kernel reference to its node.
pub async fn lookup(
    mount: &Arc<Mount>,
    parent: Ino,
    name: &OsStr,
    caller: &Caller,
) -> DriveResult<Entry> {
    let _waits = mount.remover_waits(caller);
    let folder = mount.node(parent)?;
    let name = text(name)?;
    let found = child_or_vanished(mount, (parent, &folder), name, caller).await;
    note_lookup(mount, &folder, name, found.as_ref().ok(), caller);
    let node = found?;
    look(mount, &node);
    entry(mount, &node).await
}

/// The node of a name in a folder. A name that a process listed before it removes it is also found when it went
/// in between without the action of a user, as `rm -r` would fail otherwise.
pub async fn child_or_vanished(
    mount: &Mount,
    (parent, folder): (Ino, &Node),
    name: &str,
    caller: &Caller,
) -> DriveResult<Node> {
    let missing = match child(mount, folder, name).await {
        Err(DriveError::NotFound) => DriveError::NotFound,
        found => return found,
    };
    let model = folder.model_folder().or_else(|| folder.owner(mount));
    let hold = mount.config().restore_after;
    let kind = match model {
        Some(model) => {
            let deletions = mount.deletions();
            deletions.find_vanished((model, parent, name), process_of, caller.pid, hold)
        }
        None => {
            let is_emptied = matches!(folder.container(), Some(Container::Drafts))
                && mount.deletions().is_emptied(name, caller.process(), hold);
            is_emptied.then_some(FileKind::Folder)
        }
    };
    let vanished = kind.map(|kind| Vanished {
        folder: folder.clone(),
        name: name.into(),
        kind,
    });
    vanished.map(Node::from).ok_or(missing)
}

/// Notes that a node is looked at: the state of its model is polled for a while.
pub fn look(tree: &Tree, node: &Node) {
    if let Some(model) = node.shown_model(tree) {
        look_at(tree.catalog(), model);
    }
}

/// The name as UTF-8. Other names cannot be created, so they are never found.
pub fn text(name: &OsStr) -> DriveResult<&str> {
    if name.len() > NAME_MAX_BYTES {
        return Err(DriveError::NameTooLong);
    }
    name.to_str().ok_or(DriveError::NotFound)
}

/// A name for a new file or folder: it must be UTF-8, which the service needs.
pub fn check_new_name(name: &OsStr) -> DriveResult<&str> {
    text(name).map_err(|error| match error {
        DriveError::NotFound => refusals::not_text(name),
        other => other,
    })
}
