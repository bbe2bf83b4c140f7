//! assetfs mounts an account of an Asset Optimization Service as a directory tree.
//!
//! The modules are layers, listed from the bottom up; a layer imports only from layers above it in
//! this list. `ARCHITECTURE.md` says what lives where and `tests/layers.rs` holds it.

mod address_reach;
mod backoff;
mod disk_room;
pub mod factory_presets;
mod running_program;

mod given_files;
mod locks;
mod time_left;
mod web_url;

pub mod wire;

pub mod durable;

pub mod listener;

pub mod bucket;

pub mod client;

pub mod cache;

pub mod outbox;

pub mod drive;

pub mod fuse;

#[cfg(feature = "local-service")]
pub mod service;

pub mod cli;

#[cfg(test)]
#[path = "../tests/support/fault_server/mod.rs"]
mod fault_server;
#[cfg(test)]
#[path = "../tests/support/skip.rs"]
mod skip;
