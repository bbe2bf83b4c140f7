//! The shape of the tree: what a path can be, its inode, its name, and what is known of the
//! service. Nothing here asks the service; only [`sizes`] writes to the local store.

pub mod belief;
pub mod claims;
pub mod filemap;
pub mod known;
pub mod listing;
pub(super) mod local;
pub mod names;
pub mod node;
pub mod sizes;
