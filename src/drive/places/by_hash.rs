//! `rawmodels/.assetfs/by-hash/HASH`: a link to the model whose files have that checksum, as a drive has noted it. So a
//! program finds out with one look whether the account has the files of a model already.

use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;

use super::attributes::{changed, created};
use super::node::{Node, Row};
use super::place::{Lifetime, Place};
use crate::drive::catalog::{asset_with_source, hidden_path, refresh_listing};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::posix::FileKind;
use crate::drive::tree::Tree;
use crate::drive::values::local::HiddenParent;
use crate::drive::values::node::ListingKind;
use crate::wire::ModelId;

/// The name of the folder.
pub(super) const BY_HASH: &str = "by-hash";

pub(super) struct ByHash;

#[async_trait]
impl Place for ByHash {
    fn identity(&self) -> String {
        BY_HASH.to_owned()
    }

    fn path(&self, tree: &Tree) -> String {
        let hidden = hidden_path(tree.catalog(), HiddenParent::RawModels);
        format!("{hidden}/{BY_HASH}")
    }

    fn modified(&self, tree: &Tree) -> SystemTime {
        changed(tree, ListingKind::Assets)
    }

    async fn rows(&self, tree: &Arc<Tree>) -> DriveResult<Vec<Row>> {
        refresh_listing(tree.catalog(), ListingKind::Assets).await?;
        let known = tree.catalog().known();
        let hashes = known
            .assets
            .rows()
            .filter_map(|row| row.notes.source.clone());
        let mut hashes: Vec<String> = hashes.filter(|hash| is_hash(hash)).collect();
        hashes.sort_unstable();
        hashes.dedup();
        let rows = hashes.into_iter();
        Ok(rows
            .map(|hash| Row::new(hash.clone(), ModelOfHash(hash.into())))
            .collect())
    }

    async fn child(&self, tree: &Arc<Tree>, name: &str) -> DriveResult<Node> {
        if !is_hash(name) {
            return Err(DriveError::NotFound);
        }
        refresh_listing(tree.catalog(), ListingKind::Assets).await?;
        match asset_with_source(tree.catalog(), name) {
            Some(_) => Ok(ModelOfHash(name.into()).into()),
            None => Err(DriveError::NotFound),
        }
    }
}

/// A note may be anything; a checksum is a name that needs no escape.
fn is_hash(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|it| it.is_ascii_hexdigit())
}

struct ModelOfHash(Arc<str>);

#[async_trait]
impl Place for ModelOfHash {
    fn identity(&self) -> String {
        format!("{BY_HASH}/{}", self.0)
    }

    fn kind(&self) -> Option<FileKind> {
        Some(FileKind::Link)
    }

    fn path(&self, tree: &Tree) -> String {
        format!("{}/{}", ByHash.path(tree), self.0)
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::None
    }

    fn modified(&self, tree: &Tree) -> SystemTime {
        match asset_with_source(tree.catalog(), &self.0) {
            Some(asset) => created(tree, ModelId::Asset(asset)),
            None => tree.opened(),
        }
    }

    async fn target(&self, tree: &Arc<Tree>) -> DriveResult<String> {
        let catalog = tree.catalog();
        let asset = asset_with_source(catalog, &self.0).ok_or(DriveError::NotFound)?;
        let name = catalog.model_name(catalog.home_of(asset));
        Ok(format!("../../{}", name.ok_or(DriveError::NotFound)?))
    }
}
