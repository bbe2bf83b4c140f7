//! `account/`: the values of the account as files, with the folders of its tokens and webhooks.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Serialize;

use super::listing_folder::{TOKENS, WEBHOOKS};
use super::model_lists::push_line;
use super::node::Row;
use super::place::{AttributeRule, Lifetime, Place, Text};
use crate::drive::catalog::{POINTS_OF_A_RESULT, account_value, points_spent, refresh_listing};
use crate::drive::error::DriveResult;
use crate::drive::posix::FileKind;
use crate::drive::tree::Tree;
use crate::drive::values::local::HiddenParent;
use crate::drive::values::node::{AccountFile, ListingKind};
use crate::wire::{NotedPreset, Timestamp};

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
        let log = Row::new("points.jsonl", PointsLog);
        let rows = files.into_iter().chain([log]).chain(folders);
        Ok(rows.collect())
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

/// `account/points.jsonl`: every point that was spent, as far as the drive has seen it, a line of JSON each.
struct PointsLog;

#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize)]
struct PointLine {
    schema: u32,
    time: Option<Timestamp>,
    model: String,
    model_id: Option<u64>,
    text: Option<String>,
    /// The preset that the text names.
    preset: Option<String>,
    preset_id: Option<u64>,
    config_hash: Option<String>,
    result: u64,
    points: u64,
    is_deleted: bool,
}

#[async_trait]
impl Place for PointsLog {
    fn identity(&self) -> String {
        "account/points.jsonl".to_owned()
    }

    fn kind(&self) -> Option<FileKind> {
        Some(FileKind::File)
    }

    fn path(&self, _: &Tree) -> String {
        "/account/points.jsonl".to_owned()
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::None
    }

    async fn text(&self, tree: &Arc<Tree>) -> DriveResult<Text> {
        let listed = refresh_listing(tree.catalog(), ListingKind::Rapids).await;
        let points = points_spent(tree.catalog());
        if points.is_empty() {
            listed?;
        }
        let mut text = String::new();
        for (point, is_there) in points {
            let (preset, preset_id) = match point.preset {
                Some(NotedPreset::Name(name)) => (Some(name), None),
                Some(NotedPreset::Id(id)) => (None, Some(id.0)),
                None => (None, None),
            };
            let line = PointLine {
                schema: 1,
                time: point.time,
                model: point.model,
                model_id: point.model_id.map(|asset| asset.0),
                text: point.text,
                preset,
                preset_id,
                config_hash: point.config,
                result: point.result.0,
                points: POINTS_OF_A_RESULT,
                is_deleted: !is_there,
            };
            push_line(&mut text, &line)?;
        }
        Ok(Text::new(text, tree.opened()))
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
