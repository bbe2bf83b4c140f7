//! `rapidmodels/.assetfs/by-source/NAME/TEXT`: a link to the current result of a text of a source model. The path is the
//! same on every machine and for every version of the model.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;

use super::attributes::changed;
use super::node::{Node, Row};
use super::place::{Lifetime, Place};
use super::rawmodels::RawModels;
use crate::drive::catalog::{hidden_path, learn_results_of, refresh_listing, results_by_text};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::posix::FileKind;
use crate::drive::tree::Tree;
use crate::drive::values::known::{KnownRapid, system_time};
use crate::drive::values::local::HiddenParent;
use crate::drive::values::names::safe_name;
use crate::drive::values::node::{ListingKind, Model};
use crate::wire::{AssetId, OptimizationStatus};

/// The name of the folder.
pub(super) const BY_SOURCE: &str = "by-source";

/// The folder of all source models that have results of a text.
pub(super) struct BySource;

#[async_trait]
impl Place for BySource {
    fn identity(&self) -> String {
        BY_SOURCE.to_owned()
    }

    fn path(&self, tree: &Tree) -> String {
        let hidden = hidden_path(tree.catalog(), HiddenParent::RapidModels);
        format!("{hidden}/{BY_SOURCE}")
    }

    fn modified(&self, tree: &Tree) -> SystemTime {
        changed(tree, ListingKind::Rapids)
    }

    async fn rows(&self, tree: &Arc<Tree>) -> DriveResult<Vec<Row>> {
        refresh_listing(tree.catalog(), ListingKind::Rapids).await?;
        refresh_listing(tree.catalog(), ListingKind::Assets).await?;
        let sources: BTreeSet<AssetId> = {
            let known = tree.catalog().known();
            let rows = known.rapids.rows();
            rows.filter(|row| row.text_names().next().is_some())
                .filter_map(|row| row.source)
                .collect()
        };
        let catalog = tree.catalog();
        let names = sources
            .into_iter()
            .filter_map(|asset| catalog.model_name(catalog.home_of(asset)));
        Ok(names
            .map(|name| Row::new(name.clone(), SourceResults(name.into())))
            .collect())
    }

    async fn child(&self, tree: &Arc<Tree>, name: &str) -> DriveResult<Node> {
        asset_named(tree, name).await?;
        Ok(SourceResults(name.into()).into())
    }
}

/// `by-source/NAME/`: a link for each text. It stays the same folder when another version takes the name.
struct SourceResults(Arc<str>);

#[async_trait]
impl Place for SourceResults {
    fn identity(&self) -> String {
        format!("{BY_SOURCE}/{}", self.0)
    }

    fn path(&self, tree: &Tree) -> String {
        format!("{}/{}", BySource.path(tree), self.0)
    }

    fn modified(&self, tree: &Tree) -> SystemTime {
        changed(tree, ListingKind::Rapids)
    }

    async fn rows(&self, tree: &Arc<Tree>) -> DriveResult<Vec<Row>> {
        let asset = asset_named(tree, &self.0).await?;
        learn_results_of(tree.catalog(), asset).await;
        // A preset that another machine has changed makes another result the current one.
        if let Err(error) = refresh_listing(tree.catalog(), ListingKind::Presets).await {
            tracing::debug!(%error, "links to results are made of the presets that are known");
        }
        let results = current_results(tree, asset).into_iter();
        let done = results.filter(|(_, row)| row.state == OptimizationStatus::Done);
        Ok(done
            .map(|(text, row)| {
                let shown = safe_name(&text, row.id.0);
                Row::new(shown, self.link(text.into()))
            })
            .collect())
    }

    async fn child(&self, tree: &Arc<Tree>, name: &str) -> DriveResult<Node> {
        let rows = self.rows(tree).await?;
        let row = rows.into_iter().find(|row| row.name == name);
        row.map(|row| row.node).ok_or(DriveError::NotFound)
    }
}

impl SourceResults {
    fn link(&self, text: Arc<str>) -> CurrentResult {
        CurrentResult {
            source: Arc::clone(&self.0),
            text,
        }
    }
}

/// `by-source/NAME/TEXT`.
struct CurrentResult {
    source: Arc<str>,
    text: Arc<str>,
}

#[async_trait]
impl Place for CurrentResult {
    fn identity(&self) -> String {
        format!("{BY_SOURCE}/{}/{}", self.source, self.text)
    }

    fn kind(&self) -> Option<FileKind> {
        Some(FileKind::Link)
    }

    fn path(&self, tree: &Tree) -> String {
        let folder = SourceResults(Arc::clone(&self.source)).path(tree);
        format!("{folder}/{}", self.text)
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::None
    }

    fn modified(&self, tree: &Tree) -> SystemTime {
        let Some(asset) = RawModels::listed_asset(tree, &self.source) else {
            return tree.opened();
        };
        let current = current_results(tree, asset).remove(&*self.text);
        current.map_or(tree.opened(), |row| system_time(row.created))
    }

    async fn target(&self, tree: &Arc<Tree>) -> DriveResult<String> {
        let asset = asset_named(tree, &self.source).await?;
        learn_results_of(tree.catalog(), asset).await;
        let current = current_results(tree, asset).remove(&*self.text);
        let current = current.filter(|row| row.state == OptimizationStatus::Done);
        let current = current.ok_or(DriveError::NotFound)?;
        let name = tree.catalog().rapid_name(current.id);
        Ok(format!("../../../{}", name.ok_or(DriveError::NotFound)?))
    }
}

/// The current result of each text of a model. The result of a text that was written on this machine counts before the service
/// has the name for it.
fn current_results(tree: &Tree, asset: AssetId) -> BTreeMap<String, KnownRapid> {
    let unnamed = tree.outbox().jobs().unnamed(asset);
    let mut results = results_by_text(tree.catalog(), asset);
    let known = tree.catalog().known();
    for (text, rapid) in unnamed {
        if let Some(row) = known.rapids.row(rapid.0) {
            results.insert(text, row.clone());
        }
    }
    results
}

/// The asset that has a name in `rawmodels/` now.
async fn asset_named(tree: &Arc<Tree>, name: &str) -> DriveResult<AssetId> {
    let found = RawModels::find(tree, name).await?;
    let Some(Model::Raw(home)) = found.model_folder() else {
        return Err(DriveError::NotFound);
    };
    tree.catalog().asset_of(home).ok_or(DriveError::NotFound)
}
