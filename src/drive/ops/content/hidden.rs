//! The texts of hidden `.assetfs` folders: status lines, the service's records, tags.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::{Text, metrics};
use crate::client::Priority;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::fresh::FlightKey;
use crate::drive::fresh::blobs::Blob;
use crate::drive::ops::control;
use crate::drive::shared::Shared;
use crate::drive::tree::known::system_time;
use crate::drive::tree::node::{Family, HiddenFile, Home, Node, Place, Top};
use crate::outbox::DraftPhase;
use crate::wire::EmbedId;

/// A status line is asked for again when it is older than this and can still change.
const STATUS_HOLDS: Duration = Duration::from_secs(1);

impl Shared {
    pub(super) async fn hidden_text(
        self: &Arc<Self>,
        place: Place,
        file: HiddenFile,
    ) -> DriveResult<Text> {
        match (file, place) {
            (HiddenFile::MountStatus, _) => {
                self.refresh_orphans().await;
                let text = serde_json::to_string_pretty(&self.mount_status()).map_err(|error| {
                    DriveError::Local(format!("the status cannot be written: {error}"))
                })?;
                Ok(Text::line(&text, SystemTime::now()))
            }
            (HiddenFile::Control, place) => Ok(Text::new(control::help(place), self.opened)),
            (HiddenFile::Metrics, _) => Ok(Text::new(
                metrics::text(&self.mount_status()),
                SystemTime::now(),
            )),
            (HiddenFile::Status, Place::Model(home)) => {
                let status = self.model_status(home, STATUS_HOLDS).await?;
                Ok(Text::line(&status, SystemTime::now()))
            }
            (HiddenFile::Status, Place::Rapid(rapid)) => {
                let known = self.known_rapid(rapid).await?;
                let row = if known.state.is_final() {
                    known
                } else {
                    self.refreshed_rapid(rapid, STATUS_HOLDS).await?
                };
                self.learn_reason(&Node::Rapid(rapid)).await;
                Ok(Text::line(
                    &self.rapid_status(&row),
                    system_time(row.updated.or(row.created)),
                ))
            }
            (HiddenFile::Detail, place) => self.detail(place).await,
            (HiddenFile::Exports, Place::Rapid(rapid)) => {
                let shared = Arc::clone(self);
                self.cached_json(FlightKey::Exports(rapid), async move {
                    let exports = shared
                        .asked(shared.client.rapid_exports(rapid, Priority::Interactive))
                        .await?;
                    shared.keep_detail(FlightKey::Exports(rapid), &exports);
                    Ok(())
                })
                .await
            }
            (HiddenFile::Categories, _) => {
                let shared = Arc::clone(self);
                self.cached_json(FlightKey::Categories, async move {
                    let categories = shared
                        .asked(shared.client.preset_categories(Priority::Interactive))
                        .await?;
                    shared.keep_detail(FlightKey::Categories, &categories);
                    Ok(())
                })
                .await
            }
            (HiddenFile::Formats, Place::Model(home)) => {
                let Some(asset) = self.asset_of(home) else {
                    return Ok(Text::new("[]\n", self.opened));
                };
                let shared = Arc::clone(self);
                self.cached_json(FlightKey::Formats(asset), async move {
                    let jobs = shared
                        .asked(shared.client.processed_formats(asset, Priority::Interactive))
                        .await?;
                    shared.keep_detail(FlightKey::Formats(asset), &jobs);
                    Ok(())
                })
                .await
            }
            (HiddenFile::Tags, Place::Top(top)) => self.tags_text(top).await,
            (HiddenFile::PresetZip, Place::Rapid(rapid)) => Ok(Text {
                bytes: self.blob(&Blob::PresetOf(rapid)).await?,
                modified: self.opened,
            }),
            (
                HiddenFile::Status
                | HiddenFile::Exports
                | HiddenFile::Formats
                | HiddenFile::Tags
                | HiddenFile::PresetZip
                // Its bytes are never held as a text.
                | HiddenFile::SourceZip,
                _,
            ) => Err(DriveError::NotFound),
        }
    }

    /// The one line of a source model's status.
    pub(in crate::drive) async fn model_status(
        self: &Arc<Self>,
        home: Home,
        believed: Duration,
    ) -> DriveResult<String> {
        let view = self.model(home).ok_or(DriveError::NotFound)?;
        let Some(asset) = view.asset else {
            let draft = view.draft.ok_or(DriveError::NotFound)?;
            return Ok(draft.status_text);
        };
        // While the outbox looks after it, its word is the newest.
        if let Some(draft) = &view.draft
            && draft.phase != DraftPhase::Complete
        {
            return Ok(draft.status_text.clone());
        }
        let row = match view.known {
            Some(row) if row.state.is_final() => row,
            _ => self.refreshed_asset(asset, believed).await?,
        };
        self.learn_reason(&Node::Model(home)).await;
        let row = self.known().assets.row(asset.0).cloned().unwrap_or(row);
        Ok(self.asset_status(&row))
    }

    async fn detail(self: &Arc<Self>, place: Place) -> DriveResult<Text> {
        let key = match place {
            Place::Model(home) => match self.asset_of(home) {
                Some(asset) => {
                    self.refreshed_asset(asset, self.config.refresh).await?;
                    FlightKey::Asset(asset)
                }
                // A draft has no record yet.
                None => return Ok(Text::new("{}\n", self.opened)),
            },
            Place::Rapid(rapid) => {
                self.refreshed_rapid(rapid, self.config.refresh).await?;
                FlightKey::Rapid(rapid)
            }
            Place::Root | Place::Top(_) => return Err(DriveError::NotFound),
        };
        let text = self.detail_text(&key).or_else(|| self.known_detail(&key));
        let text = text.ok_or_else(|| {
            DriveError::Unreachable("the record is not known and the service is away".into())
        })?;
        Ok(Text::new(&*text, SystemTime::now()))
    }

    /// What is known of a record while the service cannot be asked for all of it.
    fn known_detail(&self, key: &FlightKey) -> Option<Arc<str>> {
        let known = self.known();
        let text = match key {
            FlightKey::Asset(asset) => serde_json::to_string_pretty(known.assets.row(asset.0)?),
            FlightKey::Rapid(rapid) => serde_json::to_string_pretty(known.rapids.row(rapid.0)?),
            _ => return None,
        };
        text.ok().map(|text| format!("{text}\n").into())
    }

    async fn cached_json(
        self: &Arc<Self>,
        key: FlightKey,
        fetch: impl Future<Output = DriveResult<()>> + Send + 'static,
    ) -> DriveResult<Text> {
        if !self.detail_is_young(&key, self.config.refresh) {
            self.flights.join(key.clone(), || fetch).await?;
        }
        let text = self.detail_text(&key).ok_or(DriveError::NotFound)?;
        Ok(Text::new(&*text, SystemTime::now()))
    }

    /// All tags of a family, one a line.
    async fn tags_text(self: &Arc<Self>, top: Top) -> DriveResult<Text> {
        let family = match top {
            Top::RapidModels => Family::Rapid,
            _ => Family::Raw,
        };
        let shared = Arc::clone(self);
        self.cached_json(FlightKey::Tags(family), async move {
            let tags = match family {
                Family::Raw => {
                    shared
                        .asked(shared.client.asset_tags(Priority::Interactive))
                        .await
                }
                Family::Rapid => {
                    shared
                        .asked(shared.client.rapid_tags(Priority::Interactive))
                        .await
                }
            };
            let mut names: Vec<String> = tags?
                .into_iter()
                .map(|tag| tag.name.replace(['\n', '\r'], " "))
                .collect();
            names.sort_unstable();
            names.dedup();
            let lines: String = names.into_iter().map(|name| name + "\n").collect();
            shared.keep_detail_text(FlightKey::Tags(family), lines.into());
            Ok(())
        })
        .await
    }

    /// The record of an embed, with the address that only lists tell.
    pub(super) async fn embed_record(self: &Arc<Self>, embed: EmbedId) -> DriveResult<Text> {
        let row = self.known().embeds.row(embed.0).cloned();
        let row = row.ok_or(DriveError::NotFound)?;
        let shared = Arc::clone(self);
        let url = row.url.clone();
        let told = self.cached_json(FlightKey::Embed(embed), async move {
            let mut record = shared
                .asked(shared.client.embed(embed, Priority::Interactive))
                .await?;
            record.url = record.url.or(url);
            shared.keep_detail(FlightKey::Embed(embed), &record);
            Ok(())
        });
        match told.await {
            Err(error) if error.leaves_the_tree_as_it_was() => {
                Ok(Text::new(row.text, system_time(row.created)))
            }
            told => told,
        }
    }
}
