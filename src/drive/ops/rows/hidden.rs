//! The rows of hidden `.assetfs` folders and of what stands in them.

use std::sync::Arc;

use super::Row;
use crate::drive::error::DriveResult;
use crate::drive::fresh::listings::Which;
use crate::drive::shared::Shared;
use crate::drive::tree::node::{Bundle, Family, HiddenFile, Node, Place, Top};
use crate::wire::{AssetId, RapidId};

impl Shared {
    pub(super) async fn rows_of_hidden(self: &Arc<Self>, place: Place) -> DriveResult<Vec<Row>> {
        let mut rows = hidden_rows(place);
        if place == Place::Top(Top::Embeds) {
            self.refreshed(Which::Embeds).await?;
            let known = self.known();
            let named = known
                .embeds
                .rows()
                .filter_map(|row| Some((row.id, known.embeds.name(row.id.0)?)));
            rows.extend(
                named.map(|(embed, name)| Row::new(record_name(name), Node::EmbedRecord(embed))),
            );
        }
        Ok(rows)
    }

    pub(super) async fn by_id_rows(self: &Arc<Self>, family: Family) -> DriveResult<Vec<Row>> {
        let ids: Vec<u64> = match family {
            Family::Raw => {
                self.refreshed(Which::Assets).await?;
                self.known().assets.rows().map(|row| row.id.0).collect()
            }
            Family::Rapid => {
                self.refreshed(Which::Rapids).await?;
                self.known().rapids.rows().map(|row| row.id.0).collect()
            }
        };
        Ok(ids
            .into_iter()
            .map(|id| Row::new(id.to_string(), Node::ByIdLink(family, id)))
            .collect())
    }

    /// What a query finds, as links.
    pub(super) async fn found_rows(
        self: &Arc<Self>,
        family: Family,
        query: &Arc<str>,
    ) -> DriveResult<Vec<Row>> {
        let ids = self.found(family, query).await?;
        let named = ids.into_iter().filter_map(|id| {
            let name = match family {
                Family::Raw => self.model_name(self.home_of(AssetId(id))),
                Family::Rapid => self.rapid_name(RapidId(id)),
            };
            let node = Node::FoundLink(family, Arc::clone(query), id);
            Some(Row::new(name?, node))
        });
        Ok(named.collect())
    }

    /// The presets, each as a zip.
    pub(super) async fn bundle_rows(self: &Arc<Self>, bundle: Bundle) -> DriveResult<Vec<Row>> {
        self.refreshed(Which::Presets).await?;
        let known = self.known();
        let named = known
            .presets
            .rows()
            .filter_map(|row| Some((row, known.presets.name(row.id.0)?)));
        Ok(named
            .map(|(row, name)| {
                let stem = name.strip_suffix(".json").unwrap_or(name);
                let node = Node::BundleFile(bundle, row.id, row.text_checksum());
                Row::new(format!("{stem}.zip"), node)
            })
            .collect())
    }
}

/// The name of an embed's record, by the name of its page.
pub(super) fn record_name(page: &str) -> String {
    format!("{}.json", page.strip_suffix(".html").unwrap_or(page))
}

/// The rows of a hidden folder that are always there, whether or not its place still is.
fn hidden_rows(place: Place) -> Vec<Row> {
    let mut rows: Vec<Row> = HiddenFile::of(place)
        .iter()
        .map(|file| Row::new(file.name(), Node::HiddenFile(place, *file)))
        .collect();
    let folders = match place {
        Place::Top(Top::RawModels) => folders_of(Family::Raw),
        Place::Top(Top::RapidModels) => folders_of(Family::Rapid),
        Place::Top(Top::Presets) => [Bundle::Both, Bundle::CommandLine]
            .map(|bundle| Row::new(bundle.name(), Node::Bundles(bundle)))
            .into(),
        Place::Rapid(rapid) => vec![Row::new("source", Node::SourceLink(rapid))],
        Place::Root | Place::Top(_) | Place::Model(_) => Vec::new(),
    };
    rows.extend(folders);
    rows
}

fn folders_of(family: Family) -> Vec<Row> {
    vec![
        Row::new("by-id", Node::ById(family)),
        Row::new("search", Node::Search(family)),
    ]
}
