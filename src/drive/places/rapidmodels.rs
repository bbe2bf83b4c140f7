//! `rapidmodels/`: the optimized models of the account.

use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;

use super::attributes::changed;
use super::listing_folder::named_rows;
use super::node::{Node, Row};
use super::place::{AttributeRule, Place};
use super::rapid::RapidFolder;
use super::refusals;
use crate::drive::catalog::{
    NameAnswer, ask_for_name, confirm_listing, listed_model, refresh_listing, shown_as,
};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::tree::Tree;
use crate::drive::values::local::HiddenParent;
use crate::drive::values::node::{Family, ListingKind};

/// The folder of all optimized models.
pub struct RapidModels;

#[async_trait]
impl Place for RapidModels {
    fn identity(&self) -> String {
        "top/rapidmodels".to_owned()
    }

    fn path(&self, _: &Tree) -> String {
        "/rapidmodels".to_owned()
    }

    fn modified(&self, tree: &Tree) -> SystemTime {
        changed(tree, ListingKind::Rapids)
    }

    async fn rows(&self, tree: &Arc<Tree>) -> DriveResult<Vec<Row>> {
        refresh_listing(tree.catalog(), ListingKind::Rapids).await?;
        Ok(self.known_rows(tree))
    }

    fn known_rows(&self, tree: &Tree) -> Vec<Row> {
        named_rows(&tree.catalog().known().rapids, |row| RapidFolder(row.id))
    }

    async fn child(&self, tree: &Arc<Tree>, name: &str) -> DriveResult<Node> {
        let listed = || {
            let found = listed_model(tree.catalog(), Family::Rapid, name)?;
            Some(shown_as(tree.catalog(), found).folder())
        };
        let answer = ask_for_name(tree.catalog(), Family::Rapid, name).await;
        if let Some(node) = listed() {
            return Ok(node);
        }
        match answer? {
            NameAnswer::OutOfReach(error) => return Err(error),
            NameAnswer::Asked => {}
        }
        if confirm_listing(tree.catalog(), ListingKind::Rapids).await
            && let Some(node) = listed()
        {
            return Ok(node);
        }
        Err(DriveError::NotFound)
    }

    fn failure(&self, tree: &Tree) -> Option<String> {
        tree.catalog().offline_reason()
    }

    fn hidden_parent(&self) -> Option<HiddenParent> {
        Some(HiddenParent::RapidModels)
    }

    fn listing(&self) -> Option<ListingKind> {
        Some(ListingKind::Rapids)
    }

    fn check_may_make(&self, _: &Tree) -> DriveResult<()> {
        Err(refusals::no_rapid_by_hand())
    }

    fn attribute_rule(&self) -> AttributeRule {
        AttributeRule::Accepted
    }

    fn cache_name(&self, _: &Tree) -> DriveResult<String> {
        Ok("rapid".to_owned())
    }
}

/// The rows above an id, with the highest id.
pub(super) fn rows_after(tree: &Tree, id: u64) -> (u64, Vec<Row>) {
    let known = tree.catalog().known();
    let rows: Vec<_> = known.rapids.rows_after(id).collect();
    let highest = rows.last().map_or(id, |row| row.id.0);
    let named = rows.into_iter().filter_map(|row| {
        let name = known.rapids.name(row.id.0)?;
        Some(Row::new(name, RapidFolder(row.id)))
    });
    (highest, named.collect())
}
