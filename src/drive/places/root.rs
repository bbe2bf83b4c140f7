//! `/`.

use std::sync::Arc;

use async_trait::async_trait;

use super::account::AccountFolder;
use super::attributes::folder;
use super::listing_folder::{EMBEDS, FACTORY, TOKENS, WEBHOOKS};
use super::mount_status::recovered_sentence;
use super::node::{Node, Row};
use super::place::{AttributeRule, Place};
use super::presets::PresetFolder;
use super::rapidmodels::RapidModels;
use super::rawmodels::RawModels;
use super::{rapidmodels, rawmodels};
use crate::drive::error::DriveResult;
use crate::drive::posix::Attributes;
use crate::drive::tree::Tree;
use crate::drive::values::local::{DropFolder, HiddenParent};
use crate::drive::values::node::ListingKind;

pub struct Root;

#[async_trait]
impl Place for Root {
    fn identity(&self) -> String {
        "/".to_owned()
    }

    fn path(&self, _: &Tree) -> String {
        "/".to_owned()
    }

    /// Read-only: file managers check whether they could create a trash folder here.
    async fn attributes(&self, tree: &Arc<Tree>) -> DriveResult<Attributes> {
        Ok(Attributes {
            perm: 0o555,
            ..folder(tree, self.modified(tree))
        })
    }

    async fn rows(&self, _: &Arc<Tree>) -> DriveResult<Vec<Row>> {
        Ok(vec![
            Row::new("rawmodels", RawModels),
            Row::new("rapidmodels", RapidModels),
            Row::new("presets", PresetFolder),
            Row::new("embeds", EMBEDS),
            Row::new("jobs", DropFolder::Jobs),
            Row::new("account", AccountFolder),
        ])
    }

    fn failure(&self, tree: &Tree) -> Option<String> {
        tree.catalog()
            .offline_reason()
            .or_else(|| recovered_sentence(tree))
    }

    fn hidden_parent(&self) -> Option<HiddenParent> {
        Some(HiddenParent::Root)
    }

    fn attribute_rule(&self) -> AttributeRule {
        AttributeRule::Accepted
    }
}

/// The folder that shows a listing.
pub fn top_folder(listing: ListingKind) -> Node {
    match listing {
        ListingKind::Assets => RawModels.into(),
        ListingKind::Rapids => RapidModels.into(),
        ListingKind::Presets => PresetFolder.into(),
        ListingKind::Factory => FACTORY.into(),
        ListingKind::Embeds => EMBEDS.into(),
        ListingKind::Jobs => DropFolder::Jobs.into(),
        ListingKind::Tokens => TOKENS.into(),
        ListingKind::Webhooks => WEBHOOKS.into(),
    }
}

/// The rows that only exist on this machine: drafts.
pub fn own_rows(tree: &Tree, which: ListingKind) -> Vec<Row> {
    match which {
        ListingKind::Assets => rawmodels::draft_rows(tree),
        _ => Vec::new(),
    }
}

/// The rows above an id, with the highest id.
pub fn rows_after(tree: &Tree, which: ListingKind, id: u64) -> (u64, Vec<Row>) {
    match which {
        ListingKind::Assets => rawmodels::rows_after(tree, id),
        _ => rapidmodels::rows_after(tree, id),
    }
}
