//! Folders that show a short listing of the service: `presets/factory/`, `embeds/`, `account/tokens/` and
//! `account/webhooks/`. Each is one constant below.

use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;

use super::account_record::AccountRecord;
use super::attributes::changed;
use super::embeds::EmbedPage;
use super::factory::FactoryPreset;
use super::node::{Node, Row};
use super::place::{AttributeRule, Place};
use crate::drive::catalog::{ListingRef, listing_refs, refreshed};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::tree::Tree;
use crate::drive::values::known::{KnownEmbed, KnownPreset, KnownRecord};
use crate::drive::values::listing::{Listing, Record};
use crate::drive::values::local::HiddenParent;

pub(super) const FACTORY: ListingFolder<KnownPreset, FactoryPreset> = ListingFolder {
    listing: &listing_refs::FACTORY,
    path: "/presets/factory",
    hidden_parent: None,
    file: FactoryPreset::of,
};

pub(super) const EMBEDS: ListingFolder<KnownEmbed, EmbedPage> = ListingFolder {
    listing: &listing_refs::EMBEDS,
    path: "/embeds",
    hidden_parent: Some(HiddenParent::Embeds),
    file: |row| EmbedPage(row.id),
};

pub(super) const TOKENS: ListingFolder<KnownRecord, AccountRecord> = ListingFolder {
    listing: &listing_refs::TOKENS,
    path: "/account/tokens",
    hidden_parent: None,
    file: |row| AccountRecord(&listing_refs::TOKENS, row.id),
};

pub(super) const WEBHOOKS: ListingFolder<KnownRecord, AccountRecord> = ListingFolder {
    listing: &listing_refs::WEBHOOKS,
    path: "/account/webhooks",
    hidden_parent: None,
    file: |row| AccountRecord(&listing_refs::WEBHOOKS, row.id),
};

/// A folder that shows one listing.
pub(super) struct ListingFolder<R: 'static, P> {
    listing: &'static ListingRef<R>,
    path: &'static str,
    hidden_parent: Option<HiddenParent>,
    file: fn(&R) -> P,
}

#[async_trait]
impl<R: Record, P: Place + 'static> Place for ListingFolder<R, P> {
    fn identity(&self) -> String {
        format!("top/{}", self.listing.kind.table())
    }

    fn path(&self, _: &Tree) -> String {
        self.path.to_owned()
    }

    fn modified(&self, tree: &Tree) -> SystemTime {
        changed(tree, self.listing.kind)
    }

    async fn rows(&self, tree: &Arc<Tree>) -> DriveResult<Vec<Row>> {
        refreshed(tree.catalog(), self.listing.kind).await?;
        let mut known = tree.catalog().known();
        Ok(named_rows((self.listing.rows)(&mut known), self.file))
    }

    async fn child(&self, tree: &Arc<Tree>, name: &str) -> DriveResult<Node> {
        refreshed(tree.catalog(), self.listing.kind).await?;
        let mut known = tree.catalog().known();
        let row = (self.listing.rows)(&mut known).find(name);
        Ok((self.file)(row.ok_or(DriveError::NotFound)?).into())
    }

    fn hidden_parent(&self) -> Option<HiddenParent> {
        self.hidden_parent
    }

    fn attribute_rule(&self) -> AttributeRule {
        AttributeRule::Accepted
    }
}

/// The rows of a listing under their unique names.
pub(super) fn named_rows<R: Record, P: Place + 'static>(
    listing: &Listing<R>,
    place: impl Fn(&R) -> P,
) -> Vec<Row> {
    listing
        .rows()
        .filter_map(|row| Some(Row::new(listing.name(row.number())?, place(row))))
        .collect()
}
