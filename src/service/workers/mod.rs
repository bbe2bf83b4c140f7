//! Worker processes: each runs one task of the engine under resource limits, and ends. One that is kept ([`KeptWorker`])
//! runs many small ones.
//!
//! If a model makes its worker fail (memory, endless loop, crash), the service gets the reason as
//! text and continues with the next job. A worker never outlives the service.

mod confine;
mod kept;
mod output;
mod process;
mod sandbox;
mod spawn;
mod system_calls;

pub use kept::{KeptTask, KeptWorker};
pub use process::{DISK_FULL, Failure, OUT_OF_MEMORY, Outcome, WorkerError, Workers};
pub use sandbox::{MissingProtection, Protection, Sandbox, TaskFolders};
