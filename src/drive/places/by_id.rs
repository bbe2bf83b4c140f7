//! `.assetfs/by-id/` of a family: a link to each model under its id; and `.assetfs/source` of an optimized
//! model.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::attributes::{changed, created};
use super::node::{Node, Row};
use super::place::{Answer, Lifetime, Place};
use super::rapid_links::linked_rapid;
use crate::drive::catalog::{hidden_path, known_asset, known_rapid, refreshed, refreshed_rapid};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::posix::FileKind;
use crate::drive::tree::Tree;
use crate::drive::values::local::HiddenParent;
use crate::drive::values::node::{Family, Model};
use crate::wire::{AssetId, ModelId, RapidId};

pub(super) struct IdFolder(pub(super) Family);

impl Place for IdFolder {
    fn identity(&self) -> String {
        format!("by-id/{}", self.0.name())
    }

    fn path(&self, tree: &Tree) -> String {
        format!(
            "{}/by-id",
            hidden_path(tree.catalog(), HiddenParent::of_family(self.0))
        )
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::Brief
    }

    fn modified(&self, tree: &Tree) -> SystemTime {
        changed(tree, self.0.listing())
    }

    fn rows<'a>(&'a self, tree: &'a Arc<Tree>) -> Answer<'a, Vec<Row>> {
        Box::pin(async {
            refreshed(tree.catalog(), self.0.listing()).await?;
            let known = tree.catalog().known();
            let ids: Vec<u64> = match self.0 {
                Family::Raw => known.assets.rows().map(|row| row.id.0).collect(),
                Family::Rapid => known.rapids.rows().map(|row| row.id.0).collect(),
            };
            let rows = ids.into_iter();
            let rows = rows.map(|id| Row::new(id.to_string(), IdLink(self.0, id)));
            Ok(rows.collect())
        })
    }

    fn child<'a>(&'a self, tree: &'a Arc<Tree>, name: &'a str) -> Answer<'a, Node> {
        Box::pin(async move {
            let id: u64 = name.parse().map_err(|_| DriveError::NotFound)?;
            if id.to_string() != name {
                return Err(DriveError::NotFound);
            }
            match self.0 {
                Family::Raw => drop(known_asset(tree.catalog(), AssetId(id)).await?),
                Family::Rapid => drop(known_rapid(tree.catalog(), RapidId(id)).await?),
            }
            Ok(IdLink(self.0, id).into())
        })
    }
}

pub(super) struct IdLink(pub(super) Family, pub(super) u64);

impl Place for IdLink {
    fn identity(&self) -> String {
        format!("by-id/{}/{}", self.0.name(), self.1)
    }

    fn kind(&self) -> Option<FileKind> {
        Some(FileKind::Link)
    }

    fn path(&self, tree: &Tree) -> String {
        format!("{}/{}", IdFolder(self.0).path(tree), self.1)
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::Brief
    }

    fn modified(&self, tree: &Tree) -> SystemTime {
        created(tree, self.0.model(self.1))
    }

    fn target<'a>(&'a self, tree: &'a Arc<Tree>) -> Answer<'a, String> {
        Box::pin(async {
            let name = linked_model(tree, self.0, self.1).await?;
            Ok(format!("../../{name}"))
        })
    }
}

/// The name of the model that a link in `.assetfs/by-id/` or `search/` points to.
pub(super) async fn linked_model(tree: &Arc<Tree>, family: Family, id: u64) -> DriveResult<String> {
    match family {
        Family::Raw => {
            let name = tree
                .catalog()
                .model_name(tree.catalog().home_of(AssetId(id)));
            name.ok_or(DriveError::NotFound)
        }
        Family::Rapid => linked_rapid(tree, RapidId(id)).await,
    }
}

/// `rapidmodels/NAME/.assetfs/source`: a link to the source model.
pub(super) struct SourceLink(pub(super) RapidId);

impl Place for SourceLink {
    fn identity(&self) -> String {
        format!("source/{}", self.0)
    }

    fn kind(&self) -> Option<FileKind> {
        Some(FileKind::Link)
    }

    fn path(&self, tree: &Tree) -> String {
        let parent = HiddenParent::Model(Model::Rapid(self.0));
        format!("{}/source", hidden_path(tree.catalog(), parent))
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::Brief
    }

    fn modified(&self, tree: &Tree) -> SystemTime {
        created(tree, ModelId::Rapid(self.0))
    }

    fn target<'a>(&'a self, tree: &'a Arc<Tree>) -> Answer<'a, String> {
        Box::pin(async {
            let mut row = known_rapid(tree.catalog(), self.0).await?;
            if row.source.is_none() {
                row = refreshed_rapid(tree.catalog(), self.0, Duration::ZERO).await?;
            }
            let source = row.source.ok_or(DriveError::NotFound)?;
            known_asset(tree.catalog(), source).await?;
            let name = tree.catalog().model_name(tree.catalog().home_of(source));
            let name = name.ok_or(DriveError::NotFound)?;
            Ok(format!("../../../rawmodels/{name}"))
        })
    }
}
