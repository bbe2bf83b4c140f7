//! Why a model failed, in the service's words: from its record, else from its error log.

use std::sync::Arc;
use std::time::Duration;

use crate::drive::catalog::asking::patience;
use crate::drive::catalog::data::flight_key::FlightKey;
use crate::drive::catalog::identity::subject_of;
use crate::drive::catalog::maps::file_map;
use crate::drive::catalog::models::refresh_asset;
use crate::drive::catalog::parts::Catalog;
use crate::drive::catalog::stored_reasons::{keep_reason, kept_reason, reason_of};
use crate::drive::catalog::urls::remote_file;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::values::known::{KnownAsset, KnownRapid};
use crate::drive::values::node::{Home, Model, RemoteFolder};
use crate::outbox::{DraftPhase, ItemStatus, reason_in_log};
use crate::wire::ModelId;

/// Maximum number of bytes read from a log.
const LOG_BYTES: u64 = 64 * 1024;
/// Age after which the status of an unfinished model is requested again.
const STATUS_TTL: Duration = Duration::from_secs(1);
const LOG: &str = "error.log";

/// Loads the reason of a failure before it is shown; without success it is shown without.
pub async fn learn_reason(catalog: &Arc<Catalog>, model: Model) {
    let Some(subject) = failed_subject(catalog, model) else {
        return;
    };
    if kept_reason(catalog, subject).is_some() {
        return;
    }
    let fetch_end = catalog.join_flight(FlightKey::Reason(subject), |shared| async move {
        fetch_reason(&shared, subject).await
    });
    if let Some(Err(error)) = fetch_end.within(patience(catalog)).await {
        tracing::debug!(subject = %subject, error = %error, "the reason of a failure is not known");
    }
}

/// The state of a source model: a draft or an asset.
pub async fn model_status(catalog: &Arc<Catalog>, home: Home) -> DriveResult<ItemStatus> {
    let view = catalog.model(home).ok_or(DriveError::NotFound)?;
    let Some(asset) = view.asset else {
        let draft = view.draft.ok_or(DriveError::NotFound)?;
        return Ok(draft.status);
    };
    // While the outbox handles it, its status is the newest.
    if let Some(draft) = &view.draft
        && draft.phase != DraftPhase::Complete
    {
        return Ok(draft.status.clone());
    }
    let row = match view.known {
        Some(row) if row.state.is_final() => row,
        _ => refresh_asset(catalog, asset, STATUS_TTL).await?,
    };
    learn_reason(catalog, Model::Raw(home)).await;
    let row = catalog.asset(asset).unwrap_or(row);
    Ok(asset_status(catalog, &row))
}

/// The state of an asset, with the reason of its failure.
pub fn asset_status(catalog: &Catalog, row: &KnownAsset) -> ItemStatus {
    if row.state.is_failure() {
        ItemStatus::Failed {
            reason: asset_failure(catalog, row),
        }
    } else {
        row.status()
    }
}

/// Why a source model failed.
pub fn asset_failure(catalog: &Catalog, row: &KnownAsset) -> String {
    match &row.error {
        Some(error) => error.clone(),
        None => reason_of(catalog, ModelId::Asset(row.id)).unwrap_or_else(|| row.failure_reason()),
    }
}

/// The state of an optimized model, with the reason of its failure.
pub fn rapid_status(catalog: &Catalog, row: &KnownRapid) -> ItemStatus {
    let reason = match row.state.is_failure() {
        true => reason_of(catalog, ModelId::Rapid(row.id)),
        false => None,
    };
    reason.map_or_else(|| row.status(), |reason| ItemStatus::Failed { reason })
}

/// The model, if it failed and its record contains no reason.
fn failed_subject(catalog: &Catalog, model: Model) -> Option<ModelId> {
    let subject = subject_of(catalog, model)?;
    let known = catalog.known();
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

async fn fetch_reason(catalog: &Arc<Catalog>, subject: ModelId) -> DriveResult<()> {
    let folder = match subject {
        ModelId::Asset(asset) => {
            // The single record contains more than the listing.
            let row = refresh_asset(catalog, asset, Duration::ZERO).await?;
            if row.error.is_some() {
                return Ok(());
            }
            RemoteFolder::AssetAnalysis(asset)
        }
        ModelId::Rapid(rapid) => RemoteFolder::RapidAnalysis(rapid),
    };
    let map = file_map(catalog, folder).await?;
    let reason = match map.path_of(LOG) {
        Some(path) => {
            let log = remote_file(catalog, folder, path).await?;
            let bytes = log.read(0, LOG_BYTES).await?;
            reason_in_log(&String::from_utf8_lossy(&bytes))
        }
        None => None,
    };
    let reason = reason.unwrap_or_default();
    keep_reason(catalog, subject, &reason);
    Ok(())
}
