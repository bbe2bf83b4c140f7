//! A name that went without a user's action after a process listed it and before the process removed it. It can
//! be looked up and removed by that process alone, has no content, and is not cached.

use std::sync::Arc;

use async_trait::async_trait;

use super::attributes::{file, folder, link};
use super::node::{Node, Row};
use super::place::{Lifetime, Place, Removal, Text};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::inodes::Numbered as _;
use crate::drive::posix::{Attributes, FileKind};
use crate::drive::tree::Tree;

pub struct Vanished {
    pub folder: Node,
    pub name: Box<str>,
    pub kind: FileKind,
}

#[async_trait]
impl Place for Vanished {
    fn identity(&self) -> String {
        format!("vanished/{}/{}", self.folder.identity(), self.name)
    }

    fn kind(&self) -> Option<FileKind> {
        Some(self.kind)
    }

    fn path(&self, tree: &Tree) -> String {
        format!("{}/{}", self.folder.path(tree), self.name)
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::None
    }

    async fn attributes(&self, tree: &Arc<Tree>) -> DriveResult<Attributes> {
        let modified = tree.opened();
        let attributes = match self.kind {
            FileKind::Folder => folder(tree, modified),
            FileKind::File => file(tree, 0, modified),
            FileKind::Link => link(tree, "", modified),
        };
        Ok(attributes)
    }

    async fn rows(&self, _: &Arc<Tree>) -> DriveResult<Vec<Row>> {
        match self.kind {
            FileKind::Folder => Ok(Vec::new()),
            _ => Err(DriveError::NotAFolder),
        }
    }

    async fn text(&self, _: &Arc<Tree>) -> DriveResult<Text> {
        Err(DriveError::NotFound)
    }

    async fn target(&self, _: &Arc<Tree>) -> DriveResult<String> {
        Err(DriveError::NotFound)
    }

    fn removal(&self) -> Removal {
        Removal::Vanished
    }
}
