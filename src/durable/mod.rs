//! What survives a power cut: atomic writes, the append log, the metadata store. Knows no words of the domain.
//!
//! Invariant of the layer: when a call that promises durability has returned `Ok`, its effect is
//! there after the power is cut; when it has returned an error, what was durable before still is.
//! Everything here is synchronous; callers in async code move it off their threads.

pub(crate) mod answering;
mod error;
mod file;
mod lock;
mod log;
mod private_dir;
pub(crate) mod recorder;
mod store;

pub use answering::Answering;
pub use error::DurableError;
pub use file::{sync_dir, write_atomic, write_atomic_relaxed};
pub use lock::DirLock;
pub use log::{AppendLog, Salvaged, TornTail};
pub use private_dir::PrivateDir;
pub use store::{Batch, MetaStore};
