//! Folders that show a short listing of the service: `presets/factory/`, `embeds/`, `account/tokens/` and
//! `account/webhooks/`. Each is one constant below.

use std::sync::Arc;
use std::time::SystemTime;

use super::account_record::{AccountRecord, RecordKind};
use super::attributes::changed;
use super::embeds::EmbedPage;
use super::factory::FactoryPreset;
use super::node::{Node, Row};
use super::place::{Answer, AttributeRule, Lifetime, Place};
use crate::drive::catalog::{Known, refreshed};
use crate::drive::error::DriveError;
use crate::drive::posix::FileKind;
use crate::drive::tree::Tree;
use crate::drive::values::listing::{Listing, Record};
use crate::drive::values::local::HiddenParent;
use crate::drive::values::node::ListingKind;

pub(super) const FACTORY: ListingFolder = ListingFolder {
    listing: ListingKind::Factory,
    path: "/presets/factory",
    hidden_parent: None,
    rows: |known| named_rows(&known.factory, FactoryPreset::of),
    find: |known, name| Some(FactoryPreset::of(known.factory.find(name)?).into()),
};

pub(super) const EMBEDS: ListingFolder = ListingFolder {
    listing: ListingKind::Embeds,
    path: "/embeds",
    hidden_parent: Some(HiddenParent::Embeds),
    rows: |known| named_rows(&known.embeds, |row| EmbedPage(row.id)),
    find: |known, name| Some(EmbedPage(known.embeds.find(name)?.id).into()),
};

pub(super) const TOKENS: ListingFolder = ListingFolder {
    listing: ListingKind::Tokens,
    path: "/account/tokens",
    hidden_parent: None,
    rows: |known| {
        named_rows(&known.tokens, |row| {
            AccountRecord(RecordKind::Token, row.id)
        })
    },
    find: |known, name| {
        let row = known.tokens.find(name)?;
        Some(AccountRecord(RecordKind::Token, row.id).into())
    },
};

pub(super) const WEBHOOKS: ListingFolder = ListingFolder {
    listing: ListingKind::Webhooks,
    path: "/account/webhooks",
    hidden_parent: None,
    rows: |known| {
        named_rows(&known.webhooks, |row| {
            AccountRecord(RecordKind::Webhook, row.id)
        })
    },
    find: |known, name| {
        let row = known.webhooks.find(name)?;
        Some(AccountRecord(RecordKind::Webhook, row.id).into())
    },
};

/// A folder that shows one listing.
pub(super) struct ListingFolder {
    listing: ListingKind,
    path: &'static str,
    hidden_parent: Option<HiddenParent>,
    rows: fn(&Known) -> Vec<Row>,
    find: fn(&Known, &str) -> Option<Node>,
}

impl Place for ListingFolder {
    fn identity(&self) -> String {
        format!("top/{}", self.listing.table())
    }

    fn kind(&self) -> Option<FileKind> {
        Some(FileKind::Folder)
    }

    fn path(&self, _: &Tree) -> String {
        self.path.to_owned()
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::Own
    }

    fn modified(&self, tree: &Tree) -> SystemTime {
        changed(tree, self.listing)
    }

    fn rows<'a>(&'a self, tree: &'a Arc<Tree>) -> Answer<'a, Vec<Row>> {
        Box::pin(async {
            refreshed(tree.catalog(), self.listing).await?;
            Ok((self.rows)(&tree.catalog().known()))
        })
    }

    fn child<'a>(&'a self, tree: &'a Arc<Tree>, name: &'a str) -> Answer<'a, Node> {
        Box::pin(async move {
            refreshed(tree.catalog(), self.listing).await?;
            let found = (self.find)(&tree.catalog().known(), name);
            found.ok_or(DriveError::NotFound)
        })
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
