//! Folders that show a short listing of the service: `presets/factory/`, `embeds/`, `account/tokens/` and
//! `account/webhooks/`. Each is one constant below, followed by the files that only show a record.

use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;

use super::attributes::changed;
use super::embeds::EmbedPage;
use super::node::{Node, Row};
use super::place::{AttributeRule, Lifetime, Place, Text};
use crate::drive::catalog::{ListingRef, listing_refs, refresh_listing};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::posix::FileKind;
use crate::drive::tree::Tree;
use crate::drive::values::known::{KnownEmbed, KnownPreset, KnownRecord, system_time};
use crate::drive::values::listing::{Listing, Record};
use crate::drive::values::local::HiddenParent;
use crate::wire::PresetId;

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
        refresh_listing(tree.catalog(), self.listing.kind).await?;
        let mut known = tree.catalog().known();
        Ok(named_rows((self.listing.rows)(&mut known), self.file))
    }

    async fn child(&self, tree: &Arc<Tree>, name: &str) -> DriveResult<Node> {
        refresh_listing(tree.catalog(), self.listing.kind).await?;
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

/// A factory preset. The number is a checksum of its text, so that another text is another inode.
pub(super) struct FactoryPreset(pub(super) PresetId, pub(super) u64);

impl FactoryPreset {
    pub(super) fn of(preset: &KnownPreset) -> FactoryPreset {
        FactoryPreset(preset.id, preset.text_checksum())
    }
}

#[async_trait]
impl Place for FactoryPreset {
    fn identity(&self) -> String {
        format!("factory/{}/{:x}", self.0, self.1)
    }

    fn kind(&self) -> Option<FileKind> {
        Some(FileKind::File)
    }

    fn path(&self, tree: &Tree) -> String {
        let name = tree.catalog().name_in(&listing_refs::FACTORY, self.0.0);
        format!("/presets/factory/{name}")
    }

    async fn text(&self, tree: &Arc<Tree>) -> DriveResult<Text> {
        let known = tree.catalog().known();
        let row = known.factory.row(self.0.0).ok_or(DriveError::NotFound)?;
        Ok(Text::new(row.text.as_str(), system_time(row.updated)))
    }

    fn id(&self, _: &Tree) -> Option<String> {
        Some(self.0.to_string())
    }

    fn description(&self, tree: &Tree) -> Option<String> {
        tree.catalog()
            .known()
            .factory
            .row(self.0.0)?
            .description
            .clone()
    }
}

/// A file of `account/tokens/` or `account/webhooks/`.
pub(super) struct AccountRecord(pub(super) &'static ListingRef<KnownRecord>, pub(super) u64);

#[async_trait]
impl Place for AccountRecord {
    fn identity(&self) -> String {
        format!("account/{}/{}", self.0.kind.table(), self.1)
    }

    fn kind(&self) -> Option<FileKind> {
        Some(FileKind::File)
    }

    fn path(&self, tree: &Tree) -> String {
        let name = tree.catalog().name_in(self.0, self.1);
        format!("/account/{}/{name}", self.0.kind.table())
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::None
    }

    async fn text(&self, tree: &Arc<Tree>) -> DriveResult<Text> {
        let mut known = tree.catalog().known();
        let row = (self.0.rows)(&mut known).row(self.1);
        let row = row.ok_or(DriveError::NotFound)?;
        Ok(Text::new(row.text.as_str(), system_time(row.created)))
    }
}
