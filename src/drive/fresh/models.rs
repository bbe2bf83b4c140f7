//! Single records: one source model, one optimized model, and what is derived from them
//! (`detail.json`, the links of a source model to what was made of it).

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::FlightKey;
use super::listings::Which;
use crate::client::Priority;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::shared::Shared;
use crate::drive::tree::known::{KnownAsset, KnownRapid};
use crate::drive::tree::listing::Row as _;
use crate::wire::secret::json_without_secrets;
use crate::wire::{AssetId, BaseAsset, RapidId, RapidModel};

/// Records kept for `detail.json`; more than this and all are asked for again.
const MAX_DETAILS: usize = 512;

impl Shared {
    /// Asks for one source model, unless its record is younger than `believed`.
    pub(in crate::drive) async fn refreshed_asset(
        self: &Arc<Self>,
        asset: AssetId,
        believed: Duration,
    ) -> DriveResult<KnownAsset> {
        if !self.detail_is_young(&FlightKey::Asset(asset), believed) {
            let shared = Arc::clone(self);
            let landing = self.flights.join(FlightKey::Asset(asset), || async move {
                let began = Instant::now();
                let record = shared
                    .asked(shared.client.asset(asset, Priority::Interactive))
                    .await;
                match record {
                    Ok(record) => shared.told_asset_detail(&record, began),
                    Err(DriveError::NotFound) => {
                        shared.asset_gone(asset);
                        return Err(DriveError::NotFound);
                    }
                    Err(error) => return Err(error),
                }
                Ok(())
            });
            let is_known = self.known().assets.row(asset.0).is_some();
            self.landed(landing, is_known).await?;
        }
        self.known()
            .assets
            .row(asset.0)
            .cloned()
            .ok_or(DriveError::NotFound)
    }

    /// Asks for one optimized model, unless its record is younger than `believed`.
    pub(in crate::drive) async fn refreshed_rapid(
        self: &Arc<Self>,
        rapid: RapidId,
        believed: Duration,
    ) -> DriveResult<KnownRapid> {
        if !self.detail_is_young(&FlightKey::Rapid(rapid), believed) {
            let shared = Arc::clone(self);
            let landing = self.flights.join(FlightKey::Rapid(rapid), || async move {
                let began = Instant::now();
                let record = shared
                    .asked(shared.client.rapid_model(rapid, Priority::Interactive))
                    .await;
                match record {
                    Ok(record) => shared.told_rapid_detail(&record, began),
                    Err(DriveError::NotFound) => {
                        shared.rapid_gone(rapid);
                        return Err(DriveError::NotFound);
                    }
                    Err(error) => return Err(error),
                }
                Ok(())
            });
            let is_known = self.known().rapids.row(rapid.0).is_some();
            self.landed(landing, is_known).await?;
        }
        self.known()
            .rapids
            .row(rapid.0)
            .cloned()
            .ok_or(DriveError::NotFound)
    }

    /// An optimized model that is known, or else asked for: links need its name.
    pub(in crate::drive) async fn known_rapid(
        self: &Arc<Self>,
        rapid: RapidId,
    ) -> DriveResult<KnownRapid> {
        let known = self.known().rapids.row(rapid.0).cloned();
        match known {
            Some(row) => Ok(row),
            None => self.refreshed_rapid(rapid, Duration::ZERO).await,
        }
    }

    /// The optimized models of a source model.
    pub(in crate::drive) async fn rapids_of(
        self: &Arc<Self>,
        asset: AssetId,
    ) -> DriveResult<Vec<RapidId>> {
        let known = self.known().rapids_of.get(&asset).cloned();
        if let Some((rapids, told)) = &known
            && told.elapsed() < self.config.refresh
        {
            return Ok(self.still_there(rapids));
        }
        let shared = Arc::clone(self);
        let landing = self
            .flights
            .join(FlightKey::RapidsOf(asset), || async move {
                let began = Instant::now();
                let records = shared
                    .asked(
                        shared
                            .client
                            .asset_rapid_models(asset, Priority::Interactive),
                    )
                    .await?;
                for record in &records {
                    shared.told_rapid(KnownRapid::from_record(record), began);
                }
                let mut rapids: Vec<RapidId> = records.iter().map(|record| record.id).collect();
                rapids.sort_unstable();
                shared
                    .known()
                    .rapids_of
                    .insert(asset, (rapids, Instant::now()));
                Ok(())
            });
        // The listing may tell as well which models were made of which.
        let is_known = known.is_some() || self.is_listed(Which::Rapids);
        self.landed(landing, is_known).await?;
        let told = self.known().rapids_of.get(&asset).cloned();
        let rapids = told.map_or_else(|| self.made_from(asset), |(rapids, _)| rapids);
        Ok(self.still_there(&rapids))
    }

    /// The next look at the models of an asset asks the service.
    pub(in crate::drive) fn doubt_rapids_of(&self, asset: AssetId) {
        self.known().rapids_of.remove(&asset);
    }

    /// Takes in the detail record of a source model, told by a request that began at `asked`.
    pub(in crate::drive) fn told_asset_detail(&self, record: &BaseAsset, asked: Instant) {
        if self.known().assets.is_late(record.id.0, asked) {
            return;
        }
        self.told_asset(record, asked);
        self.told_asset_files(record);
        self.keep_detail(FlightKey::Asset(record.id), record);
    }

    /// Takes in the detail record of an optimized model, likewise.
    pub(in crate::drive) fn told_rapid_detail(&self, record: &RapidModel, asked: Instant) {
        if self.known().rapids.is_late(record.id.0, asked) {
            return;
        }
        self.told_rapid(KnownRapid::from_record(record), asked);
        self.told_rapid_files(record);
        self.keep_detail(FlightKey::Rapid(record.id), record);
    }

    /// The text of a record, without the secrets of its URLs.
    pub(in crate::drive) fn detail_text(&self, key: &FlightKey) -> Option<Arc<str>> {
        self.known()
            .details
            .get(key)
            .map(|(text, _)| Arc::clone(text))
    }

    /// Keeps the text of a record, without the secrets of its URLs.
    pub(in crate::drive) fn keep_detail(&self, key: FlightKey, record: &impl Serialize) {
        let value = serde_json::to_value(record).map(json_without_secrets);
        let text = value.and_then(|value| serde_json::to_string_pretty(&value));
        match text {
            Ok(text) => self.keep_detail_text(key, format!("{text}\n").into()),
            Err(error) => tracing::warn!(error = %error, "a record could not be written as JSON"),
        }
    }

    /// Keeps a text that was just told.
    pub(in crate::drive) fn keep_detail_text(&self, key: FlightKey, text: Arc<str>) {
        let mut known = self.known();
        if known.details.len() >= MAX_DETAILS {
            known.details.clear();
        }
        known.details.insert(key, (text, Instant::now()));
    }

    /// True when a record was told within `believed`.
    pub(in crate::drive) fn detail_is_young(&self, key: &FlightKey, believed: Duration) -> bool {
        self.known()
            .details
            .get(key)
            .is_some_and(|(_, told)| told.elapsed() < believed)
    }

    fn made_from(&self, asset: AssetId) -> Vec<RapidId> {
        let known = self.known();
        known
            .rapids
            .rows()
            .filter(|row| row.source == Some(asset))
            .map(|row| RapidId(row.number()))
            .collect()
    }

    fn still_there(&self, rapids: &[RapidId]) -> Vec<RapidId> {
        let known = self.known();
        rapids
            .iter()
            .copied()
            .filter(|rapid| known.rapids.row(rapid.0).is_some())
            .collect()
    }
}
