//! Finding a name in a folder, and the attributes of what is found.

use std::ffi::OsStr;
use std::sync::Arc;

use crate::drive::catalog::look_at;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::ops::attributes::entry;
use crate::drive::parts::Tree;
use crate::drive::places::{Node, child};
use crate::drive::posix::{Entry, Ino};
use crate::drive::values::names::NAME_MAX_BYTES;

/// Finds a name and counts a reference to what it stands for.
pub(in crate::drive) async fn lookup(
    tree: &Arc<Tree>,
    parent: Ino,
    name: &OsStr,
) -> DriveResult<Entry> {
    let folder = tree.node(parent)?;
    let node = child(tree, &folder, text(name)?).await?;
    look(tree, &node);
    entry(tree, &node).await
}

/// Someone looks at a thing: what can change of it is watched for a while.
pub(in crate::drive) fn look(tree: &Tree, node: &Node) {
    if let Some(model) = node.shown_model(tree) {
        look_at(&tree.catalog, model);
    }
}

/// The name as text. Names that are no text cannot be made here, so they are never found.
pub(in crate::drive) fn text(name: &OsStr) -> DriveResult<&str> {
    if name.len() > NAME_MAX_BYTES {
        return Err(DriveError::NameTooLong);
    }
    name.to_str().ok_or(DriveError::NotFound)
}
