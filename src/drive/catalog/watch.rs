//! Polls objects that were looked at lately.
//!
//! Only objects that can change are polled: source models that are being imported, with growing pauses; all
//! running optimizations with one request. The outbox polls its own uploads.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::client::Priority;
use crate::drive::catalog::asking::send_with_deadline;
use crate::drive::catalog::data::flight_key::FlightKey;
use crate::drive::catalog::listings::records::{asset_gone, store_jobs, store_rapid};
use crate::drive::catalog::models::{refresh_rapid, store_asset_detail};
use crate::drive::catalog::parts::Catalog;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::values::node::{Home, Model, RemoteFolder};
use crate::wire::{AssetId, RapidId, UploadStatus};

/// Interval of the task.
const TICK: Duration = Duration::from_millis(500);
/// Maximum number of requests in one round.
const MAX_IN_A_ROUND: usize = 8;

/// Notes that a model was looked at: its state is polled for a while.
pub fn look_at(catalog: &Catalog, model: Model) {
    match model {
        Model::Raw(home) => {
            let Some(asset) = catalog.asset_of(home) else {
                return;
            };
            let row = catalog.asset(asset);
            if row.is_some_and(|row| row.state != UploadStatus::Complete) {
                catalog.watched.look_at_asset(asset);
            }
        }
        Model::Rapid(rapid) => {
            let row = catalog.rapid(rapid);
            if row.is_some_and(|row| !row.state.is_final()) {
                catalog.watched.look_at_rapid(rapid);
            }
        }
    }
}

pub fn was_listed(catalog: &Catalog, folder: RemoteFolder) {
    catalog.watched.list(folder);
}

/// The polling task.
pub async fn watch(catalog: Arc<Catalog>) {
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        if catalog.watched.is_closed() {
            return;
        }
        for asset in due_assets(&catalog) {
            look_after_asset(&catalog, asset).await;
        }
        if catalog.watched.has_rapids() && catalog.watched.jobs_are_due(&running_rapids(&catalog)) {
            look_after_jobs(&catalog).await;
        }
    }
}

/// Source models that are being imported, were looked at, and are not polled by the outbox.
fn due_assets(catalog: &Catalog) -> Vec<AssetId> {
    let candidates = catalog.watched.due_assets();
    let (moving, resting): (Vec<AssetId>, Vec<AssetId>) = candidates
        .into_iter()
        .partition(|asset| is_moving(catalog, *asset));
    catalog.watched.forget_assets(resting);
    moving.into_iter().take(MAX_IN_A_ROUND).collect()
}

fn is_moving(catalog: &Catalog, asset: AssetId) -> bool {
    let moves = catalog
        .asset(asset)
        .is_some_and(|row| !row.state.is_final());
    let outbox_watches = match catalog.home_of(asset) {
        Home::Made(draft) => catalog.outbox.drafts().get(draft).is_some(),
        Home::Found(_) => false,
    };
    moves && !outbox_watches
}

async fn look_after_asset(catalog: &Arc<Catalog>, asset: AssetId) {
    let began = Instant::now();
    let reply = catalog.client.assets().get(asset, Priority::Background);
    let status = match send_with_deadline(catalog, reply).await {
        Ok(record) => {
            store_asset_detail(catalog, &record, began);
            catalog.asset(asset).map(|row| Some(row.status()))
        }
        Err(DriveError::NotFound) => {
            asset_gone(catalog, asset);
            None
        }
        Err(_) => Some(None),
    };
    match status {
        Some(status) => catalog.watched.asset_polled(asset, status),
        None => catalog.watched.forget_assets([asset]),
    }
}

fn running_rapids(catalog: &Catalog) -> Vec<RapidId> {
    let known = catalog.known();
    known
        .rapids
        .rows()
        .filter(|row| !row.state.is_final())
        .map(|row| row.id)
        .collect()
}

/// One request lists all running optimizations; one that is missing has ended.
async fn look_after_jobs(catalog: &Arc<Catalog>) {
    let before = running_states(catalog);
    let result = fetch_running_jobs(catalog).await;
    let changed = before != running_states(catalog);
    catalog.watched.jobs_polled(changed && result.is_ok());
}

fn running_states(catalog: &Catalog) -> Vec<(RapidId, u64)> {
    let known = catalog.known();
    known
        .rapids
        .rows()
        .filter(|row| !row.state.is_final())
        .map(|row| (row.id, row.progress))
        .collect()
}

async fn fetch_running_jobs(catalog: &Arc<Catalog>) -> DriveResult<()> {
    let running = running_rapids(catalog);
    let fetch_end = catalog.join_flight(FlightKey::RunningJobs, |shared| async move {
        let began = Instant::now();
        let records = shared.client.optimizations().running(Priority::Background);
        let records = send_with_deadline(&shared, records).await?;
        let named: HashSet<RapidId> = records.iter().map(|record| record.id).collect();
        for record in &records {
            store_rapid(&shared, record, began);
        }
        let rows = records.iter().map(|record| record.id).collect();
        store_jobs(&shared, rows, began);
        for ended in running
            .into_iter()
            .filter(|rapid| !named.contains(rapid))
            .take(MAX_IN_A_ROUND)
        {
            refresh_rapid(&shared, ended, Duration::ZERO).await?;
        }
        Ok(())
    });
    fetch_end.await
}
