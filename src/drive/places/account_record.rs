//! The records of the account that are only shown: its API tokens and its webhooks.

use std::sync::Arc;

use async_trait::async_trait;

use super::place::{Lifetime, Place, Text};
use crate::drive::catalog::ListingRef;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::posix::FileKind;
use crate::drive::tree::Tree;
use crate::drive::values::known::{KnownRecord, system_time};

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
