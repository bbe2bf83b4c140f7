//! `rawmodels/`: drafts, and the source models of the account.

use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;

use super::attributes::changed;
use super::entry::{file_beside, loose_row};
use super::errors::{error_row, is_error_file};
use super::model::ModelFolder;
use super::mount_status::recovered_sentence;
use super::node::{Node, Row};
use super::place::{AttributeRule, Container, Place};
use crate::drive::catalog::{
    NameAnswer, ask_for_name, confirm_listing, is_asset_by_now, listed_model, refresh_listing,
};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::tree::Tree;
use crate::drive::values::local::{ErrorParent, HiddenParent};
use crate::drive::values::node::{Family, Home, ListingKind};
use crate::outbox::{DraftId, DraftKind};
use crate::wire::{AssetId, ModelId};

/// The folder of all source models.
pub struct RawModels;

#[async_trait]
impl Place for RawModels {
    fn identity(&self) -> String {
        "top/rawmodels".to_owned()
    }

    fn path(&self, _: &Tree) -> String {
        "/rawmodels".to_owned()
    }

    fn modified(&self, tree: &Tree) -> SystemTime {
        changed(tree, ListingKind::Assets)
    }

    async fn rows(&self, tree: &Arc<Tree>) -> DriveResult<Vec<Row>> {
        refresh_listing(tree.catalog(), ListingKind::Assets).await?;
        Ok(self.known_rows(tree))
    }

    /// Drafts, then the models of the service that are known.
    fn known_rows(&self, tree: &Tree) -> Vec<Row> {
        let mut rows = draft_rows(tree);
        let unseen = tree.outbox().uploads().unseen_assets();
        let listed: Vec<(AssetId, String)> = {
            let known = tree.catalog().known();
            let shown = known.assets.rows().filter(|row| !unseen.contains(&row.id));
            shown
                .filter_map(|row| Some((row.id, known.assets.name(row.id.0)?.to_owned())))
                .collect()
        };
        rows.extend(
            listed
                .into_iter()
                .map(|(asset, name)| Row::new(name, ModelFolder(tree.catalog().home_of(asset)))),
        );
        let taken = rows.iter().map(|row| row.name.clone()).collect();
        rows.extend(error_row(tree, ErrorParent::RawModels, &taken));
        rows
    }

    async fn child(&self, tree: &Arc<Tree>, name: &str) -> DriveResult<Node> {
        RawModels::find(tree, name).await
    }

    fn failure(&self, tree: &Tree) -> Option<String> {
        tree.catalog()
            .offline_reason()
            .or_else(|| recovered_sentence(tree))
    }

    fn hidden_parent(&self) -> Option<HiddenParent> {
        Some(HiddenParent::RawModels)
    }

    fn listing(&self) -> Option<ListingKind> {
        Some(ListingKind::Assets)
    }

    fn container(&self) -> Option<Container> {
        Some(Container::Drafts)
    }

    fn attribute_rule(&self) -> AttributeRule {
        AttributeRule::Accepted
    }

    fn cache_name(&self, _: &Tree) -> DriveResult<String> {
        Ok("raw".to_owned())
    }
}

impl RawModels {
    /// Finds a draft, a listed model, or a loose file that was copied in.
    pub async fn find(tree: &Arc<Tree>, name: &str) -> DriveResult<Node> {
        if let Some(node) = RawModels::open_draft(tree, name) {
            return Ok(node);
        }
        // A loose file that is being uploaded from here needs no request.
        if let Some(draft) = tree.outbox().drafts().find_loose_model(name)
            && RawModels::listed_asset(tree, name).is_none()
        {
            return Ok(ModelFolder(Home::Made(draft)).into());
        }
        let listed = || {
            let asset = RawModels::listed_asset(tree, name)?;
            Some(Node::from(ModelFolder(tree.catalog().home_of(asset))))
        };
        let asked = match ask_for_name(tree.catalog(), Family::Raw, name).await {
            // A draft can be created while the service is away. If a model of the service has the name, it is
            // shown with `~` and its id later.
            Ok(NameAnswer::OutOfReach(_)) => Err(DriveError::NotFound),
            Ok(NameAnswer::Asked) => Ok(()),
            Err(error) => Err(error),
        };
        if let Some(node) = listed().or_else(|| RawModels::error_text(tree, name)) {
            return Ok(node);
        }
        // The name of a loose file resolves, unlisted, as long as its asset exists.
        if let Some(entry) = file_beside(tree, name) {
            return Ok(entry.into());
        }
        asked?;
        if confirm_listing(tree.catalog(), ListingKind::Assets).await
            && let Some(node) = listed()
        {
            return Ok(node);
        }
        Err(DriveError::NotFound)
    }

    /// What failed of the loose files, under the name that it is listed with.
    fn error_text(tree: &Tree, name: &str) -> Option<Node> {
        let mut rows = is_error_file(name)
            .then(|| RawModels.known_rows(tree))?
            .into_iter();
        rows.find(|row| row.name == name).map(|row| row.node)
    }

    /// The asset that is listed under a name.
    pub fn listed_asset(tree: &Tree, name: &str) -> Option<AssetId> {
        match listed_model(tree.catalog(), Family::Raw, name)? {
            ModelId::Asset(asset) => Some(asset),
            ModelId::Rapid(_) => None,
        }
    }

    /// The draft of that name, if it is not an asset yet.
    pub fn open_draft(tree: &Tree, name: &str) -> Option<Node> {
        let draft = tree.outbox().drafts().find(name)?;
        if is_asset_by_now(tree.catalog(), &draft) {
            return None;
        }
        match draft.kind {
            DraftKind::Folder => Some(ModelFolder(Home::Made(draft.id)).into()),
            DraftKind::LooseFile => loose_row(tree, draft.id).map(|row| row.node),
        }
    }

    /// The draft of a loose file, also after it became an asset.
    pub fn loose_draft(tree: &Tree, name: &str) -> Option<DraftId> {
        match RawModels::open_draft(tree, name) {
            Some(node) if node.model_folder().is_none() => {
                node.draft_entry().map(|(draft, _)| draft)
            }
            Some(_) => None,
            None => file_beside(tree, name).map(|entry| entry.draft),
        }
    }
}

pub(super) fn draft_rows(tree: &Tree) -> Vec<Row> {
    let mut rows = Vec::new();
    for draft in tree.outbox().drafts().all() {
        if is_asset_by_now(tree.catalog(), &draft) {
            continue;
        }
        match draft.kind {
            DraftKind::Folder => {
                rows.push(Row::new(draft.name, ModelFolder(Home::Made(draft.id))));
            }
            DraftKind::LooseFile => rows.extend(loose_row(tree, draft.id)),
        }
    }
    rows
}

/// The rows above an id, with the highest id.
pub(super) fn rows_after(tree: &Tree, id: u64) -> (u64, Vec<Row>) {
    let unseen = tree.outbox().uploads().unseen_assets();
    let (highest, listed) = {
        let known = tree.catalog().known();
        let rows: Vec<AssetId> = known.assets.rows_after(id).map(|row| row.id).collect();
        let highest = rows.last().map_or(id, |asset| asset.0);
        let shown = rows.into_iter().filter(|asset| !unseen.contains(asset));
        let named: Vec<(AssetId, String)> = shown
            .filter_map(|asset| Some((asset, known.assets.name(asset.0)?.to_owned())))
            .collect();
        (highest, named)
    };
    let rows = listed
        .into_iter()
        .map(|(asset, name)| Row::new(name, ModelFolder(tree.catalog().home_of(asset))));
    (highest, rows.collect())
}
