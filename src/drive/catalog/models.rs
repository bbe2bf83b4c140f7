//! Single records of source and optimized models, and data derived from them (`detail.json`, the links to optimized
//! models).

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;

use crate::client::Priority;
use crate::drive::catalog::asking::{send_with_deadline, wait_for_fetch};
use crate::drive::catalog::data::flight_key::FlightKey;
use crate::drive::catalog::listings::fetch::one_request_confirms_results;
use crate::drive::catalog::listings::freshness::is_listed;
use crate::drive::catalog::listings::records::{asset_gone, rapid_gone, store_asset, store_rapid};
use crate::drive::catalog::listings::refresh_listing;
use crate::drive::catalog::maps::store::{store_asset_files, store_rapid_files};
use crate::drive::catalog::parts::Catalog;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::values::known::{KnownAsset, KnownRapid};
use crate::drive::values::listing::Record as _;
use crate::drive::values::node::ListingKind;
use crate::outbox::SeenRecord;
use crate::wire::secret::json_without_secrets;
use crate::wire::{AssetId, BaseAsset, RapidId, RapidModel};

const NOW: Priority = Priority::Interactive;
/// Maximum number of records stored for `detail.json`.
const MAX_DETAILS: usize = 512;

/// Requests a source model unless its record is younger than `max_age`.
pub async fn refresh_asset(
    catalog: &Arc<Catalog>,
    asset: AssetId,
    max_age: Duration,
) -> DriveResult<KnownAsset> {
    if !detail_is_young(catalog, &FlightKey::Asset(asset), max_age) {
        let fetch_end = catalog.join_flight(FlightKey::Asset(asset), |shared| async move {
            let began = Instant::now();
            let record = send_with_deadline(&shared, shared.client.assets().get(asset, NOW)).await;
            if let Err(DriveError::NotFound) = record {
                asset_gone(&shared, asset);
            }
            store_asset_detail(&shared, &record?, began);
            Ok(())
        });
        let is_known = catalog.asset(asset).is_some();
        wait_for_fetch(catalog, fetch_end, is_known).await?;
    }
    catalog.asset(asset).ok_or(DriveError::NotFound)
}

/// Requests an optimized model unless its record is younger than `max_age`.
pub async fn refresh_rapid(
    catalog: &Arc<Catalog>,
    rapid: RapidId,
    max_age: Duration,
) -> DriveResult<KnownRapid> {
    if !detail_is_young(catalog, &FlightKey::Rapid(rapid), max_age) {
        let fetch_end = catalog.join_flight(FlightKey::Rapid(rapid), |shared| async move {
            let began = Instant::now();
            let record = send_with_deadline(&shared, shared.client.rapids().get(rapid, NOW)).await;
            if let Err(DriveError::NotFound) = record {
                rapid_gone(&shared, rapid);
            }
            store_rapid_detail(&shared, &record?, began);
            Ok(())
        });
        let is_known = catalog.rapid(rapid).is_some();
        wait_for_fetch(catalog, fetch_end, is_known).await?;
    }
    catalog.rapid(rapid).ok_or(DriveError::NotFound)
}

/// A known source model, else requested.
pub async fn known_asset(catalog: &Arc<Catalog>, asset: AssetId) -> DriveResult<KnownAsset> {
    match catalog.asset(asset) {
        Some(row) => Ok(row),
        None => refresh_asset(catalog, asset, Duration::ZERO).await,
    }
}

/// A known optimized model, else requested: links need its name.
pub async fn known_rapid(catalog: &Arc<Catalog>, rapid: RapidId) -> DriveResult<KnownRapid> {
    store_waiting(catalog);
    match catalog.rapid(rapid) {
        Some(row) => Ok(row),
        None => refresh_rapid(catalog, rapid, Duration::ZERO).await,
    }
}

/// The optimized models of a source model.
pub async fn rapids_of(catalog: &Arc<Catalog>, asset: AssetId) -> DriveResult<Vec<RapidId>> {
    store_waiting(catalog);
    let refresh = catalog.config.refresh;
    let known = catalog.known().rapids_of.get(&asset).cloned();
    match &known {
        Some((rapids, Some(received))) if received.elapsed() < refresh => {
            return Ok(still_there(catalog, rapids));
        }
        // The list of all results has them, too, and the one request serves all models.
        None | Some((_, Some(_))) if one_request_confirms_results(catalog) => {
            refresh_listing(catalog, ListingKind::Rapids).await?;
            return Ok(made_from(catalog, asset));
        }
        _ => {}
    }
    let fetch_end = catalog.join_flight(FlightKey::RapidsOf(asset), |shared| async move {
        let began = Instant::now();
        let records = shared.client.assets().rapid_models(asset, NOW);
        let records = send_with_deadline(&shared, records).await?;
        shared.outbox.jobs().results_are(asset, &records);
        for record in &records {
            store_rapid(&shared, record, began);
        }
        let mut rapids: Vec<RapidId> = records.iter().map(|record| record.id).collect();
        rapids.sort_unstable();
        keep_rapids_of(&shared, asset, rapids);
        Ok(())
    });
    // The listing may contain the source of models too.
    let was_received = known.is_some_and(|(_, received)| received.is_some());
    let is_known = was_received || is_listed(catalog, ListingKind::Rapids);
    wait_for_fetch(catalog, fetch_end, is_known).await?;
    let listed = catalog.known().rapids_of.get(&asset).cloned();
    let rapids = match listed {
        Some((rapids, Some(_))) => rapids,
        _ => made_from(catalog, asset),
    };
    Ok(still_there(catalog, &rapids))
}

/// The next read of an asset's models sends a request.
pub fn mark_rapids_stale(catalog: &Catalog, asset: AssetId) {
    let mut known = catalog.known();
    known.rapids_of.entry(asset).or_default().1 = None;
}

fn keep_rapids_of(catalog: &Catalog, asset: AssetId, rapids: Vec<RapidId>) {
    let mut known = catalog.known();
    known
        .rapids_of
        .insert(asset, (rapids, Some(Instant::now())));
}

/// The outbox is ahead of its events: what it has seen of results counts before their events are received.
fn store_waiting(catalog: &Catalog) {
    for seen in catalog.outbox.take_waiting_rapids() {
        store_seen_rapid(catalog, &seen);
    }
}

/// Stores the record of an optimized model that the outbox has seen.
pub fn store_seen_rapid(catalog: &Catalog, seen: &SeenRecord<RapidModel>) {
    let record = &seen.record;
    // The list of running jobs has less in it.
    match record.optimization_status.is_final() {
        true => store_rapid_detail(catalog, record, seen.asked),
        false => store_rapid(catalog, record, seen.asked),
    }
    if let Some(source) = catalog.rapid(record.id).and_then(|row| row.source) {
        mark_rapids_stale(catalog, source);
    }
}

/// Stores the detail record of a source model from a request that began at `asked`.
pub fn store_asset_detail(catalog: &Catalog, record: &BaseAsset, asked: Instant) {
    if catalog.known().assets.is_late(record.id.0, asked) {
        return;
    }
    store_asset(catalog, record, asked);
    store_asset_files(catalog, record);
    keep_detail(catalog, FlightKey::Asset(record.id), record);
}

/// Stores the detail record of an optimized model.
pub fn store_rapid_detail(catalog: &Catalog, record: &RapidModel, asked: Instant) {
    if catalog.known().rapids.is_late(record.id.0, asked) {
        return;
    }
    store_rapid(catalog, record, asked);
    store_rapid_files(catalog, record);
    keep_detail(catalog, FlightKey::Rapid(record.id), record);
}

/// The JSON of a record without the secrets in its URLs.
pub fn detail_text(catalog: &Catalog, key: &FlightKey) -> Option<Arc<str>> {
    catalog
        .known()
        .details
        .get(key)
        .map(|(text, _)| Arc::clone(text))
}

/// A text that `fetch` stores, at most as old as the refresh time.
pub async fn fresh_text(
    catalog: &Catalog,
    key: FlightKey,
    fetch: impl Future<Output = DriveResult<()>> + Send + 'static,
) -> DriveResult<Arc<str>> {
    if !detail_is_young(catalog, &key, catalog.config.refresh) {
        catalog.flights.join(key.clone(), || fetch).await?;
    }
    detail_text(catalog, &key).ok_or(DriveError::NotFound)
}

/// Stores the JSON of a record without the secrets in its URLs.
pub fn keep_detail(catalog: &Catalog, key: FlightKey, record: &impl Serialize) {
    let value = serde_json::to_value(record).map(json_without_secrets);
    let text = value.and_then(|value| serde_json::to_string_pretty(&value));
    match text {
        Ok(text) => keep_detail_text(catalog, key, format!("{text}\n").into()),
        Err(error) => tracing::warn!(error = %error, "a record could not be written as JSON"),
    }
}

/// Stores a text that was just received.
pub fn keep_detail_text(catalog: &Catalog, key: FlightKey, text: Arc<str>) {
    let mut known = catalog.known();
    if known.details.len() >= MAX_DETAILS {
        known.details.clear();
    }
    known.details.insert(key, (text, Instant::now()));
}

/// The next reader requests the record again.
pub fn forget_detail(catalog: &Catalog, key: &FlightKey) {
    catalog.known().details.remove(key);
}

/// True if a record was received within `max_age`.
pub fn detail_is_young(catalog: &Catalog, key: &FlightKey, max_age: Duration) -> bool {
    catalog
        .known()
        .details
        .get(key)
        .is_some_and(|(_, received)| received.elapsed() < max_age)
}

fn made_from(catalog: &Catalog, asset: AssetId) -> Vec<RapidId> {
    let known = catalog.known();
    let made = known.rapids.rows().filter(|row| row.source == Some(asset));
    let mut rapids: Vec<RapidId> = made.map(|row| RapidId(row.number())).collect();
    rapids.sort_unstable();
    rapids
}

fn still_there(catalog: &Catalog, rapids: &[RapidId]) -> Vec<RapidId> {
    let known = catalog.known();
    rapids
        .iter()
        .copied()
        .filter(|rapid| known.rapids.row(rapid.0).is_some())
        .collect()
}
