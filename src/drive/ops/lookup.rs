//! Finding a name in a folder, and the attributes of what is found.

use std::ffi::OsStr;
use std::sync::Arc;

use crate::drive::error::{DriveError, DriveResult};
use crate::drive::places::{Model, Node, child};
use crate::drive::shared::Shared;
use crate::drive::tree::names::NAME_MAX_BYTES;
use crate::drive::types::{Entry, Ino};
use crate::wire::UploadStatus;

impl Shared {
    /// Finds a name and counts a reference to what it stands for.
    pub(in crate::drive) async fn lookup(
        self: &Arc<Self>,
        parent: Ino,
        name: &OsStr,
    ) -> DriveResult<Entry> {
        let folder = self.node(parent)?;
        let node = child(self, &folder, text(name)?).await?;
        self.look(&node);
        self.entry(&node).await
    }

    /// Someone looks at a thing: what can change of it is watched for a while.
    pub(in crate::drive) fn look(&self, node: &Node) {
        match node.shown_model(self) {
            Some(Model::Raw(home)) => {
                let Some(asset) = self.asset_of(home) else {
                    return;
                };
                let row = self.known().assets.row(asset.0).cloned();
                if row.is_some_and(|row| row.state != UploadStatus::Complete) {
                    self.watched.look_at_asset(asset);
                }
            }
            Some(Model::Rapid(rapid)) => {
                let row = self.known().rapids.row(rapid.0).cloned();
                if row.is_some_and(|row| !row.state.is_final()) {
                    self.watched.look_at_rapid(rapid);
                }
            }
            None => {}
        }
    }
}

/// The name as text. Names that are no text cannot be made here, so they are never found.
pub(in crate::drive) fn text(name: &OsStr) -> DriveResult<&str> {
    if name.len() > NAME_MAX_BYTES {
        return Err(DriveError::NameTooLong);
    }
    name.to_str().ok_or(DriveError::NotFound)
}
