//! Changes that the catalog reports. The receiver maps them to paths.

use std::sync::Arc;

use crate::drive::values::node::{AccountFile, ListingKind, Model, RemoteFolder};
use crate::outbox::JobFolder;
use crate::wire::{EmbedId, RapidId};

/// A change that the kernel did not make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::drive) enum Change {
    /// A name was added to a listing, or now belongs to another object.
    Named(ListingKind, String),
    /// An object was removed from its listing, where it had this name.
    Gone(Listed, String),
    /// The attributes or the status of a model changed.
    Model(Model),
    /// A value of the account changed.
    Account(AccountFile),
    /// The content of a file changed; the number is that of the old content.
    File {
        model: Model,
        folder: RemoteFolder,
        path: Arc<str>,
        old: u32,
    },
    /// A file does not exist.
    NoFile(RemoteFolder, Arc<str>),
    /// The files in a folder of a model changed.
    Files(Model, RemoteFolder),
    /// The state of a job changed.
    Job(JobFolder, String),
}

/// An object of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::drive) enum Listed {
    Model(Model),
    Embed(EmbedId),
    /// A running or failed optimization.
    Job(RapidId),
}
