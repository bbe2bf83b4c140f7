//! A local service behind a relay that can lose, refuse and delay, and outboxes that talk to it.

mod models;
mod world;

pub use crate::fault_server::RelayFault as Fault;
pub use models::{as_map, chair, copy_chair, glb, put};
pub use world::{World, client, eventually, quick};

use assetfs::outbox::Caller;

/// Nobody in particular: a process that has ended cannot be told from one that cannot be seen, so the
/// tests speak as a process of their own making where that matters.
pub const ME: Caller = Caller {
    pid: 0,
    uid: 1000,
    gid: 1000,
};
