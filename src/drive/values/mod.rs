//! Plain values: the objects of the service, their names, and the known data of them. Nothing here sends requests;
//! only [`sizes`] writes to the local store.

pub mod belief;
pub mod claims;
pub mod filemap;
pub mod known;
pub mod listing;
pub(super) mod local;
pub mod names;
pub mod node;
pub mod sizes;
