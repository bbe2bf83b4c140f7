//! The tree of one draft in memory: folders, files, names and attributes. Pure. Every change is one journal record,
//! and replay uses the same methods.
//!
//! Invariant: every entry except the root is a child of its parent under its own name, and is reachable from the
//! root.

mod node;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::outbox::drafts::info::EntryKind;
use crate::outbox::ids::EntryId;
use crate::outbox::journal::forms::as_pairs;
use crate::outbox::staging::ContentId;

pub use node::{Attributes, FileBody, FileState, Node, NodeBody};

/// Why a change of a tree is impossible. Callers check first, so in practice this means that the journal is damaged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// No entry has this id.
    #[error("entry {0} is not in the tree")]
    NoEntry(EntryId),
    /// The id is in use.
    #[error("entry {0} is in the tree already")]
    Duplicate(EntryId),
    /// The name is in use.
    #[error("the name {0:?} is taken")]
    Taken(String),
    /// A folder was needed.
    #[error("entry {0} is not a folder")]
    NotAFolder(EntryId),
    /// A file was needed.
    #[error("entry {0} is not a file")]
    NotAFile(EntryId),
    /// The root cannot be moved.
    #[error("the draft's own folder cannot be detached")]
    Root,
}

/// A part of a tree that was taken out, to be grafted elsewhere or dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// The topmost entry.
    pub top: EntryId,
    nodes: BTreeMap<EntryId, Node>,
}

impl Branch {
    /// The staged contents in it.
    pub fn contents(&self) -> Vec<ContentId> {
        let mut found: Vec<ContentId> = self
            .nodes
            .values()
            .filter_map(|node| node.file().map(|file| file.content))
            .collect();
        found.sort_unstable();
        found
    }

    /// The kind of its topmost entry.
    pub fn kind(&self) -> EntryKind {
        self.nodes[&self.top].kind()
    }

    /// The same branch with another id for its topmost entry.
    pub fn renumbered(mut self, top: EntryId) -> Branch {
        if top == self.top {
            return self;
        }
        let node = self
            .nodes
            .remove(&self.top)
            .expect("the top is part of the branch");
        if let NodeBody::Folder(children) = &node.body {
            for child in children.values() {
                self.nodes
                    .get_mut(child)
                    .expect("children are part of the branch")
                    .parent = top;
            }
        }
        self.nodes.insert(top, node);
        self.top = top;
        self
    }
}

/// The tree of one draft.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tree {
    #[serde(with = "as_pairs")]
    nodes: BTreeMap<EntryId, Node>,
}

impl Tree {
    /// A tree of one empty folder.
    pub fn new(attributes: Attributes) -> Tree {
        let root = Node {
            parent: EntryId::ROOT,
            name: String::new(),
            attributes,
            xattrs: BTreeMap::new(),
            body: NodeBody::Folder(BTreeMap::new()),
        };
        Tree {
            nodes: BTreeMap::from([(EntryId::ROOT, root)]),
        }
    }

    /// A tree whose root is the topmost folder of `branch`.
    pub fn from_branch(branch: Branch) -> Result<Tree, TreeError> {
        if branch.kind() != EntryKind::Folder {
            return Err(TreeError::NotAFolder(branch.top));
        }
        let mut branch = branch.renumbered(EntryId::ROOT);
        let root = branch
            .nodes
            .get_mut(&EntryId::ROOT)
            .expect("just renumbered");
        root.parent = EntryId::ROOT;
        root.name = String::new();
        Ok(Tree {
            nodes: branch.nodes,
        })
    }

    /// The whole tree as a branch whose topmost entry has the id `top`.
    pub fn into_branch(self, top: EntryId) -> Branch {
        Branch {
            top: EntryId::ROOT,
            nodes: self.nodes,
        }
        .renumbered(top)
    }

    pub fn node(&self, entry: EntryId) -> Option<&Node> {
        self.nodes.get(&entry)
    }

    pub fn root(&self) -> &Node {
        &self.nodes[&EntryId::ROOT]
    }

    /// One entry, for a change of attributes or of a file's body.
    pub fn node_mut(&mut self, entry: EntryId) -> Result<&mut Node, TreeError> {
        self.nodes.get_mut(&entry).ok_or(TreeError::NoEntry(entry))
    }

    /// A file's body, for a change.
    pub fn file_mut(&mut self, entry: EntryId) -> Result<&mut FileBody, TreeError> {
        match &mut self.node_mut(entry)?.body {
            NodeBody::File(file) => Ok(file),
            NodeBody::Folder(_) => Err(TreeError::NotAFile(entry)),
        }
    }

    /// The entry of that name in a folder.
    pub fn child(&self, parent: EntryId, name: &str) -> Option<EntryId> {
        self.node(parent)?.folder()?.get(name).copied()
    }

    /// All files, in no particular order.
    pub fn files(&self) -> impl Iterator<Item = &FileBody> {
        self.nodes.values().filter_map(Node::file)
    }

    pub fn files_mut(&mut self) -> impl Iterator<Item = &mut FileBody> {
        self.nodes
            .values_mut()
            .filter_map(|node| match &mut node.body {
                NodeBody::File(file) => Some(file),
                NodeBody::Folder(_) => None,
            })
    }

    /// Number of entries, the root not counted.
    pub fn len(&self) -> usize {
        self.nodes.len() - 1
    }

    /// Puts a new file or an empty folder into a folder.
    pub fn insert(
        &mut self,
        parent: EntryId,
        name: &str,
        entry: EntryId,
        attributes: Attributes,
        body: NodeBody,
    ) -> Result<(), TreeError> {
        let node = Node {
            parent,
            name: String::new(),
            attributes,
            xattrs: BTreeMap::new(),
            body,
        };
        let branch = Branch {
            top: entry,
            nodes: BTreeMap::from([(entry, node)]),
        };
        self.graft(parent, name, branch)
    }

    /// Takes an entry out, with everything below it.
    pub fn take(&mut self, entry: EntryId) -> Result<Branch, TreeError> {
        if entry == EntryId::ROOT {
            return Err(TreeError::Root);
        }
        let node = self.node(entry).ok_or(TreeError::NoEntry(entry))?;
        let (parent, name) = (node.parent, node.name.clone());
        self.children_mut(parent)?.remove(&name);
        let mut nodes = BTreeMap::new();
        let mut left = vec![entry];
        while let Some(id) = left.pop() {
            let node = self
                .nodes
                .remove(&id)
                .expect("entries below an entry exist");
            if let NodeBody::Folder(children) = &node.body {
                left.extend(children.values());
            }
            nodes.insert(id, node);
        }
        Ok(Branch { top: entry, nodes })
    }

    /// Puts a branch into a folder under a free name.
    pub fn graft(&mut self, parent: EntryId, name: &str, branch: Branch) -> Result<(), TreeError> {
        if let Some(id) = branch.nodes.keys().find(|id| self.nodes.contains_key(id)) {
            return Err(TreeError::Duplicate(*id));
        }
        let children = self.children_mut(parent)?;
        if children.contains_key(name) {
            return Err(TreeError::Taken(name.to_owned()));
        }
        children.insert(name.to_owned(), branch.top);
        let top = branch.top;
        self.nodes.extend(branch.nodes);
        let node = self.node_mut(top)?;
        node.parent = parent;
        node.name = name.to_owned();
        Ok(())
    }

    /// True if `entry` is `ancestor` or below it.
    pub fn is_within(&self, entry: EntryId, ancestor: EntryId) -> bool {
        let mut at = entry;
        loop {
            if at == ancestor {
                return true;
            }
            match self.node(at) {
                Some(node) if at != EntryId::ROOT => at = node.parent,
                _ => return false,
            }
        }
    }

    /// The path of an entry from the draft's folder, with `/` between names; empty for the root.
    pub fn path(&self, entry: EntryId) -> String {
        let mut names = Vec::new();
        let mut at = entry;
        while at != EntryId::ROOT {
            let Some(node) = self.node(at) else { break };
            names.push(node.name.as_str());
            at = node.parent;
        }
        names.reverse();
        names.join("/")
    }

    /// Everything below the root in order of path, folders before their contents.
    pub fn walk(&self) -> Vec<(String, EntryId, &Node)> {
        let mut found = Vec::with_capacity(self.len());
        self.walk_folder(EntryId::ROOT, "", &mut found);
        found
    }

    fn walk_folder<'a>(
        &'a self,
        folder: EntryId,
        prefix: &str,
        found: &mut Vec<(String, EntryId, &'a Node)>,
    ) {
        let Some(children) = self.node(folder).and_then(Node::folder) else {
            return;
        };
        for (name, id) in children {
            let path = format!("{prefix}{name}");
            let node = &self.nodes[id];
            let below = node.folder().is_some().then(|| format!("{path}/"));
            found.push((path, *id, node));
            if let Some(prefix) = below {
                self.walk_folder(*id, &prefix, found);
            }
        }
    }

    fn children_mut(
        &mut self,
        folder: EntryId,
    ) -> Result<&mut BTreeMap<String, EntryId>, TreeError> {
        match &mut self.node_mut(folder)?.body {
            NodeBody::Folder(children) => Ok(children),
            NodeBody::File(_) => Err(TreeError::NotAFolder(folder)),
        }
    }
}

#[cfg(test)]
mod tests;
