//! The sentence that is kept for a path: why the last operation on it failed, or what holds it back.

use crate::drive::parts::Tree;
use crate::drive::places::{Model, Node};

/// The sentence of the last failure of a thing: one of an operation, or of what went on behind.
pub(in crate::drive) fn why(tree: &Tree, node: &Node) -> Option<String> {
    let path = node.path(tree);
    let own = tree.failures.of(&path).or_else(|| node.failure(tree));
    let inside = own.or_else(|| tree.failures.last_in(&path));
    inside.or_else(|| waits_for(tree, node))
}

/// What a draft that has not failed waits for.
fn waits_for(tree: &Tree, node: &Node) -> Option<String> {
    let Model::Raw(home) = node.shown_model(tree)? else {
        return None;
    };
    let view = tree.catalog.model(home)?;
    let draft = view.draft.filter(|_| view.asset.is_none())?;
    Some(draft.lacking.unwrap_or(draft.status_text))
}

/// The sentence for a name in a folder that may stand for nothing.
pub(in crate::drive) fn why_name(tree: &Tree, folder: &Node, name: &str) -> Option<String> {
    let folder = folder.path(tree);
    tree.failures
        .of(&format!("{}/{name}", folder.trim_end_matches('/')))
}
