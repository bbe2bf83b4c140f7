//! A mounted tree: the parts of [`Tree`], inode numbers, open files, and read-ahead. Operations work on it.

use std::ops::Deref;
use std::sync::Arc;

use super::config::DriveConfig;
use super::error::{DriveError, DriveResult};
use super::events::EventLog;
use super::files::ahead::ReadAhead;
use super::files::handles::Handles;
use super::inodes::Inodes;
use super::inotify::Inotify;
use super::places::{Node, Root, changed_file, touched};
use super::posix::Ino;
use super::tree::{KernelUse, Tree};
use crate::cache::BlockCache;
use crate::client::Client;
use crate::durable::MetaStore;
use crate::outbox::Outbox;

/// One mounted tree; dereferences to its [`Tree`].
pub(super) struct Mount {
    tree: Arc<Tree>,
    inodes: Arc<Inodes<Node>>,
    handles: Arc<Handles>,
    ahead: Arc<ReadAhead>,
    inotify: Arc<Inotify<Node>>,
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
        let events = Arc::<EventLog>::default();
        let inotify = Arc::<Inotify<Node>>::default();
        let on_change = {
            let (events, inotify) = (Arc::clone(&events), Arc::clone(&inotify));
            Box::new(move |change| {
                inotify.note(touched(&change));
                events.note(changed_file(&change));
            })
        };
        let kernel_use = {
            let (inodes, handles) = (Arc::clone(&inodes), Arc::clone(&handles));
            let inotify = Arc::clone(&inotify);
            Box::new(move || KernelUse {
                inodes: inodes.count() as u64,
                handles: handles.len() as u64,
                inotify_folders: inotify.count() as u64,
            })
        };
        let tree = Tree::new(
            config,
            (client, cache),
            outbox,
            meta,
            events,
            on_change,
            kernel_use,
        );
        Mount {
            ahead: ReadAhead::new(tree.catalog(), tree.background()),
            tree: Arc::new(tree),
            inodes,
            handles,
            inotify,
        }
    }

    pub(super) fn inotify(&self) -> &Inotify<Node> {
        &self.inotify
    }

    pub(super) fn inodes(&self) -> &Inodes<Node> {
        &self.inodes
    }

    pub(super) fn handles(&self) -> &Handles {
        &self.handles
    }

    pub(super) fn ahead(&self) -> &Arc<ReadAhead> {
        &self.ahead
    }

    /// The node of an inode number.
    pub(super) fn node(&self, ino: Ino) -> DriveResult<Node> {
        self.inodes.node(ino).ok_or(DriveError::NotFound)
    }
}
