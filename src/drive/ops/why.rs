//! Failure messages by path: why the last operation failed, or what a draft waits for.

use crate::drive::error::DriveResult;
use crate::drive::failures::Deed;
use crate::drive::mount::Mount;
use crate::drive::places::Node;
use crate::drive::posix::Ino;
use crate::drive::tree::Tree;
use crate::drive::values::node::Model;

/// The last failure of a node: of an operation, or of work in the background.
pub(in crate::drive) fn why(tree: &Tree, node: &Node) -> Option<String> {
    let path = node.path(tree);
    let at_other_path = || tree.failures().of(&node.other_path(tree)?);
    let of_operation = tree.failures().of(&path).or_else(at_other_path);
    let own = of_operation.or_else(|| node.failure(tree));
    let inside = own.or_else(|| tree.failures().last_in(&path));
    inside.or_else(|| waits_for(tree, node))
}

fn waits_for(tree: &Tree, node: &Node) -> Option<String> {
    let Model::Raw(home) = node.shown_model(tree)? else {
        return None;
    };
    let view = tree.catalog().model(home)?;
    let draft = view.draft.filter(|_| view.asset.is_none())?;
    Some(
        draft
            .missing_files
            .unwrap_or_else(|| draft.status.to_string()),
    )
}

/// The last failure of a name that may not exist.
pub(in crate::drive) fn why_name(tree: &Tree, folder: &Node, name: &str) -> Option<String> {
    let folder = folder.path(tree);
    tree.failures()
        .of(&format!("{}/{name}", folder.trim_end_matches('/')))
}

/// Stores the failure of an operation for its path, or ends an earlier one; returns the result.
pub(in crate::drive) fn noted<T>(
    mount: &Mount,
    ino: Ino,
    name: Option<&str>,
    deed: Deed,
    result: DriveResult<T>,
) -> DriveResult<T> {
    match &result {
        Err(error) if error.is_worth_a_sentence() => {
            if let Ok(node) = mount.node(ino) {
                note_failure(mount, &node, name, deed, &error.to_string());
            }
        }
        Ok(_) if !mount.failures().is_empty() => {
            if let Ok(node) = mount.node(ino) {
                let path = path_at(mount, &node, name);
                mount.failures().succeeded(&path, deed);
            }
        }
        _ => {}
    }
    result
}

/// Stores the failure of background work for a node, or ends an earlier one; returns the result.
pub(in crate::drive) fn noted_node<T>(
    tree: &Tree,
    node: &Node,
    result: DriveResult<T>,
) -> DriveResult<T> {
    match &result {
        Err(error) if error.is_worth_a_sentence() => {
            note_failure(tree, node, None, Deed::Behind, &error.to_string())
        }
        Err(_) => {}
        Ok(_) => {
            tree.failures().clear(&node.path(tree));
        }
    }
    result
}

fn note_failure(tree: &Tree, node: &Node, name: Option<&str>, deed: Deed, why: &str) {
    let path = path_at(tree, node, name);
    tracing::debug!(path, why, "an operation failed");
    tree.failures().note(&path, deed, why);
}

/// The path of a node, or of a name in it.
fn path_at(tree: &Tree, node: &Node, name: Option<&str>) -> String {
    let path = node.path(tree);
    match name {
        Some(name) => format!("{}/{name}", path.trim_end_matches('/')),
        None => path,
    }
}
