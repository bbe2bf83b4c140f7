//! Changes that the catalog reports to watchers (inotify) and to the event log, which compare what the drive shows.

use std::sync::Arc;

use crate::drive::values::node::{Model, RemoteFolder};
use crate::outbox::JobFolder;

/// A change that no call of the kernel made. It names an object only if the receivers need the name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Names in a listing were added, removed or renamed.
    Listing,
    /// The attributes or the status of a model changed.
    Model(Model),
    /// A value of the account changed.
    Account,
    /// The content of a file changed.
    File {
        folder: RemoteFolder,
        path: Arc<str>,
    },
    /// A listed file does not exist.
    NoFile,
    /// The files in a folder of a model changed.
    Files(RemoteFolder),
    /// The state of a job changed.
    Job(JobFolder, String),
}
