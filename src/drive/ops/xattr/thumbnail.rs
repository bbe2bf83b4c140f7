//! `user.assetfs.thumbnail`: the picture of a model, on its folder and on its model files. File managers draw models in a
//! sandbox in which the file is all there is, and its attributes. It is not listed, so no copy of the attributes
//! fetches it.

use std::sync::Arc;

use crate::drive::catalog::{file_map, remote_file};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::places::Node;
use crate::drive::posix::FileKind;
use crate::drive::tree::Tree;
use crate::drive::values::node::{Model, RemoteFolder};
use assetfs_formats as formats;

const THUMBNAIL: &str = "user.assetfs.thumbnail";
/// The file of a model's `analysis/` folder.
const FILE: &str = "thumb.jpg";
/// Bytes of one part: the kernel limits the value of an attribute to 64 KiB.
const PART_BYTES: u64 = 32 << 10;

/// The offset of the part that an attribute means: `user.assetfs.thumbnail` is the first part,
/// `user.assetfs.thumbnail.32768` the one that begins at this byte.
pub(super) fn offset_of(name: &str) -> Option<u64> {
    match name.strip_prefix(THUMBNAIL)? {
        "" => Some(0),
        rest => rest.strip_prefix('.')?.parse().ok(),
    }
}

/// A part of the picture. Empty at its end, and if the service has no picture. No attribute if the model is to be drawn
/// from its files, because they are on this machine.
pub(super) async fn part(tree: &Arc<Tree>, node: &Node, offset: u64) -> DriveResult<Vec<u8>> {
    let model = shown_by(tree, node).ok_or(DriveError::NoAttribute)?;
    let none = match is_local(tree, model)? {
        true => Err(DriveError::NoAttribute),
        false => Ok(Vec::new()),
    };
    let Some(folder) = analysis_of(tree, model) else {
        return none;
    };
    let map = file_map(tree.catalog(), folder).await?;
    let Some(path) = map.path_of(FILE) else {
        return none;
    };
    let file = remote_file(tree.catalog(), folder, path).await?;
    let left = file.size().saturating_sub(offset);
    let bytes = file.read(offset, left.min(PART_BYTES)).await?;
    Ok(bytes.to_vec())
}

/// The model that a folder or a model file shows.
fn shown_by(tree: &Tree, node: &Node) -> Option<Model> {
    if let Some(model) = node.model_folder() {
        return Some(model);
    }
    let owner = node.owner(tree)?;
    let is_file = !matches!(node.kind(), Some(FileKind::Folder | FileKind::Link));
    (is_file && formats::of_name(&node.path(tree)).is_some()).then_some(owner)
}

/// True for a draft, and for a model whose staged copy is still kept.
fn is_local(tree: &Tree, model: Model) -> DriveResult<bool> {
    match model {
        Model::Rapid(_) => Ok(false),
        Model::Raw(home) => {
            let view = tree.catalog().model(home).ok_or(DriveError::NotFound)?;
            Ok(view.draft.is_some())
        }
    }
}

/// The folder with the picture, if the service has made it.
fn analysis_of(tree: &Tree, model: Model) -> Option<RemoteFolder> {
    match model {
        Model::Rapid(rapid) => Some(RemoteFolder::RapidAnalysis(rapid)),
        Model::Raw(home) => {
            let view = tree.catalog().model(home)?;
            let asset = view.asset?;
            let has_ended = view.known.is_some_and(|known| known.state.is_final());
            has_ended.then_some(RemoteFolder::AssetAnalysis(asset))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attribute_names_the_first_byte_of_its_part() {
        assert_eq!(offset_of("user.assetfs.thumbnail"), Some(0));
        assert_eq!(offset_of("user.assetfs.thumbnail.32768"), Some(32768));
        for other in [
            "user.assetfs.thumb",
            "user.assetfs.thumbnail.",
            "user.assetfs.thumbnails",
            "user.assetfs.thumbnail.-1",
        ] {
            assert_eq!(offset_of(other), None, "{other}");
        }
    }
}
