//! The files of `embeds/`: each viewer as an HTML page that opens it; `embeds/.assetfs/` has the records.

use std::sync::Arc;

use async_trait::async_trait;

use super::kept::record_text;
use super::node::Row;
use super::page::embed_page;
use super::place::{Lifetime, Place, Removal, Text};
use crate::client::Priority;
use crate::drive::catalog::listing_refs::EMBEDS;
use crate::drive::catalog::{FlightKey, hidden_path, refresh_listing};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::posix::FileKind;
use crate::drive::tree::Tree;
use crate::drive::values::known::{KnownEmbed, system_time};
use crate::drive::values::local::HiddenParent;
use crate::drive::values::node::ListingKind;
use crate::wire::EmbedId;

/// `embeds/NAME.html`.
pub struct EmbedPage(pub EmbedId);

#[async_trait]
impl Place for EmbedPage {
    fn identity(&self) -> String {
        format!("embed/{}", self.0)
    }

    fn kind(&self) -> Option<FileKind> {
        Some(FileKind::File)
    }

    fn path(&self, tree: &Tree) -> String {
        format!("/embeds/{}", tree.catalog().name_in(&EMBEDS, self.0.0))
    }

    async fn text(&self, tree: &Arc<Tree>) -> DriveResult<Text> {
        let row = known_embed(tree, self.0)?;
        Ok(Text::new(embed_page(&row), system_time(row.created)))
    }

    fn removal(&self) -> Removal {
        Removal::Embed(self.0)
    }

    fn id(&self, _: &Tree) -> Option<String> {
        Some(self.0.to_string())
    }

    fn url(&self, tree: &Tree) -> Option<String> {
        known_embed(tree, self.0).ok()?.url
    }
}

/// `embeds/.assetfs/NAME.json`.
pub(super) struct EmbedRecord(pub(super) EmbedId);

#[async_trait]
impl Place for EmbedRecord {
    fn identity(&self) -> String {
        format!("embed-record/{}", self.0)
    }

    fn kind(&self) -> Option<FileKind> {
        Some(FileKind::File)
    }

    fn path(&self, tree: &Tree) -> String {
        format!(
            "{}/{}",
            hidden_path(tree.catalog(), HiddenParent::Embeds),
            self.0
        )
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::None
    }

    /// The record, with the URL that only list responses contain.
    async fn text(&self, tree: &Arc<Tree>) -> DriveResult<Text> {
        let (embed, row) = (self.0, known_embed(tree, self.0)?);
        let url = row.url.clone();
        let text = record_text(tree, FlightKey::Embed(embed), move |client| async move {
            let mut record = client.embeds().get(embed, Priority::Interactive).await?;
            record.url = record.url.or(url);
            Ok(record)
        });
        match text.await {
            Err(error) if error.may_still_exist() => {
                Ok(Text::new(row.text, system_time(row.created)))
            }
            text => text,
        }
    }
}

fn known_embed(tree: &Tree, embed: EmbedId) -> DriveResult<KnownEmbed> {
    let row = tree.catalog().known().embeds.row(embed.0).cloned();
    row.ok_or(DriveError::NotFound)
}

/// The rows of `embeds/.assetfs/`.
pub(super) async fn record_rows(tree: &Arc<Tree>) -> DriveResult<Vec<Row>> {
    refresh_listing(tree.catalog(), ListingKind::Embeds).await?;
    let known = tree.catalog().known();
    let rows = known.embeds.rows().filter_map(|row| {
        let page = known.embeds.name(row.id.0)?;
        let stem = page.strip_suffix(".html").unwrap_or(page);
        Some(Row::new(format!("{stem}.json"), EmbedRecord(row.id)))
    });
    Ok(rows.collect())
}
