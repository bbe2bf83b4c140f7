//! `rawmodels/NAME/rapidmodels/`: links to the optimized models of a source model.

use std::sync::Arc;
use std::time::SystemTime;

use super::attributes::created;
use super::hiding::without_hidden;
use super::node::Row;
use super::place::{Answer, AttributeRule, Lifetime, Place, Removal};
use crate::drive::catalog::{known_rapid, rapids_of};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::posix::FileKind;
use crate::drive::tree::Tree;
use crate::drive::values::node::Model;
use crate::wire::{AssetId, ModelId, RapidId};

pub(super) struct RapidLinks(pub(super) AssetId);

impl Place for RapidLinks {
    fn identity(&self) -> String {
        format!("asset/{}/rapidmodels", self.0)
    }

    fn path(&self, tree: &Tree) -> String {
        format!(
            "{}/rapidmodels",
            tree.catalog().home_path(tree.catalog().home_of(self.0))
        )
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::Brief
    }

    fn modified(&self, tree: &Tree) -> SystemTime {
        created(tree, ModelId::Asset(self.0))
    }

    fn rows<'a>(&'a self, tree: &'a Arc<Tree>) -> Answer<'a, Vec<Row>> {
        Box::pin(async move {
            let rapids = rapids_of(tree.catalog(), self.0).await?.into_iter();
            let named = rapids.filter_map(|rapid| {
                let name = tree.catalog().rapid_name(rapid)?;
                Some(Row::new(name, RapidLink(self.0, rapid)))
            });
            let mut rows: Vec<Row> = named.collect();
            without_hidden(tree, &mut rows, Model::Raw(tree.catalog().home_of(self.0)));
            Ok(rows)
        })
    }

    fn owner(&self, tree: &Tree) -> Option<Model> {
        Some(Model::Raw(tree.catalog().home_of(self.0)))
    }

    fn removal(&self) -> Removal {
        Removal::Part
    }

    fn attribute_rule(&self) -> AttributeRule {
        AttributeRule::Accepted
    }
}

pub(super) struct RapidLink(pub(super) AssetId, pub(super) RapidId);

impl Place for RapidLink {
    fn identity(&self) -> String {
        format!("link/{}/{}", self.0, self.1)
    }

    fn kind(&self) -> Option<FileKind> {
        Some(FileKind::Link)
    }

    fn path(&self, tree: &Tree) -> String {
        let name = tree.catalog().rapid_name(self.1);
        let name = name.unwrap_or_else(|| self.1.to_string());
        format!("{}/{name}", RapidLinks(self.0).path(tree))
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::Brief
    }

    fn modified(&self, tree: &Tree) -> SystemTime {
        created(tree, ModelId::Rapid(self.1))
    }

    fn target<'a>(&'a self, tree: &'a Arc<Tree>) -> Answer<'a, String> {
        Box::pin(async {
            let name = linked_rapid(tree, self.1).await?;
            Ok(format!("../../../rapidmodels/{name}"))
        })
    }

    fn owner(&self, tree: &Tree) -> Option<Model> {
        Some(Model::Raw(tree.catalog().home_of(self.0)))
    }

    fn removal(&self) -> Removal {
        Removal::Part
    }
}

/// The name of the optimized model that a link points to.
pub(super) async fn linked_rapid(tree: &Arc<Tree>, rapid: RapidId) -> DriveResult<String> {
    known_rapid(tree.catalog(), rapid).await?;
    tree.catalog().rapid_name(rapid).ok_or(DriveError::NotFound)
}
