//! `.assetfs/search/QUERY/` of a family: links to the models that the service finds.

use std::sync::Arc;
use std::time::SystemTime;

use super::attributes::{changed, created};
use super::by_id::linked_model;
use super::node::{Node, Row};
use super::place::{Answer, Lifetime, Place};
use crate::drive::catalog::{found, hidden_path};
use crate::drive::posix::FileKind;
use crate::drive::tree::Tree;
use crate::drive::values::local::HiddenParent;
use crate::drive::values::node::Family;
use crate::wire::{AssetId, RapidId};

pub(super) struct SearchFolder(pub(super) Family);

impl Place for SearchFolder {
    fn identity(&self) -> String {
        format!("search/{}", self.0.name())
    }

    fn path(&self, tree: &Tree) -> String {
        format!(
            "{}/search",
            hidden_path(tree.catalog(), HiddenParent::of_family(self.0))
        )
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::Brief
    }

    fn modified(&self, tree: &Tree) -> SystemTime {
        changed(tree, self.0.listing())
    }

    /// Every name resolves, so none is listed.
    fn rows<'a>(&'a self, _: &'a Arc<Tree>) -> Answer<'a, Vec<Row>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn child<'a>(&'a self, _: &'a Arc<Tree>, name: &'a str) -> Answer<'a, Node> {
        Box::pin(async { Ok(Found(self.0, name.into()).into()) })
    }
}

pub(super) struct Found(pub(super) Family, pub(super) Arc<str>);

impl Place for Found {
    fn identity(&self) -> String {
        format!("search/{}/{}", self.0.name(), self.1)
    }

    fn path(&self, tree: &Tree) -> String {
        format!("{}/{}", SearchFolder(self.0).path(tree), self.1)
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::Brief
    }

    fn modified(&self, tree: &Tree) -> SystemTime {
        changed(tree, self.0.listing())
    }

    fn rows<'a>(&'a self, tree: &'a Arc<Tree>) -> Answer<'a, Vec<Row>> {
        Box::pin(async {
            let ids = found(tree.catalog(), self.0, &self.1).await?.into_iter();
            let named = ids.filter_map(|id| {
                let name = match self.0 {
                    Family::Raw => tree
                        .catalog()
                        .model_name(tree.catalog().home_of(AssetId(id))),
                    Family::Rapid => tree.catalog().rapid_name(RapidId(id)),
                };
                Some(Row::new(name?, FoundLink(self.0, Arc::clone(&self.1), id)))
            });
            Ok(named.collect())
        })
    }
}

pub(super) struct FoundLink(pub(super) Family, pub(super) Arc<str>, pub(super) u64);

impl Place for FoundLink {
    fn identity(&self) -> String {
        format!("found/{}/{}/{}", self.0.name(), self.2, self.1)
    }

    fn kind(&self) -> Option<FileKind> {
        Some(FileKind::Link)
    }

    fn path(&self, tree: &Tree) -> String {
        format!("{}/{}/{}", SearchFolder(self.0).path(tree), self.1, self.2)
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::Brief
    }

    fn modified(&self, tree: &Tree) -> SystemTime {
        created(tree, self.0.model(self.2))
    }

    fn target<'a>(&'a self, tree: &'a Arc<Tree>) -> Answer<'a, String> {
        Box::pin(async {
            let name = linked_model(tree, self.0, self.2).await?;
            Ok(format!("../../../{name}"))
        })
    }
}
