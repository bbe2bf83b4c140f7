//! Maps changes of the catalog to the paths that inotify watchers and the event log need.

use std::sync::Arc;

use super::node::Node;
use super::root::top_folder;
use crate::drive::catalog::change::Change;
use crate::drive::events::FileChange;
use crate::drive::values::local::{DropFolder, JobPart};
use crate::drive::values::node::{ListingKind, Model};

/// The folder and the item in it whose attributes or content changed.
pub fn touched(change: &Change) -> Option<(Node, Node)> {
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
        Change::Listing
        | Change::Account
        | Change::File { .. }
        | Change::NoFile
        | Change::Files(_) => None,
    }
}

/// The file, or the folder of files, whose content a change is about.
pub fn changed_file(change: &Change) -> Option<FileChange> {
    match change {
        Change::File { folder, path } => Some(FileChange {
            folder: *folder,
            path: Arc::clone(path),
        }),
        Change::Files(folder) => Some(FileChange {
            folder: *folder,
            path: "".into(),
        }),
        Change::Listing | Change::Model(_) | Change::Account | Change::NoFile | Change::Job(..) => {
            None
        }
    }
}
