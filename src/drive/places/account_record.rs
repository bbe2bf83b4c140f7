//! The records of the account that are only shown: its API tokens and its webhooks.

use std::sync::Arc;

use super::place::{Answer, Lifetime, Place, Text};
use crate::drive::catalog::Known;
use crate::drive::error::DriveError;
use crate::drive::posix::FileKind;
use crate::drive::tree::Tree;
use crate::drive::values::known::{KnownRecord, system_time};
use crate::drive::values::listing::Listing;

/// The kinds of records that are only shown.
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

    fn listing(self, known: &Known) -> &Listing<KnownRecord> {
        match self {
            RecordKind::Token => &known.tokens,
            RecordKind::Webhook => &known.webhooks,
        }
    }
}

/// A file of `account/tokens/` or `account/webhooks/`.
pub(super) struct AccountRecord(pub(super) RecordKind, pub(super) u64);

impl Place for AccountRecord {
    fn identity(&self) -> String {
        format!("account/{}/{}", self.0.name(), self.1)
    }

    fn kind(&self) -> Option<FileKind> {
        Some(FileKind::File)
    }

    fn path(&self, tree: &Tree) -> String {
        let known = tree.catalog().known();
        let name = self.0.listing(&known).name(self.1).map(str::to_owned);
        let name = name.unwrap_or_else(|| self.1.to_string());
        format!("/account/{}/{name}", self.0.name())
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::None
    }

    fn text<'a>(&'a self, tree: &'a Arc<Tree>) -> Answer<'a, Text> {
        Box::pin(async {
            let known = tree.catalog().known();
            let row = self.0.listing(&known).row(self.1);
            let row = row.ok_or(DriveError::NotFound)?;
            Ok(Text::new(row.text.as_str(), system_time(row.created)))
        })
    }
}
