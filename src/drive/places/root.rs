//! `/`.

use std::sync::Arc;

use super::account::AccountFolder;
use super::attributes::folder;
use super::listing_folder::{EMBEDS, FACTORY, TOKENS, WEBHOOKS};
use super::mount_status::recovered_sentence;
use super::node::{Node, Row};
use super::place::{Answer, AttributeRule, Lifetime, Place};
use super::presets::PresetFolder;
use super::rapidmodels::RapidModels;
use super::rawmodels::RawModels;
use crate::drive::posix::Attributes;
use crate::drive::tree::Tree;
use crate::drive::values::local::{DropFolder, HiddenParent};
use crate::drive::values::node::ListingKind;

pub(in crate::drive) struct Root;

impl Place for Root {
    fn identity(&self) -> String {
        "/".to_owned()
    }

    fn path(&self, _: &Tree) -> String {
        "/".to_owned()
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::Brief
    }

    /// Read-only: file managers check whether they could create a trash folder here.
    fn attributes<'a>(&'a self, tree: &'a Arc<Tree>) -> Answer<'a, Attributes> {
        Box::pin(async move {
            Ok(Attributes {
                perm: 0o555,
                ..folder(tree, self.modified(tree))
            })
        })
    }

    fn rows<'a>(&'a self, _: &'a Arc<Tree>) -> Answer<'a, Vec<Row>> {
        Box::pin(async {
            Ok(vec![
                Row::new("rawmodels", RawModels),
                Row::new("rapidmodels", RapidModels),
                Row::new("presets", PresetFolder),
                Row::new("embeds", EMBEDS),
                Row::new("jobs", DropFolder::Jobs),
                Row::new("account", AccountFolder),
            ])
        })
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
pub(in crate::drive) fn top_folder(listing: ListingKind) -> Node {
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
