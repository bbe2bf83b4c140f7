//! Maps changes of the catalog to what watchers and event logs are told.

use std::sync::Arc;

use super::node::Node;
use super::root::top_folder;
use crate::drive::catalog::change::Change;
use crate::drive::events::FileChange;
use crate::drive::values::local::{DropFolder, JobPart};
use crate::drive::values::node::{ListingKind, Model};

/// The folder and the item in it whose attributes or content changed.
pub(in crate::drive) fn touched(change: &Change) -> Option<(Node, Node)> {
    match change {
        Change::Model(model) => {
            let listing = match model {
                Model::Raw(_) => ListingKind::Assets,
                Model::Rapid(_) => ListingKind::Rapids,
            };
            Some((top_folder(listing), model.folder()))
        }
        Change::Job(folder, name) => {
            let folder = DropFolder::of_outbox(folder)?;
            Some((folder.into(), folder.entry(name, JobPart::Status).into()))
        }
        Change::Named(..)
        | Change::Gone(..)
        | Change::Account(_)
        | Change::File { .. }
        | Change::NoFile(..)
        | Change::Files(..) => None,
    }
}

/// The file, or the folder of files, whose content a change is about.
pub(in crate::drive) fn changed_file(change: &Change) -> Option<FileChange> {
    match change {
        Change::File { folder, path, .. } => Some(FileChange {
            folder: *folder,
            path: Arc::clone(path),
        }),
        Change::Files(_, folder) => Some(FileChange {
            folder: *folder,
            path: "".into(),
        }),
        Change::Named(..)
        | Change::Gone(..)
        | Change::Model(_)
        | Change::Account(_)
        | Change::NoFile(..)
        | Change::Job(..) => None,
    }
}
