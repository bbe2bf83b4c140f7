//! `account/`: what the service says of the account, its tokens and its webhooks.

use std::sync::Arc;
use std::time::SystemTime;

use super::attributes::changed;
use super::node::Row;
use super::place::{Answer, AttributeRule, Lifetime, Place, Text};
use super::rapidmodels::named_rows;
use crate::drive::catalog::{Known, account_value, refreshed};
use crate::drive::error::DriveError;
use crate::drive::posix::FileKind;
use crate::drive::tree::Tree;
use crate::drive::values::known::{KnownRecord, system_time};
use crate::drive::values::listing::Listing;
use crate::drive::values::local::HiddenParent;
use crate::drive::values::node::{AccountFile, ListingKind};

/// The folder of the account.
pub(super) struct AccountFolder;

impl Place for AccountFolder {
    fn identity(&self) -> String {
        "top/account".to_owned()
    }

    fn kind(&self) -> Option<FileKind> {
        Some(FileKind::Folder)
    }

    fn path(&self, _: &Tree) -> String {
        "/account".to_owned()
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::Own
    }

    fn rows<'a>(&'a self, _: &'a Arc<Tree>) -> Answer<'a, Vec<Row>> {
        Box::pin(async {
            let files = AccountFile::ALL.map(|file| Row::new(file.name(), AccountValue(file)));
            let folders = [RecordKind::Token, RecordKind::Webhook];
            let folders = folders.map(|kind| Row::new(kind.name(), RecordFolder(kind)));
            Ok(files.into_iter().chain(folders).collect())
        })
    }

    fn failure(&self, tree: &Tree) -> Option<String> {
        tree.catalog.offline_reason()
    }

    fn hidden_parent(&self) -> Option<HiddenParent> {
        Some(HiddenParent::Account)
    }

    fn attribute_rule(&self) -> AttributeRule {
        AttributeRule::Accepted
    }
}

/// A file of `account/` with one value.
pub(in crate::drive) struct AccountValue(pub(in crate::drive) AccountFile);

impl Place for AccountValue {
    fn identity(&self) -> String {
        format!("account/{}", self.0.name())
    }

    fn kind(&self) -> Option<FileKind> {
        Some(FileKind::File)
    }

    fn path(&self, _: &Tree) -> String {
        format!("/account/{}", self.0.name())
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::None
    }

    fn text<'a>(&'a self, tree: &'a Arc<Tree>) -> Answer<'a, Text> {
        Box::pin(async {
            let value = account_value(&tree.catalog, self.0).await?;
            Ok(Text::line(&value.to_string(), tree.opened))
        })
    }
}

/// The records of an account that are only shown.
#[derive(Debug, Clone, Copy)]
pub(super) enum RecordKind {
    Token,
    Webhook,
}

impl RecordKind {
    fn name(self) -> &'static str {
        match self {
            RecordKind::Token => "tokens",
            RecordKind::Webhook => "webhooks",
        }
    }

    fn kind(self) -> ListingKind {
        match self {
            RecordKind::Token => ListingKind::Tokens,
            RecordKind::Webhook => ListingKind::Webhooks,
        }
    }

    fn listing(self, known: &Known) -> &Listing<KnownRecord> {
        match self {
            RecordKind::Token => &known.tokens,
            RecordKind::Webhook => &known.webhooks,
        }
    }
}

/// `account/tokens/` or `account/webhooks/`.
pub(super) struct RecordFolder(pub(super) RecordKind);

impl Place for RecordFolder {
    fn identity(&self) -> String {
        format!("top/{}", self.0.name())
    }

    fn kind(&self) -> Option<FileKind> {
        Some(FileKind::Folder)
    }

    fn path(&self, _: &Tree) -> String {
        format!("/account/{}", self.0.name())
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::Own
    }

    fn modified(&self, tree: &Tree) -> SystemTime {
        changed(tree, self.0.kind())
    }

    fn rows<'a>(&'a self, tree: &'a Arc<Tree>) -> Answer<'a, Vec<Row>> {
        Box::pin(async {
            refreshed(&tree.catalog, self.0.kind()).await?;
            let known = tree.catalog.known();
            let record = |row: &KnownRecord| AccountRecord(self.0, row.id);
            Ok(named_rows(self.0.listing(&known), record))
        })
    }

    fn attribute_rule(&self) -> AttributeRule {
        AttributeRule::Accepted
    }
}

/// A record in it.
pub(super) struct AccountRecord(pub(super) RecordKind, pub(super) u64);

impl Place for AccountRecord {
    fn identity(&self) -> String {
        format!("account/{}/{}", self.0.name(), self.1)
    }

    fn kind(&self) -> Option<FileKind> {
        Some(FileKind::File)
    }

    fn path(&self, tree: &Tree) -> String {
        let known = tree.catalog.known();
        let name = self.0.listing(&known).name(self.1).map(str::to_owned);
        let name = name.unwrap_or_else(|| self.1.to_string());
        format!("/account/{}/{name}", self.0.name())
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::None
    }

    fn text<'a>(&'a self, tree: &'a Arc<Tree>) -> Answer<'a, Text> {
        Box::pin(async {
            let known = tree.catalog.known();
            let row = self.0.listing(&known).row(self.1);
            let row = row.ok_or(DriveError::NotFound)?;
            Ok(Text::new(row.text.as_str(), system_time(row.created)))
        })
    }
}
