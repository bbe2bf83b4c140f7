//! Change events: what `/.assetfs/events` prints, as lines of JSON.
//!
//! [`EventLog`] keeps the last events for all readers; a reader is a position in it, so a slow reader costs no
//! memory: it gets an event `lost` instead. [`Snapshot`] is what the drive shows at one moment; the difference of two
//! snapshots is a list of events. Without a reader neither is made.

mod log;
mod record;
mod snapshot;

pub(super) use log::{EventLog, EventReader, FileChange};
pub use record::{DriveEvent, EventKind, ItemKind};
pub(super) use snapshot::{Item, Shown, Snapshot};
