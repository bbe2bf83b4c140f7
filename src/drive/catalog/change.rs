//! What changed, as the catalog sees it. Whoever shows it decides which paths that concerns.

use std::sync::Arc;

use crate::drive::values::node::{AccountFile, ListingKind, Model, RemoteFolder};
use crate::outbox::JobFolder;
use crate::wire::{EmbedId, RapidId};

/// One change that no request of the kernel made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::drive) enum Change {
    /// A name in a listing came to be, or stands for something else.
    Named(ListingKind, String),
    /// Something is gone from its listing, where it had this name.
    Gone(Listed, String),
    /// A model looks otherwise, and so does its status.
    Model(Model),
    /// A value of the account is another one.
    Account(AccountFile),
    /// A file of the service has other contents; the number is that of the old ones.
    File {
        model: Model,
        folder: RemoteFolder,
        path: Arc<str>,
        old: u32,
    },
    /// A file that was shown does not exist.
    NoFile(RemoteFolder, Arc<str>),
    /// A folder of a model holds other files than before.
    Files(Model, RemoteFolder),
    /// A job of a drop folder moved on.
    Job(JobFolder, String),
}

/// Something of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::drive) enum Listed {
    Model(Model),
    Embed(EmbedId),
    /// A running or failed optimization.
    Job(RapidId),
}
