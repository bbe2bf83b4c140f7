//! A tree that is mounted: the parts that its paths are described from, the inode numbers that the kernel knows,
//! the files that are open, and what is fetched ahead of readers. Operations work on it.

use std::ops::Deref;
use std::sync::Arc;

use super::config::DriveConfig;
use super::error::{DriveError, DriveResult};
use super::files::ahead::ReadAhead;
use super::files::handles::Handles;
use super::inodes::Inodes;
use super::places::{Node, Root, tell};
use super::posix::Ino;
use super::tree::{KernelUse, Tree};
use crate::cache::BlockCache;
use crate::client::Client;
use crate::durable::MetaStore;
use crate::outbox::Outbox;

/// One mounted tree. It gives access to the parts of its [`Tree`].
pub(super) struct Mount {
    tree: Arc<Tree>,
    pub(super) inodes: Arc<Inodes<Node>>,
    pub(super) handles: Arc<Handles>,
    pub(super) ahead: Arc<ReadAhead>,
}

impl Deref for Mount {
    type Target = Arc<Tree>;

    fn deref(&self) -> &Arc<Tree> {
        &self.tree
    }
}

impl Mount {
    pub(super) fn new(
        config: DriveConfig,
        client: Client,
        cache: BlockCache,
        outbox: Outbox,
        meta: MetaStore,
    ) -> Mount {
        let inodes = Arc::new(Inodes::new(Node::from(Root)));
        let handles = Arc::<Handles>::default();
        let on_change = {
            let (inodes, handles) = (Arc::clone(&inodes), Arc::clone(&handles));
            Box::new(move |change| tell(&inodes, |ino| handles.file_of(ino).is_some(), change))
        };
        let kernel_use = {
            let (inodes, handles) = (Arc::clone(&inodes), Arc::clone(&handles));
            Box::new(move || KernelUse {
                inodes: inodes.count() as u64,
                handles: handles.len() as u64,
            })
        };
        let tree = Tree::new(config, (client, cache), outbox, meta, on_change, kernel_use);
        Mount {
            ahead: ReadAhead::new(&tree.catalog, &tree.background),
            tree: Arc::new(tree),
            inodes,
            handles,
        }
    }

    /// What a number stands for.
    pub(super) fn node(&self, ino: Ino) -> DriveResult<Node> {
        self.inodes.node(ino).ok_or(DriveError::NotFound)
    }
}
