//! Finding a name in a folder, and the attributes of what is found.

use std::ffi::OsStr;
use std::sync::Arc;

use crate::drive::catalog::look_at;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::mount::Mount;
use crate::drive::ops::attributes::entry;
use crate::drive::places::{Node, child};
use crate::drive::posix::{Entry, Ino};
use crate::drive::tree::Tree;
use crate::drive::values::names::NAME_MAX_BYTES;

/// Finds a name and counts one kernel reference to its node.
pub(in crate::drive) async fn lookup(
    mount: &Arc<Mount>,
    parent: Ino,
    name: &OsStr,
) -> DriveResult<Entry> {
    let folder = mount.node(parent)?;
    let node = child(mount, &folder, text(name)?).await?;
    look(mount, &node);
    entry(mount, &node).await
}

/// Notes that a node is looked at: the state of its model is polled for a while.
pub(in crate::drive) fn look(tree: &Tree, node: &Node) {
    if let Some(model) = node.shown_model(tree) {
        look_at(tree.catalog(), model);
    }
}

/// The name as UTF-8. Other names cannot be created, so they are never found.
pub(in crate::drive) fn text(name: &OsStr) -> DriveResult<&str> {
    if name.len() > NAME_MAX_BYTES {
        return Err(DriveError::NameTooLong);
    }
    name.to_str().ok_or(DriveError::NotFound)
}
