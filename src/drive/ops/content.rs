//! The text of files that the drive writes itself: status lines, records, presets, job texts,
//! `ERROR.txt`. Each is made when it is asked for, from what is known at that moment.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;

use super::control;
use super::rows::optimize_folder;
use crate::client::Priority;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::fresh::FlightKey;
use crate::drive::shared::Shared;
use crate::drive::tree::known::system_time;
use crate::drive::tree::node::{AccountFile, ErrorPlace, HiddenFile, Home, JobPart, Node, Place};
use crate::outbox::{DraftPhase, JobState};
use crate::wire::AssetId;

/// A status line is asked for again when it is older than this and can still change.
const STATUS_HOLDS: Duration = Duration::from_secs(1);
const DISMISSED: &str = "dismissed";

/// A text and when it came to be.
#[derive(Debug, Clone)]
pub(in crate::drive) struct Text {
    pub(in crate::drive) bytes: Bytes,
    pub(in crate::drive) modified: SystemTime,
}

impl Text {
    fn new(text: impl Into<String>, modified: SystemTime) -> Text {
        Text {
            bytes: Bytes::from(text.into()),
            modified,
        }
    }

    fn line(text: &str, modified: SystemTime) -> Text {
        Text::new(format!("{text}\n"), modified)
    }
}

impl Shared {
    /// The text of a file that the drive writes itself.
    pub(in crate::drive) async fn text_of(self: &Arc<Self>, node: &Node) -> DriveResult<Text> {
        match node {
            Node::HiddenFile(place, file) => self.hidden_text(*place, *file).await,
            Node::Job(asset, name, part) => self.job_text(*asset, name, *part),
            Node::ErrorText(place) => {
                let text = self.error_text(*place).ok_or(DriveError::NotFound)?;
                Ok(Text::new(text, self.opened))
            }
            Node::Preset(preset, _) => {
                let known = self.known();
                let row = known.presets.row(preset.0).ok_or(DriveError::NotFound)?;
                Ok(Text::new(row.text.as_str(), system_time(row.updated)))
            }
            Node::PresetFile(name) => {
                let overlay = self.outbox.preset_overlay();
                let file = overlay.files.into_iter().find(|file| *file.name == **name);
                let file = file.ok_or(DriveError::NotFound)?;
                Ok(Text {
                    bytes: file.text.into(),
                    modified: file.mtime,
                })
            }
            Node::FactoryPreset(preset, _) => {
                let known = self.known();
                let row = known.factory.row(preset.0).ok_or(DriveError::NotFound)?;
                Ok(Text::new(row.text.as_str(), system_time(row.updated)))
            }
            Node::Account(file) => {
                let value = self.account_value(*file).await?;
                Ok(Text::line(&value.to_string(), self.opened))
            }
            _ => Err(DriveError::IsAFolder),
        }
    }

    async fn hidden_text(self: &Arc<Self>, place: Place, file: HiddenFile) -> DriveResult<Text> {
        match (file, place) {
            (HiddenFile::MountStatus, _) => {
                self.refresh_orphans().await;
                let text = serde_json::to_string_pretty(&self.mount_status()).map_err(|error| {
                    DriveError::Local(format!("the status cannot be written: {error}"))
                })?;
                Ok(Text::line(&text, SystemTime::now()))
            }
            (HiddenFile::Control, place) => Ok(Text::new(control::help(place), self.opened)),
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
                Ok(Text::line(
                    &row.status_text(),
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
            (HiddenFile::Status | HiddenFile::Exports, _) => Err(DriveError::NotFound),
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
        Ok(row.status_text())
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

    fn job_text(&self, asset: AssetId, name: &str, part: JobPart) -> DriveResult<Text> {
        let job = self
            .outbox
            .job(&optimize_folder(asset), name)
            .ok_or(DriveError::NotFound)?;
        match part {
            JobPart::Text => Ok(Text {
                bytes: job.text.into(),
                modified: job.mtime,
            }),
            JobPart::Status => Ok(Text::line(&job.status_text, job.mtime)),
            JobPart::Result => Err(DriveError::NotFound),
        }
    }

    /// What `ERROR.txt` says in a place; none where nothing failed or someone removed it.
    pub(in crate::drive) fn error_text(&self, place: ErrorPlace) -> Option<String> {
        let text = self.failure_text(place)?;
        let dismissed: Option<String> = self.meta.get(DISMISSED, &place.to_string()).ok().flatten();
        let is_old = dismissed.is_some_and(|old| text.lines().all(|line| old.contains(line)));
        (!is_old).then_some(text)
    }

    fn failure_text(&self, place: ErrorPlace) -> Option<String> {
        match place {
            ErrorPlace::Model(home) => {
                let view = self.model(home)?;
                let known = view.known.filter(|known| known.state.is_failure());
                let from_service = || known.map(|known| known.failure_reason());
                let sentence = view
                    .draft
                    .and_then(|draft| draft.failure)
                    .or_else(from_service)?;
                Some(format!("{sentence}\n"))
            }
            ErrorPlace::Optimize(asset) => {
                let jobs = self.outbox.job_entries(&optimize_folder(asset));
                let lines: Vec<String> = jobs
                    .iter()
                    .filter_map(|job| match (&job.failure, &job.state) {
                        (Some(failure), _) => Some(format!("{}: {failure}\n", job.name)),
                        (None, JobState::Failed { reason }) => {
                            Some(format!("{}: {reason}\n", job.name))
                        }
                        (None, _) => None,
                    })
                    .collect();
                (!lines.is_empty()).then(|| lines.concat())
            }
            ErrorPlace::Rapid(rapid) => {
                let known = self.known();
                let row = known
                    .rapids
                    .row(rapid.0)
                    .filter(|row| row.state.is_failure())?;
                Some(format!("{}\n", row.status_text()))
            }
        }
    }

    /// Someone removed `ERROR.txt`: it comes back only when something else fails.
    pub(in crate::drive) fn dismiss_error(&self, place: ErrorPlace) -> DriveResult<()> {
        let text = self.error_text(place).ok_or(DriveError::NotFound)?;
        self.meta.put(DISMISSED, &place.to_string(), &text)?;
        Ok(())
    }

    /// What `account/` is known to say about room, for whoever must not wait.
    pub(in crate::drive) fn storage_left_at_hand(self: &Arc<Self>) -> Option<u64> {
        self.account_value_at_hand(AccountFile::StorageLeft)
    }
}
