//! `account/`: the values of the account as files, with the folders of its tokens and webhooks.

use std::sync::Arc;

use async_trait::async_trait;

use super::listing_folder::{TOKENS, WEBHOOKS};
use super::node::Row;
use super::place::{AttributeRule, Lifetime, Place, Text};
use crate::drive::catalog::account_value;
use crate::drive::error::DriveResult;
use crate::drive::posix::FileKind;
use crate::drive::tree::Tree;
use crate::drive::values::local::HiddenParent;
use crate::drive::values::node::AccountFile;

/// The folder of the account.
pub(super) struct AccountFolder;

#[async_trait]
impl Place for AccountFolder {
    fn identity(&self) -> String {
        "top/account".to_owned()
    }

    fn path(&self, _: &Tree) -> String {
        "/account".to_owned()
    }

    async fn rows(&self, _: &Arc<Tree>) -> DriveResult<Vec<Row>> {
        let files = AccountFile::ALL.map(|file| Row::new(file.name(), AccountValue(file)));
        let folders = [Row::new("tokens", TOKENS), Row::new("webhooks", WEBHOOKS)];
        Ok(files.into_iter().chain(folders).collect())
    }

    fn failure(&self, tree: &Tree) -> Option<String> {
        tree.catalog().offline_reason()
    }

    fn hidden_parent(&self) -> Option<HiddenParent> {
        Some(HiddenParent::Account)
    }

    fn attribute_rule(&self) -> AttributeRule {
        AttributeRule::Accepted
    }
}

/// A file of `account/` with one value.
pub struct AccountValue(pub AccountFile);

#[async_trait]
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

    async fn text(&self, tree: &Arc<Tree>) -> DriveResult<Text> {
        let value = account_value(tree.catalog(), self.0).await?;
        Ok(Text::line(&value.to_string(), tree.opened()))
    }
}
