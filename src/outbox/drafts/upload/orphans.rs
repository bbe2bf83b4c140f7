//! Orphans: incomplete assets that a start request with a lost reply may have left. They are found by their name, and
//! deleted only by a command.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::SystemTime;

use crate::client::{AssetCalls, ClientError, Priority};
use crate::outbox::drafts::draft::OpenStart;
use crate::outbox::drafts::parts::DraftParts;
use crate::outbox::drafts::record::UploadRecord;
use crate::outbox::drafts::upload::discard::record_discarded;
use crate::outbox::drafts::upload::info::Orphan;
use crate::outbox::error::{OutboxError, OutboxResult};
use crate::outbox::events::OutboxEvent;
use crate::outbox::moment::Moment;
use crate::wire::{AssetId, BaseAsset, UploadStatus};

/// Orphans of start requests older than this are no longer searched for.
const FORGET_STARTS_AFTER_SECS: i64 = 90 * 24 * 3600;

/// Incomplete assets that lost replies may have left on the service.
#[derive(Clone)]
pub struct Orphans {
    pub(in crate::outbox) parts: Arc<DraftParts>,
}

impl Orphans {
    /// Searches for orphans on the service.
    pub async fn find(&self) -> OutboxResult<Vec<Orphan>> {
        let starts = self.lost_starts();
        let names: BTreeSet<&str> = starts
            .iter()
            .map(|(_, it)| it.model_name.as_str())
            .collect();
        let mut found = Vec::new();
        for name in names {
            found.extend(self.begun_elsewhere(name).await?);
        }
        self.forget_old_starts(&starts, &found).await?;
        let orphan = |asset: BaseAsset| Orphan {
            id: asset.id,
            name: asset.name,
            created: asset.created_at.map(|at| SystemTime::from(at.inner())),
        };
        Ok(found.into_iter().map(orphan).collect())
    }

    /// The start requests behind [`Orphans::find`], by attempt. The result is the same while they are the same.
    pub fn start_numbers(&self) -> Vec<u64> {
        let starts = self.lost_starts();
        starts.into_iter().map(|(attempt, _)| attempt).collect()
    }

    /// The assets of uploads that were given up, and why the service has not deleted them yet.
    pub fn not_deleted(&self) -> Vec<(AssetId, String)> {
        let memory = self.parts.memory();
        let of = |asset: &AssetId| {
            let why = memory.not_deleted.get(asset);
            let why = why.map_or("it is being deleted", String::as_str);
            (*asset, why.to_owned())
        };
        memory.state.discards.iter().map(of).collect()
    }

    /// Start requests with an unknown outcome that are not in flight.
    fn lost_starts(&self) -> Vec<(u64, OpenStart)> {
        let memory = self.parts.memory();
        let open = memory.state.open_starts.iter();
        let lost = open.filter(|(attempt, _)| !memory.starting.contains(attempt));
        lost.map(|(attempt, start)| (*attempt, start.clone()))
            .collect()
    }

    /// Incomplete assets of that name that the journal does not record.
    async fn begun_elsewhere(&self, name: &str) -> OutboxResult<Vec<BaseAsset>> {
        let query = Some(name.to_owned());
        let assets = self
            .parts
            .client
            .assets()
            .all(query, Priority::Interactive)
            .await;
        let assets = assets.map_err(|source| OutboxError::Service {
            what: "looking for orphans".to_owned(),
            source,
        })?;
        // Read after the request, so that uploads that were started during it are included.
        let ours = self.known_assets();
        let is_orphan = |asset: &BaseAsset| {
            asset.name == name
                && asset.upload_status == UploadStatus::Incomplete
                && !ours.contains(&asset.id)
        };
        Ok(assets.into_iter().filter(is_orphan).collect())
    }

    fn known_assets(&self) -> BTreeSet<AssetId> {
        let memory = self.parts.memory();
        let drafts = memory.state.drafts.values();
        drafts
            .filter_map(|draft| draft.stage()?.asset())
            .chain(memory.state.discards.iter().copied())
            .chain(memory.state.sent.keys().copied())
            .collect()
    }

    async fn forget_old_starts(
        &self,
        starts: &[(u64, OpenStart)],
        found: &[BaseAsset],
    ) -> OutboxResult<()> {
        let now = Moment::now().secs;
        for (attempt, start) in starts {
            let named = found.iter().any(|asset| asset.name == start.model_name);
            if !named && now - start.at.secs > FORGET_STARTS_AFTER_SECS {
                let attempt = *attempt;
                self.parts
                    .record(UploadRecord::StartForgotten { attempt })
                    .await?;
            }
        }
        Ok(())
    }

    /// Deletes an incomplete asset, unless another machine has joined its upload.
    async fn delete(&self, asset: AssetId) -> Result<(), ClientError> {
        let assets = self.parts.client.assets();
        match assets.abandon_upload(asset).await {
            Err(ClientError::Rejected { status, .. }) if status != AssetCalls::JOINED => {}
            // Also of a service on which nobody joins.
            Err(ClientError::NotFound { .. }) => {}
            reply => return reply,
        }
        match assets.delete(asset).await {
            Err(ClientError::NotFound { .. }) => Ok(()),
            reply => reply,
        }
    }

    /// Deletes an orphan on the service.
    pub async fn cancel(&self, orphan: AssetId) -> OutboxResult<()> {
        let is_unwanted = self.parts.memory().state.discards.contains(&orphan);
        let orphans = match is_unwanted {
            true => Vec::new(),
            false => self.find().await?,
        };
        if !is_unwanted && !orphans.iter().any(|it| it.id == orphan) {
            return Err(OutboxError::NotFound(format!(
                "an orphan with the id {orphan}"
            )));
        }
        match self.delete(orphan).await {
            Ok(()) if is_unwanted => record_discarded(&self.parts, orphan).await,
            Ok(()) => {
                self.parts.events.send(OutboxEvent::AssetChanged(orphan));
                Ok(())
            }
            Err(source) => Err(OutboxError::Service {
                what: format!("deleting the orphan {orphan}"),
                source,
            }),
        }
    }
}
