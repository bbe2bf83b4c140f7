//! Finding a name in a folder.
//!
//! Large folders are searched by name, small ones by their rows. A name is reported missing only after the
//! listing was refreshed; a failed refresh hides nothing.

use std::sync::Arc;

use super::hidden::HiddenFolder;
use super::hiding::is_hidden;
use super::node::Node;
use super::root::Root;
use crate::drive::catalog::learn_folders;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::tree::Tree;
use crate::drive::values::names::HIDDEN_FOLDER;

/// The node of a name in a folder.
pub async fn child(tree: &Arc<Tree>, folder: &Node, name: &str) -> DriveResult<Node> {
    if name == HIDDEN_FOLDER
        && let Some(parent) = folder.hidden_parent()
    {
        return Ok(HiddenFolder(parent).into());
    }
    let is_learned = ["renders", "converted", "pbr"]
        .iter()
        .any(|learned| name.starts_with(learned));
    if is_learned && let Some(model) = folder.model_folder() {
        learn_folders(tree.catalog(), model).await;
    }
    let node = folder.child(tree, name).await?;
    match is_hidden(tree, &node) {
        true => Err(DriveError::NotFound),
        false => Ok(node),
    }
}

/// The node of a path from the root of the drive.
pub async fn resolve(tree: &Arc<Tree>, path: &str) -> DriveResult<Node> {
    let mut node = Node::from(Root);
    for name in path.split('/').filter(|name| !name.is_empty()) {
        node = child(tree, &node, name).await?;
    }
    Ok(node)
}
