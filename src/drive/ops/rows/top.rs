//! The rows of the top folders.

use std::collections::HashSet;
use std::sync::Arc;

use super::{ERROR_FILE, Row, free_name};
use crate::drive::error::DriveResult;
use crate::drive::fresh::listings::Which;
use crate::drive::shared::Shared;
use crate::drive::tree::known::{KnownPreset, KnownRecord};
use crate::drive::tree::listing::{self, Listing};
use crate::drive::tree::node::{AccountFile, ErrorPlace, Home, Node, Top};
use crate::outbox::{DraftId, DraftKind, EntryId};
use crate::wire::{AssetId, PresetId, TokenId, WebhookId};

impl Shared {
    pub(super) async fn top_rows(self: &Arc<Self>, top: Top) -> DriveResult<Vec<Row>> {
        match top {
            Top::RawModels => {
                let listed = self.refreshed(Which::Assets).await;
                let rows = self.raw_model_rows();
                // Drafts are shown even where nothing of the service is known.
                if rows.is_empty() {
                    listed.map(|()| rows)
                } else {
                    Ok(rows)
                }
            }
            Top::RapidModels => {
                let listed = self.refreshed(Which::Rapids).await;
                let rows = self.rapid_model_rows();
                if rows.is_empty() {
                    listed.map(|()| rows)
                } else {
                    Ok(rows)
                }
            }
            Top::Presets => {
                let listed = self.refreshed(Which::Presets).await;
                let mut rows = vec![Row::new(
                    Top::FactoryPresets.name(),
                    Node::Top(Top::FactoryPresets),
                )];
                rows.extend(self.preset_rows());
                if rows.len() == 1 {
                    listed.map(|()| rows)
                } else {
                    Ok(rows)
                }
            }
            Top::FactoryPresets => {
                self.refreshed(Which::Factory).await?;
                Ok(self.factory_rows())
            }
            Top::Embeds => {
                self.refreshed(Which::Embeds).await?;
                Ok(self.embed_rows())
            }
            Top::Jobs => self.job_rows().await,
            Top::Account => {
                let folders = [Top::Tokens, Top::Webhooks];
                let files = AccountFile::ALL.map(|file| Row::new(file.name(), Node::Account(file)));
                let folders = folders.map(|top| Row::new(top.name(), Node::Top(top)));
                Ok(files.into_iter().chain(folders).collect())
            }
            Top::Tokens => {
                self.refreshed(Which::Tokens).await?;
                let known = self.known();
                Ok(named_rows(&known.tokens, |row| {
                    Node::Token(TokenId(row.id))
                }))
            }
            Top::Webhooks => {
                self.refreshed(Which::Webhooks).await?;
                let known = self.known();
                let node = |row: &KnownRecord| Node::Webhook(WebhookId(row.id));
                Ok(named_rows(&known.webhooks, node))
            }
        }
    }

    /// Drafts by name and number.
    fn draft_rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for draft in self.outbox.drafts() {
            if self.is_asset_by_now(&draft) {
                continue;
            }
            match draft.kind {
                DraftKind::Folder => {
                    rows.push(Row::new(draft.name, Node::Model(Home::Made(draft.id))))
                }
                DraftKind::LooseFile => rows.extend(self.loose_row(draft.id)),
            }
        }
        rows
    }

    /// Drafts, then what the service has.
    fn raw_model_rows(&self) -> Vec<Row> {
        let mut rows = self.draft_rows();
        let unseen = self.outbox.unseen_assets();
        let listed: Vec<(AssetId, String)> = {
            let known = self.known();
            let rows = known.assets.rows();
            let shown = rows.filter(|row| !unseen.contains(&row.id));
            shown
                .filter_map(|row| Some((row.id, known.assets.name(row.id.0)?.to_owned())))
                .collect()
        };
        rows.extend(
            listed
                .into_iter()
                .map(|(asset, name)| Row::new(name, Node::Model(self.home_of(asset)))),
        );
        let place = ErrorPlace::RawModels;
        if self.error_text(place).is_some() {
            let taken = rows.iter().map(|row| row.name.clone()).collect();
            rows.push(Row::new(
                free_name(ERROR_FILE, &taken),
                Node::ErrorText(place),
            ));
        }
        rows
    }

    /// What is of this machine alone in a folder that shows a long listing.
    pub(in crate::drive) fn rows_of_our_own(&self, which: Which) -> Vec<Row> {
        match which {
            Which::Assets => self.draft_rows(),
            _ => Vec::new(),
        }
    }

    /// What is known by now of a folder that shows a long listing, without asking for it.
    pub(in crate::drive) fn rows_at_hand(&self, which: Which) -> Vec<Row> {
        match which {
            Which::Assets => self.raw_model_rows(),
            _ => self.rapid_model_rows(),
        }
    }

    /// The rows of what has a higher id than that, with the highest.
    pub(in crate::drive) fn rows_after(&self, which: Which, id: u64) -> (u64, Vec<Row>) {
        if which != Which::Assets {
            let known = self.known();
            let rows: Vec<_> = known.rapids.rows_after(id).collect();
            let highest = rows.last().map_or(id, |row| row.id.0);
            let named = rows.into_iter().filter_map(|row| {
                let name = known.rapids.name(row.id.0)?;
                Some(Row::new(name, Node::Rapid(row.id)))
            });
            return (highest, named.collect());
        }
        let unseen = self.outbox.unseen_assets();
        let (highest, listed) = {
            let known = self.known();
            let rows: Vec<AssetId> = known.assets.rows_after(id).map(|row| row.id).collect();
            let highest = rows.last().map_or(id, |asset| asset.0);
            let shown = rows.into_iter().filter(|asset| !unseen.contains(asset));
            let named: Vec<(AssetId, String)> = shown
                .filter_map(|asset| Some((asset, known.assets.name(asset.0)?.to_owned())))
                .collect();
            (highest, named)
        };
        let rows = listed
            .into_iter()
            .map(|(asset, name)| Row::new(name, Node::Model(self.home_of(asset))));
        (highest, rows.collect())
    }

    /// The one file of a loose draft, as it stands at the top.
    pub(in crate::drive) fn loose_row(&self, draft: DraftId) -> Option<Row> {
        let children = self.outbox.children(draft, EntryId::ROOT).ok()?;
        children.first().map(|info| Row::entry(draft, info))
    }

    fn rapid_model_rows(&self) -> Vec<Row> {
        named_rows(&self.known().rapids, |row| Node::Rapid(row.id))
    }

    fn embed_rows(&self) -> Vec<Row> {
        named_rows(&self.known().embeds, |row| Node::Embed(row.id))
    }

    /// What is held here, then what the service has and nothing here stands for.
    pub(in crate::drive) fn preset_rows(&self) -> Vec<Row> {
        let overlay = self.preset_overlay();
        let mut rows: Vec<Row> = overlay
            .files
            .iter()
            .map(|file| Row::new(&file.name, Node::PresetFile(file.name.as_str().into())))
            .collect();
        let held: HashSet<&str> = overlay
            .files
            .iter()
            .map(|file| file.name.as_str())
            .collect();
        let known = self.known();
        for preset in known.presets.rows() {
            let Some(name) = known.presets.name(preset.id.0) else {
                continue;
            };
            if !held.contains(name) && !overlay.hidden.contains(&preset.id) {
                rows.push(Row::new(name, preset_node(preset)));
            }
        }
        rows
    }

    fn factory_rows(&self) -> Vec<Row> {
        named_rows(&self.known().factory, factory_node)
    }
}

/// The rows of a listing, under the names that were given.
fn named_rows<R: listing::Row>(listing: &Listing<R>, node: impl Fn(&R) -> Node) -> Vec<Row> {
    listing
        .rows()
        .filter_map(|row| Some(Row::new(listing.name(row.number())?, node(row))))
        .collect()
}

/// The node of a preset: its text is part of it.
pub(in crate::drive) fn preset_node(preset: &KnownPreset) -> Node {
    Node::Preset(PresetId(preset.id.0), preset.text_checksum())
}

/// The node of a factory preset.
pub(in crate::drive) fn factory_node(preset: &KnownPreset) -> Node {
    Node::FactoryPreset(PresetId(preset.id.0), preset.text_checksum())
}
