//! Durable storage: atomic writes, the append log, the metadata store, locks, reserved disk space. Independent of the domain.
//!
//! The invariant: after a call that promises durability returned `Ok`, its effect survives a power cut; after
//! an error, what was durable before still is. All calls block; async callers use blocking threads.

pub(crate) mod answering;
mod error;
mod file;
mod lock;
mod log;
mod private_dir;
pub(crate) mod recorder;
mod reserve;
mod store;

pub use answering::Answering;
pub use error::DurableError;
pub use file::{
    FileSystem, allocated_bytes, in_parallel, sync_dir, write_atomic, write_atomic_relaxed,
};
pub use lock::DirLock;
pub use log::{AppendLog, Salvaged};
pub use private_dir::{PrivateDir, is_foreign};
pub use reserve::Reserve;
pub use store::{Batch, MetaStore};
