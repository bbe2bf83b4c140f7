//! A local service behind a relay that can lose, refuse and delay requests, and outboxes that use it.

mod models;
mod world;

pub use crate::fault_server::RelayFault as Fault;
pub use models::{as_map, chair, copy_chair, glb, killed, put};
pub use world::{World, client, eventually, quick};

use assetfs::outbox::Caller;

/// No particular process. An ended process looks like an invisible one, so tests in which the process matters start
/// their own.
pub const ME: Caller = Caller {
    pid: 0,
    uid: 1000,
    gid: 1000,
};
