//! Maps changes of the catalog to paths, and corrects the kernel's caches for them.

use std::sync::Arc;

use super::account::AccountValue;
use super::embeds::EmbedPage;
use super::hidden::HiddenFile;
use super::job_links::JobLink;
use super::node::Node;
use super::remote::{ServiceFile, ServiceFolder};
use super::root::top_folder;
use super::staged_zip::ZipOrigin;
use crate::drive::catalog::change::{Change, Listed};
use crate::drive::events::FileChange;
use crate::drive::inodes::Inodes;
use crate::drive::posix::Ino;
use crate::drive::values::local::{DropFolder, HiddenName, HiddenParent, JobPart};
use crate::drive::values::node::{ListingKind, Model, RemoteFolder};
use crate::outbox::Uploads;

/// Corrects the kernel's caches after a change. `is_open` says whether a file is open now.
pub(in crate::drive) fn tell(
    inodes: &Inodes<Node>,
    uploads: &Uploads,
    is_open: impl Fn(Ino) -> bool,
    change: Change,
) {
    match change {
        Change::Named(listing, name) => inodes.entry_changed(&top_folder(listing), &name),
        Change::Gone(listed, name) => {
            let (listing, node) = match listed {
                Listed::Model(model @ Model::Raw(_)) => (ListingKind::Assets, model.folder()),
                Listed::Model(model @ Model::Rapid(_)) => (ListingKind::Rapids, model.folder()),
                Listed::Embed(embed) => (ListingKind::Embeds, EmbedPage(embed).into()),
                Listed::Job(rapid) => (ListingKind::Jobs, JobLink(rapid).into()),
            };
            inodes.entry_removed(&top_folder(listing), &node, &name);
        }
        Change::Model(model) => {
            let status = HiddenFile(HiddenParent::Model(model), HiddenName::Status);
            inodes.attributes_changed(&model.folder());
            inodes.attributes_changed(&status.into());
        }
        Change::Account(file) => inodes.attributes_changed(&AccountValue(file).into()),
        Change::File {
            model,
            folder,
            path,
            old,
        } => {
            let origin = ZipOrigin::of(uploads, folder);
            let (parent, name) = folder_of(model, folder, &path, origin.clone());
            let file = ServiceFile {
                folder,
                path,
                content: old,
                origin,
            };
            inodes.content_changed(&file.into(), is_open);
            inodes.entry_changed(&parent, &name);
        }
        Change::NoFile(folder, path) => {
            let name = path.to_string();
            let file = ServiceFile {
                folder,
                path,
                content: 0,
                origin: ZipOrigin::of(uploads, folder),
            };
            inodes.entry_removed(&ServiceFolder::top(folder).into(), &file.into(), &name);
        }
        Change::Files(model, folder) => {
            inodes.entry_changed(&model.folder(), folder.name().unwrap_or_default());
            inodes.attributes_changed(&ServiceFolder::top(folder).into());
        }
        Change::Job(folder, name) => {
            let Some(folder) = DropFolder::of_outbox(&folder) else {
                return;
            };
            for part in [JobPart::Status, JobPart::Result] {
                let entry = folder.entry(&name, part);
                inodes.entry_changed(&folder.into(), &entry.name());
                inodes.attributes_changed(&entry.into());
            }
        }
    }
}

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

/// The folder that shows a file of the service, and the file's name in it.
fn folder_of(
    model: Model,
    folder: RemoteFolder,
    path: &str,
    origin: Option<ZipOrigin>,
) -> (Node, String) {
    match (path.rsplit_once('/'), folder.name()) {
        (Some((parent, name)), _) => {
            let parent = ServiceFolder {
                folder,
                path: parent.into(),
                origin,
            };
            (parent.into(), name.to_owned())
        }
        (None, None) => (model.folder(), path.to_owned()),
        (None, Some(_)) => (ServiceFolder::top(folder).into(), path.to_owned()),
    }
}
