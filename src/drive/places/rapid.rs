//! `rapidmodels/NAME/`: an optimized model.

use std::sync::Arc;

use async_trait::async_trait;

use super::attributes::folder;
use super::errors::{after_a_failed_job, rapid_failure};
use super::model::{ModelFolder, all_rows};
use super::node::{Node, Row};
use super::place::{Place, Removal};
use super::refusals;
use super::remote::{ServiceFolder, map_rows};
use super::stale_jobs::runnable_texts;
use crate::drive::catalog::{
    StaleCheck, file_map, known_map, known_rapid, learn_reason, newer_result, rapid_status,
};
use crate::drive::error::DriveResult;
use crate::drive::posix::Attributes;
use crate::drive::tree::Tree;
use crate::drive::values::known::system_time;
use crate::drive::values::local::{DropFolder, HiddenParent};
use crate::drive::values::names::shown_path;
use crate::drive::values::node::{Model, RemoteFolder};
use crate::outbox::ItemStatus;
use crate::wire::paths::{fill, route};
use crate::wire::{OptimizationStatus, RapidId, Staleness};

/// The folder of an optimized model.
pub struct RapidFolder(pub RapidId);

#[async_trait]
impl Place for RapidFolder {
    fn identity(&self) -> String {
        format!("rapid/{}", self.0)
    }

    fn path(&self, tree: &Tree) -> String {
        tree.catalog().rapid_path(self.0)
    }

    async fn attributes(&self, tree: &Arc<Tree>) -> DriveResult<Attributes> {
        let row = known_rapid(tree.catalog(), self.0).await?;
        Ok(folder(tree, system_time(row.updated.or(row.created))))
    }

    async fn rows(&self, tree: &Arc<Tree>) -> DriveResult<Vec<Row>> {
        let rapid = self.0;
        let row = known_rapid(tree.catalog(), rapid).await?;
        learn_reason(tree.catalog(), Model::Rapid(rapid)).await;
        let mut rows = Vec::new();
        if row.state.is_final() {
            let folder = RemoteFolder::RapidFiles(rapid);
            let map = file_map(tree.catalog(), folder).await?;
            rows = map_rows(tree, folder, &map, "");
        }
        let folders = service_folders(tree, rapid, &row.state);
        Ok(all_rows(tree, Model::Rapid(rapid), rows, folders))
    }

    fn failure(&self, tree: &Tree) -> Option<String> {
        match rapid_failure(tree, self.0) {
            Some(said) => Some(after_a_failed_job(&said)),
            None => why_stale(tree, self.0),
        }
    }

    fn hidden_parent(&self) -> Option<HiddenParent> {
        Some(HiddenParent::Model(Model::Rapid(self.0)))
    }

    fn model_folder(&self) -> Option<Model> {
        Some(Model::Rapid(self.0))
    }

    fn service_folder(&self) -> Option<RemoteFolder> {
        Some(RemoteFolder::RapidFiles(self.0))
    }

    fn check_may_make(&self, _: &Tree) -> DriveResult<()> {
        Err(refusals::no_rapid_by_hand())
    }

    fn removal(&self) -> Removal {
        Removal::Model(Model::Rapid(self.0))
    }

    fn cache_name(&self, _: &Tree) -> DriveResult<String> {
        Ok(format!("rapid/{}", self.0))
    }

    fn id(&self, _: &Tree) -> Option<String> {
        Some(self.0.to_string())
    }

    fn url(&self, tree: &Tree) -> Option<String> {
        Some(tree.record_url(&fill(route::RAPID_MODEL, &[&self.0])))
    }

    fn has_status(&self, _: &Tree) -> bool {
        true
    }

    async fn status(&self, tree: &Arc<Tree>) -> DriveResult<Option<ItemStatus>> {
        let row = known_rapid(tree.catalog(), self.0).await?;
        Ok(Some(rapid_status(tree.catalog(), &row)))
    }

    async fn similarity(&self, tree: &Arc<Tree>) -> DriveResult<Option<f64>> {
        Ok(known_rapid(tree.catalog(), self.0).await?.similarity)
    }
}

/// Why an optimized model is stale, and what makes it again or has done so.
fn why_stale(tree: &Tree, rapid: RapidId) -> Option<String> {
    let catalog = tree.catalog();
    let row = catalog.rapid(rapid)?;
    let check = StaleCheck::new(catalog);
    let cause = match check.of(&row)? {
        Staleness::SourceReplaced => {
            let newest = catalog.home_path(catalog.home_of(check.newest(row.source?)));
            let newest = shown_path(&newest);
            format!("it was made from an earlier version of {newest}")
        }
        Staleness::PresetChanged => {
            "its preset has another configuration than at the time when it was made".to_owned()
        }
    };
    let mut runnable = runnable_texts(tree).into_iter();
    let what_next = if runnable.any(|it| it.result == rapid) {
        "`assetfs run --stale` makes it again".to_owned()
    } else if let Some(newer) = newer_result(catalog, &check, &row) {
        let newer = catalog.rapid_path(newer);
        let newer = shown_path(&newer);
        format!("a newer result of the same text is {newer}")
    } else if row.text_names().next().is_none() {
        "its text is not known, so optimize the model once more".to_owned()
    } else {
        "its text is being run already".to_owned()
    };
    Some(format!("it is stale: {cause}; {what_next}"))
}

/// The service folders that a model has in its state.
fn service_folders(tree: &Tree, rapid: RapidId, state: &OptimizationStatus) -> Vec<Row> {
    let has_files =
        |folder: RemoteFolder| known_map(tree.catalog(), folder).is_some_and(|map| !map.is_empty());
    let (renders, reports) = (
        RemoteFolder::RapidRenders(rapid),
        RemoteFolder::RapidQc(rapid),
    );
    let folders = [
        (state.is_final(), RemoteFolder::RapidAnalysis(rapid)),
        (has_files(renders), renders),
        (has_files(reports), reports),
    ];
    let there = folders.into_iter().filter(|(is_there, _)| *is_there);
    let mut rows: Vec<Row> = there
        .map(|(_, folder)| ServiceFolder::top(folder).row())
        .collect();
    if *state == OptimizationStatus::Done {
        rows.push(DropFolder::RapidEmbeds(rapid).row());
    }
    rows
}

impl Model {
    pub fn folder(self) -> Node {
        match self {
            Model::Raw(home) => ModelFolder(home).into(),
            Model::Rapid(rapid) => RapidFolder(rapid).into(),
        }
    }
}
