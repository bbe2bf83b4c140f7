//! The sentence that is kept for a path: why the last operation on it failed, or what holds it back.

use crate::drive::places::{Model, Node};
use crate::drive::shared::Shared;

impl Shared {
    /// The sentence of the last failure of a thing: one of an operation, or of what went on behind.
    pub(in crate::drive) fn why(&self, node: &Node) -> Option<String> {
        let path = node.path(self);
        let own = self.failures.of(&path).or_else(|| node.failure(self));
        let inside = own.or_else(|| self.failures.last_in(&path));
        inside.or_else(|| self.waits_for(node))
    }

    /// What a draft that has not failed waits for.
    fn waits_for(&self, node: &Node) -> Option<String> {
        let Model::Raw(home) = node.shown_model(self)? else {
            return None;
        };
        let view = self.model(home)?;
        let draft = view.draft.filter(|_| view.asset.is_none())?;
        Some(draft.lacking.unwrap_or(draft.status_text))
    }

    /// The sentence for a name in a folder that may stand for nothing.
    pub(in crate::drive) fn why_name(&self, folder: &Node, name: &str) -> Option<String> {
        let folder = folder.path(self);
        self.failures
            .of(&format!("{}/{name}", folder.trim_end_matches('/')))
    }
}
