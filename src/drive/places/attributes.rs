//! Attributes that most nodes share: the owner of the mount, the usual permissions.

use std::time::SystemTime;

use crate::drive::posix::{Attributes, FileKind, Ino};
use crate::drive::tree::Tree;
use crate::drive::values::known::system_time;
use crate::drive::values::node::ListingKind;
use crate::outbox::Maker;
use crate::wire::ModelId;

pub fn folder(tree: &Tree, modified: SystemTime) -> Attributes {
    Attributes {
        kind: FileKind::Folder,
        perm: tree.config().folder_permissions,
        ..file(tree, 0, modified)
    }
}

pub(super) fn link(tree: &Tree, target: &str, modified: SystemTime) -> Attributes {
    Attributes {
        kind: FileKind::Link,
        perm: 0o777,
        ..file(tree, target.len() as u64, modified)
    }
}

pub fn file(tree: &Tree, size: u64, modified: SystemTime) -> Attributes {
    Attributes {
        ino: Ino(0),
        kind: FileKind::File,
        size,
        allocated: None,
        perm: tree.config().file_permissions,
        nlink: 1,
        uid: tree.config().uid,
        gid: tree.config().gid,
        mtime: modified,
        ctime: modified,
    }
}

/// What another user made belongs to that user.
pub(super) fn made_by(maker: Option<Maker>, attributes: Attributes) -> Attributes {
    Attributes {
        uid: maker.map_or(attributes.uid, |maker| maker.uid),
        gid: maker.map_or(attributes.gid, |maker| maker.gid),
        ..attributes
    }
}

/// The time at which the listing of a top folder last changed.
pub(super) fn changed(tree: &Tree, listing: ListingKind) -> SystemTime {
    let known = tree.catalog().known();
    known
        .changed
        .get(&listing)
        .copied()
        .unwrap_or(tree.opened())
}

/// The creation time of a model, which its parts without a time of their own show.
pub(super) fn created(tree: &Tree, subject: ModelId) -> SystemTime {
    let known = tree.catalog().known();
    system_time(match subject {
        ModelId::Asset(asset) => known.assets.row(asset.0).and_then(|row| row.created),
        ModelId::Rapid(rapid) => known.rapids.row(rapid.0).and_then(|row| row.created),
    })
}

/// Makes a folder of an asset accessible to its owner. Nothing can be written there anyway, and `rm -r` of a
/// model that was copied from a read-only folder would fail otherwise.
pub(super) fn deletable(attributes: Attributes) -> Attributes {
    match attributes.kind {
        FileKind::Folder => Attributes {
            perm: attributes.perm | 0o700,
            ..attributes
        },
        _ => attributes,
    }
}

pub(super) fn permissions(mode: u32) -> u16 {
    (mode & 0o7777) as u16
}
