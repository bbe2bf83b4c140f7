//! A shared place, which is compared and numbered by its identity.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use super::place::Place;
use crate::drive::inodes::Numbered;
use crate::drive::posix::FileKind;

/// A node of the tree. Nodes with the same identity are equal.
#[derive(Clone)]
pub struct Node(Arc<dyn Place>);

impl Numbered for Node {
    fn identity(&self) -> String {
        self.0.identity()
    }
}

impl<P: Place + 'static> From<P> for Node {
    fn from(place: P) -> Node {
        Node(Arc::new(place))
    }
}

impl Deref for Node {
    type Target = dyn Place;

    fn deref(&self) -> &(dyn Place + 'static) {
        &*self.0
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Node) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.identity() == other.0.identity()
    }
}

impl Eq for Node {}

impl Hash for Node {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.identity().hash(state);
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node({})", self.0.identity())
    }
}

/// One row of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub name: String,
    pub node: Node,
    pub kind: FileKind,
}

impl Row {
    pub(super) fn new(name: impl Into<String>, place: impl Place + 'static) -> Row {
        let kind = place
            .kind()
            .expect("only entries of drafts have no kind of their own");
        Row::of_kind(name, place, kind)
    }

    pub(super) fn of_kind(
        name: impl Into<String>,
        place: impl Place + 'static,
        kind: FileKind,
    ) -> Row {
        Row {
            name: name.into(),
            node: place.into(),
            kind,
        }
    }
}
