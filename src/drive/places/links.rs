//! The links of the drive to models, and the folders that have only links: `.assetfs/by-id/` and `.assetfs/search/QUERY/` of
//! a family, and `rawmodels/NAME/rapidmodels/`.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;

use super::attributes::{changed, created};
use super::errors::free_name;
use super::hiding::without_hidden;
use super::node::{Node, Row};
use super::place::{AttributeRule, Place, Removal};
use crate::drive::catalog::{
    found, hidden_path, known_asset, known_rapid, rapids_of, refresh_listing, refresh_rapid,
};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::posix::FileKind;
use crate::drive::tree::Tree;
use crate::drive::values::local::HiddenParent;
use crate::drive::values::node::{Family, Model};
use crate::wire::{AssetId, ModelId, RapidId};

/// A link to a model.
pub(super) enum ModelLink {
    /// `.assetfs/by-id/ID`.
    ById(Family, u64),
    /// `.assetfs/search/QUERY/NAME`.
    Found(Family, Arc<str>, u64),
    /// `rapidmodels/NAME/.assetfs/source`, which leads to the source model.
    Source(RapidId),
    /// In `jobs/`: an optimized model that is being made or has failed lately.
    Job(RapidId),
    /// `rawmodels/NAME/rapidmodels/NAME`: an optimized model of this source model.
    Rapid(AssetId, RapidId),
}

#[async_trait]
impl Place for ModelLink {
    fn identity(&self) -> String {
        match self {
            ModelLink::ById(family, id) => format!("by-id/{}/{id}", family.name()),
            ModelLink::Found(family, query, id) => format!("found/{}/{id}/{query}", family.name()),
            ModelLink::Source(rapid) => format!("source/{rapid}"),
            ModelLink::Job(rapid) => format!("job-link/{rapid}"),
            ModelLink::Rapid(asset, rapid) => format!("link/{asset}/{rapid}"),
        }
    }

    fn kind(&self) -> Option<FileKind> {
        Some(FileKind::Link)
    }

    fn path(&self, tree: &Tree) -> String {
        let name = |rapid: &RapidId| {
            let name = tree.catalog().rapid_name(*rapid);
            name.unwrap_or_else(|| rapid.to_string())
        };
        match self {
            ModelLink::ById(family, id) => format!("{}/{id}", IdFolder(*family).path(tree)),
            ModelLink::Found(family, query, id) => {
                let found = Found(*family, Arc::clone(query));
                format!("{}/{id}", found.path(tree))
            }
            ModelLink::Source(rapid) => {
                let parent = HiddenParent::Model(Model::Rapid(*rapid));
                format!("{}/source", hidden_path(tree.catalog(), parent))
            }
            ModelLink::Job(rapid) => format!("/jobs/{}", name(rapid)),
            ModelLink::Rapid(asset, rapid) => {
                format!("{}/{}", RapidLinks(*asset).path(tree), name(rapid))
            }
        }
    }

    fn modified(&self, tree: &Tree) -> SystemTime {
        let model = match self {
            ModelLink::ById(family, id) | ModelLink::Found(family, _, id) => family.model(*id),
            ModelLink::Source(rapid) | ModelLink::Job(rapid) | ModelLink::Rapid(_, rapid) => {
                ModelId::Rapid(*rapid)
            }
        };
        created(tree, model)
    }

    async fn target(&self, tree: &Arc<Tree>) -> DriveResult<String> {
        Ok(match self {
            ModelLink::ById(family, id) => {
                format!("../../{}", linked_model(tree, *family, *id).await?)
            }
            ModelLink::Found(family, _, id) => {
                format!("../../../{}", linked_model(tree, *family, *id).await?)
            }
            ModelLink::Source(rapid) => {
                format!("../../../rawmodels/{}", source_of(tree, *rapid).await?)
            }
            ModelLink::Job(rapid) => {
                format!("../rapidmodels/{}", linked_rapid(tree, *rapid).await?)
            }
            ModelLink::Rapid(_, rapid) => {
                format!("../../../rapidmodels/{}", linked_rapid(tree, *rapid).await?)
            }
        })
    }

    fn owner(&self, tree: &Tree) -> Option<Model> {
        match self {
            ModelLink::Rapid(asset, _) => RapidLinks(*asset).owner(tree),
            _ => None,
        }
    }

    fn removal(&self) -> Removal {
        match self {
            ModelLink::Rapid(..) => Removal::Part,
            _ => Removal::Refused,
        }
    }
}

/// The name of the model that a link in `.assetfs/by-id/` or `search/` leads to.
async fn linked_model(tree: &Arc<Tree>, family: Family, id: u64) -> DriveResult<String> {
    match family {
        Family::Raw => name_of_asset(tree, AssetId(id)),
        Family::Rapid => linked_rapid(tree, RapidId(id)).await,
    }
}

/// The name of an optimized model that a link leads to.
pub(super) async fn linked_rapid(tree: &Arc<Tree>, rapid: RapidId) -> DriveResult<String> {
    known_rapid(tree.catalog(), rapid).await?;
    tree.catalog().rapid_name(rapid).ok_or(DriveError::NotFound)
}

/// The name of the source model of an optimized one.
async fn source_of(tree: &Arc<Tree>, rapid: RapidId) -> DriveResult<String> {
    let mut row = known_rapid(tree.catalog(), rapid).await?;
    if row.source.is_none() {
        row = refresh_rapid(tree.catalog(), rapid, Duration::ZERO).await?;
    }
    let source = row.source.ok_or(DriveError::NotFound)?;
    known_asset(tree.catalog(), source).await?;
    name_of_asset(tree, source)
}

fn name_of_asset(tree: &Tree, asset: AssetId) -> DriveResult<String> {
    let name = tree.catalog().model_name(tree.catalog().home_of(asset));
    name.ok_or(DriveError::NotFound)
}

/// `.assetfs/by-id/` of a family: a link to each model under its id.
pub(super) struct IdFolder(pub(super) Family);

#[async_trait]
impl Place for IdFolder {
    fn identity(&self) -> String {
        format!("by-id/{}", self.0.name())
    }

    fn path(&self, tree: &Tree) -> String {
        path_in_family(tree, self.0, "by-id")
    }

    fn modified(&self, tree: &Tree) -> SystemTime {
        changed(tree, self.0.listing())
    }

    async fn rows(&self, tree: &Arc<Tree>) -> DriveResult<Vec<Row>> {
        refresh_listing(tree.catalog(), self.0.listing()).await?;
        let known = tree.catalog().known();
        let ids: Vec<u64> = match self.0 {
            Family::Raw => known.assets.rows().map(|row| row.id.0).collect(),
            Family::Rapid => known.rapids.rows().map(|row| row.id.0).collect(),
        };
        let rows = ids.into_iter();
        let rows = rows.map(|id| Row::new(id.to_string(), ModelLink::ById(self.0, id)));
        Ok(rows.collect())
    }

    async fn child(&self, tree: &Arc<Tree>, name: &str) -> DriveResult<Node> {
        let id: u64 = name.parse().map_err(|_| DriveError::NotFound)?;
        if id.to_string() != name {
            return Err(DriveError::NotFound);
        }
        match self.0 {
            Family::Raw => drop(known_asset(tree.catalog(), AssetId(id)).await?),
            Family::Rapid => drop(known_rapid(tree.catalog(), RapidId(id)).await?),
        }
        Ok(ModelLink::ById(self.0, id).into())
    }
}

/// `.assetfs/search/` of a family. Every name in it resolves, so none is listed.
pub(super) struct SearchFolder(pub(super) Family);

#[async_trait]
impl Place for SearchFolder {
    fn identity(&self) -> String {
        format!("search/{}", self.0.name())
    }

    fn path(&self, tree: &Tree) -> String {
        path_in_family(tree, self.0, "search")
    }

    fn modified(&self, tree: &Tree) -> SystemTime {
        changed(tree, self.0.listing())
    }

    async fn rows(&self, _: &Arc<Tree>) -> DriveResult<Vec<Row>> {
        Ok(Vec::new())
    }

    async fn child(&self, _: &Arc<Tree>, name: &str) -> DriveResult<Node> {
        Ok(Found(self.0, name.into()).into())
    }
}

/// `.assetfs/search/QUERY/`: links to the models that the service finds.
pub(super) struct Found(pub(super) Family, pub(super) Arc<str>);

#[async_trait]
impl Place for Found {
    fn identity(&self) -> String {
        format!("search/{}/{}", self.0.name(), self.1)
    }

    fn path(&self, tree: &Tree) -> String {
        format!("{}/{}", SearchFolder(self.0).path(tree), self.1)
    }

    fn modified(&self, tree: &Tree) -> SystemTime {
        changed(tree, self.0.listing())
    }

    async fn rows(&self, tree: &Arc<Tree>) -> DriveResult<Vec<Row>> {
        let ids = found(tree.catalog(), self.0, &self.1).await?.into_iter();
        let named = ids.filter_map(|id| {
            let name = match self.0 {
                Family::Raw => name_of_asset(tree, AssetId(id)).ok(),
                Family::Rapid => tree.catalog().rapid_name(RapidId(id)),
            };
            let link = ModelLink::Found(self.0, Arc::clone(&self.1), id);
            Some(Row::new(name?, link))
        });
        Ok(named.collect())
    }
}

fn path_in_family(tree: &Tree, family: Family, folder: &str) -> String {
    let hidden = hidden_path(tree.catalog(), HiddenParent::of_family(family));
    format!("{hidden}/{folder}")
}

/// `rawmodels/NAME/rapidmodels/`: links to the optimized models of a source model.
pub(super) struct RapidLinks(pub(super) AssetId);

#[async_trait]
impl Place for RapidLinks {
    fn identity(&self) -> String {
        format!("asset/{}/rapidmodels", self.0)
    }

    fn path(&self, tree: &Tree) -> String {
        let home = tree.catalog().home_of(self.0);
        format!("{}/rapidmodels", tree.catalog().home_path(home))
    }

    fn modified(&self, tree: &Tree) -> SystemTime {
        created(tree, ModelId::Asset(self.0))
    }

    async fn rows(&self, tree: &Arc<Tree>) -> DriveResult<Vec<Row>> {
        let rapids = rapids_of(tree.catalog(), self.0).await?.into_iter();
        let named = rapids.filter_map(|rapid| {
            let name = tree.catalog().rapid_name(rapid)?;
            Some(Row::new(name, ModelLink::Rapid(self.0, rapid)))
        });
        let mut rows: Vec<Row> = named.collect();
        without_hidden(tree, &mut rows, Model::Raw(tree.catalog().home_of(self.0)));
        Ok(rows)
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

/// Adds the links of `jobs/` under free names.
pub(super) fn job_link_rows(tree: &Tree, rows: &mut Vec<Row>) {
    let mut taken: HashSet<String> = rows.iter().map(|row| row.name.clone()).collect();
    let known = tree.catalog().known();
    for rapid in &known.jobs {
        let Some(name) = known.rapids.name(rapid.0) else {
            continue;
        };
        let name = free_name(name, &taken);
        taken.insert(name.clone());
        rows.push(Row::new(name, ModelLink::Job(*rapid)));
    }
}
