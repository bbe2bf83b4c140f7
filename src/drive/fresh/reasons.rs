//! Why a model failed, in the service's own words: what its record says, else its error log.

use std::sync::Arc;
use std::time::Duration;

use super::FlightKey;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::places::Model;
use crate::drive::shared::Shared;
use crate::drive::tree::known::{KnownAsset, KnownRapid};
use crate::drive::tree::node::{Home, RemoteFolder};
use crate::outbox::{DraftPhase, reason_in_log};
use crate::wire::ModelId;

/// Of a longer log the beginning is read.
const LOG_BYTES: u64 = 64 * 1024;
/// A status line is asked for again when it is older than this and can still change.
const STATUS_HOLDS: Duration = Duration::from_secs(1);
const LOG: &str = "error.log";
const TABLE: &str = "reasons";

impl Shared {
    /// Makes sure that the reason of a failure is known before it is shown; what cannot be found out
    /// is shown without.
    pub(in crate::drive) async fn learn_reason(self: &Arc<Self>, model: Model) {
        let Some(subject) = self.failed_subject(model) else {
            return;
        };
        if self.kept_reason(subject).is_some() {
            return;
        }
        let shared = Arc::clone(self);
        let landing = self
            .flights
            .join(FlightKey::Reason(subject), || async move {
                shared.fetch_reason(subject).await
            });
        if let Some(Err(error)) = landing.within(self.patience()).await {
            tracing::debug!(subject = %subject, error = %error, "the reason of a failure is not known");
        }
    }

    /// The reason that was read out of an error log.
    pub(in crate::drive) fn reason_of(&self, subject: ModelId) -> Option<String> {
        self.kept_reason(subject)
            .filter(|reason| !reason.is_empty())
    }

    /// The same; empty where the log says nothing, so that it is not read again.
    fn kept_reason(&self, subject: ModelId) -> Option<String> {
        self.meta.get(TABLE, &subject.to_string()).ok().flatten()
    }

    /// The model is something else now.
    pub(in crate::drive) fn forget_reason(&self, subject: ModelId) {
        if self.kept_reason(subject).is_some() {
            let forgotten = self.meta.relaxed().batch(|batch| {
                batch.remove(TABLE, &subject.to_string());
                Ok(())
            });
            if let Err(error) = forgotten {
                tracing::warn!(subject = %subject, error = %error, "could not forget a reason");
            }
        }
    }

    /// The one line of a source model's status, draft or asset.
    pub(in crate::drive) async fn model_status(
        self: &Arc<Self>,
        home: Home,
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
            _ => self.refreshed_asset(asset, STATUS_HOLDS).await?,
        };
        self.learn_reason(Model::Raw(home)).await;
        let row = self.known().assets.row(asset.0).cloned().unwrap_or(row);
        Ok(self.asset_status(&row))
    }

    /// The line of a source model's status.
    pub(in crate::drive) fn asset_status(&self, row: &KnownAsset) -> String {
        if row.state.is_failure() {
            format!("failed: {}", self.asset_failure(row))
        } else {
            row.status_text()
        }
    }

    /// Why a source model failed.
    pub(in crate::drive) fn asset_failure(&self, row: &KnownAsset) -> String {
        match &row.error {
            Some(error) => error.clone(),
            None => self
                .reason_of(ModelId::Asset(row.id))
                .unwrap_or_else(|| row.failure_reason()),
        }
    }

    /// The line of an optimized model's status.
    pub(in crate::drive) fn rapid_status(&self, row: &KnownRapid) -> String {
        let reason = match row.state.is_failure() {
            true => self.reason_of(ModelId::Rapid(row.id)),
            false => None,
        };
        reason.map_or_else(|| row.status_text(), |reason| format!("failed: {reason}"))
    }

    /// The model, if it failed and its record does not say why.
    fn failed_subject(&self, model: Model) -> Option<ModelId> {
        let subject = model.subject(self)?;
        let known = self.known();
        let has_failed = match subject {
            ModelId::Asset(asset) => known
                .assets
                .row(asset.0)
                .is_some_and(|row| row.state.is_failure() && row.error.is_none()),
            ModelId::Rapid(rapid) => known
                .rapids
                .row(rapid.0)
                .is_some_and(|row| row.state.is_failure()),
        };
        has_failed.then_some(subject)
    }

    async fn fetch_reason(self: &Arc<Self>, subject: ModelId) -> DriveResult<()> {
        let folder = match subject {
            ModelId::Asset(asset) => {
                // The record on its own says more than the listing.
                let row = self.refreshed_asset(asset, Duration::ZERO).await?;
                if row.error.is_some() {
                    return Ok(());
                }
                RemoteFolder::AssetAnalysis(asset)
            }
            ModelId::Rapid(rapid) => RemoteFolder::RapidAnalysis(rapid),
        };
        let map = self.file_map(folder).await?;
        let reason = match map.path_of(LOG) {
            Some(path) => {
                let log = self.remote_file(folder, path).await?;
                let bytes = log.read(0, LOG_BYTES).await?;
                reason_in_log(&String::from_utf8_lossy(&bytes))
            }
            None => None,
        };
        let reason = reason.unwrap_or_default();
        let kept = self
            .meta
            .relaxed()
            .put(TABLE, &subject.to_string(), &reason);
        if let Err(error) = kept {
            tracing::warn!(subject = %subject, error = %error, "could not keep a reason");
        }
        Ok(())
    }
}
