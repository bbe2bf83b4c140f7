//! Polls objects that were looked at lately.
//!
//! Only objects that can change are polled: source models that are being imported, with growing pauses; all
//! running optimizations with one request. The outbox polls its own uploads.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::client::Priority;
use crate::drive::catalog::asking::{FlightKey, asked};
use crate::drive::catalog::listings::changes::{asset_gone, told_rapid};
use crate::drive::catalog::listings::fetch::told_jobs;
use crate::drive::catalog::models::{refreshed_rapid, told_asset_detail};
use crate::drive::catalog::state::Catalog;
use crate::drive::error::DriveResult;
use crate::drive::values::known::KnownRapid;
use crate::drive::values::node::{Home, Model, RemoteFolder};
use crate::outbox::ItemStatus;
use crate::wire::{AssetId, RapidId, UploadStatus};

/// Time for which an object is polled after it was looked at.
const LATELY: Duration = Duration::from_secs(600);
/// First and longest pause between two requests.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Interval of the task.
const TICK: Duration = Duration::from_millis(500);
/// Maximum number of polled objects.
const MAX_WATCHED: usize = 1000;
/// Maximum number of requests in one round.
const MAX_IN_A_ROUND: usize = 8;

#[derive(Default)]
pub(in crate::drive) struct Watched {
    state: Mutex<Looks>,
}

#[derive(Default)]
struct Looks {
    assets: HashMap<AssetId, Watch>,
    rapids: HashMap<RapidId, Watch>,
    listed: HashMap<RemoteFolder, Instant>,
    sizing: HashSet<RemoteFolder>,
    jobs_due: Option<(Instant, Duration)>,
    is_closed: bool,
}

#[derive(Debug, Clone)]
struct Watch {
    looked: Instant,
    due: Instant,
    pause: Duration,
    seen: Option<ItemStatus>,
}

impl Watch {
    fn new(now: Instant) -> Watch {
        Watch {
            looked: now,
            due: now + FIRST_PAUSE,
            pause: FIRST_PAUSE,
            seen: None,
        }
    }

    /// Plans the next request: soon after a change, later without one.
    fn looked_at(&mut self, status: Option<ItemStatus>, now: Instant) {
        self.pause = if self.seen == status {
            (self.pause * 2).min(LONGEST_PAUSE)
        } else {
            FIRST_PAUSE
        };
        self.seen = status;
        self.due = now + self.pause;
    }
}

impl Watched {
    pub(in crate::drive) fn look_at_asset(&self, asset: AssetId) {
        let now = Instant::now();
        let mut state = self.lock();
        if state.assets.len() < MAX_WATCHED || state.assets.contains_key(&asset) {
            state
                .assets
                .entry(asset)
                .or_insert_with(|| Watch::new(now))
                .looked = now;
        }
    }

    pub(in crate::drive) fn look_at_rapid(&self, rapid: RapidId) {
        let now = Instant::now();
        let mut state = self.lock();
        if state.rapids.len() < MAX_WATCHED || state.rapids.contains_key(&rapid) {
            state
                .rapids
                .entry(rapid)
                .or_insert_with(|| Watch::new(now))
                .looked = now;
        }
    }

    pub(in crate::drive) fn list(&self, folder: RemoteFolder) {
        let mut state = self.lock();
        if state.listed.len() >= MAX_WATCHED {
            state.listed.retain(|_, at| at.elapsed() < FIRST_PAUSE * 30);
        }
        state.listed.insert(folder, Instant::now());
    }

    /// True if a folder was listed within `lately`.
    pub(in crate::drive) fn is_listed_lately(
        &self,
        folder: RemoteFolder,
        lately: Duration,
    ) -> bool {
        self.lock()
            .listed
            .get(&folder)
            .is_some_and(|at| at.elapsed() < lately)
    }

    /// True for the first caller that requests all sizes of a folder.
    pub(in crate::drive) fn begin_sizing(&self, folder: RemoteFolder) -> bool {
        self.lock().sizing.insert(folder)
    }

    /// All sizes of a folder were requested.
    pub(in crate::drive) fn end_sizing(&self, folder: RemoteFolder) {
        self.lock().sizing.remove(&folder);
    }

    /// Ends the task.
    pub(in crate::drive) fn close(&self) {
        self.lock().is_closed = true;
    }

    fn lock(&self) -> MutexGuard<'_, Looks> {
        self.state.lock().expect("no panic while looks are held")
    }
}

/// Notes that a model was looked at: its state is polled for a while.
pub(in crate::drive) fn look_at(catalog: &Catalog, model: Model) {
    match model {
        Model::Raw(home) => {
            let Some(asset) = catalog.asset_of(home) else {
                return;
            };
            let row = catalog.known().assets.row(asset.0).cloned();
            if row.is_some_and(|row| row.state != UploadStatus::Complete) {
                catalog.watched.look_at_asset(asset);
            }
        }
        Model::Rapid(rapid) => {
            let row = catalog.known().rapids.row(rapid.0).cloned();
            if row.is_some_and(|row| !row.state.is_final()) {
                catalog.watched.look_at_rapid(rapid);
            }
        }
    }
}

pub(in crate::drive) fn was_listed(catalog: &Catalog, folder: RemoteFolder) {
    catalog.watched.list(folder);
}

/// The polling task.
pub(in crate::drive) async fn watch(catalog: Arc<Catalog>) {
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        if catalog.watched.lock().is_closed {
            return;
        }
        for asset in due_assets(&catalog) {
            look_after_asset(&catalog, asset).await;
        }
        if jobs_are_due(&catalog) {
            look_after_jobs(&catalog).await;
        }
    }
}

/// Source models that are being imported, were looked at, and are not polled by the outbox.
fn due_assets(catalog: &Catalog) -> Vec<AssetId> {
    let now = Instant::now();
    let candidates: Vec<AssetId> = {
        let mut state = catalog.watched.lock();
        state
            .assets
            .retain(|_, watch| now.duration_since(watch.looked) < LATELY);
        state
            .assets
            .iter()
            .filter(|(_, watch)| watch.due <= now)
            .map(|(asset, _)| *asset)
            .collect()
    };
    let (moving, resting): (Vec<AssetId>, Vec<AssetId>) = candidates
        .into_iter()
        .partition(|asset| is_moving(catalog, *asset));
    let mut state = catalog.watched.lock();
    for asset in resting {
        state.assets.remove(&asset);
    }
    drop(state);
    moving.into_iter().take(MAX_IN_A_ROUND).collect()
}

fn is_moving(catalog: &Catalog, asset: AssetId) -> bool {
    let moves = catalog
        .known()
        .assets
        .row(asset.0)
        .is_some_and(|row| !row.state.is_final());
    let outbox_watches = match catalog.home_of(asset) {
        Home::Made(draft) => catalog.outbox.drafts().get(draft).is_some(),
        Home::Found(_) => false,
    };
    moves && !outbox_watches
}

async fn look_after_asset(catalog: &Arc<Catalog>, asset: AssetId) {
    let began = Instant::now();
    let reply = asked(
        catalog,
        catalog.client.assets().get(asset, Priority::Background),
    )
    .await;
    let status = match reply {
        Ok(record) => {
            told_asset_detail(catalog, &record, began);
            catalog
                .known()
                .assets
                .row(asset.0)
                .map(|row| Some(row.status()))
        }
        Err(crate::drive::error::DriveError::NotFound) => {
            asset_gone(catalog, asset);
            None
        }
        Err(_) => Some(None),
    };
    let mut state = catalog.watched.lock();
    match (status, state.assets.get_mut(&asset)) {
        (Some(status), Some(watch)) => watch.looked_at(status, Instant::now()),
        _ => {
            state.assets.remove(&asset);
        }
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

fn jobs_are_due(catalog: &Catalog) -> bool {
    let now = Instant::now();
    let running = running_rapids(catalog);
    let mut state = catalog.watched.lock();
    state
        .rapids
        .retain(|_, watch| now.duration_since(watch.looked) < LATELY);
    let is_looked_at = running.iter().any(|rapid| state.rapids.contains_key(rapid));
    match state.jobs_due {
        _ if !is_looked_at => {
            state.jobs_due = None;
            false
        }
        None => {
            state.jobs_due = Some((now + FIRST_PAUSE, FIRST_PAUSE));
            false
        }
        Some((due, _)) => due <= now,
    }
}

/// One request lists all running optimizations; one that is missing has ended.
async fn look_after_jobs(catalog: &Arc<Catalog>) {
    let before = running_states(catalog);
    let result = fetch_running_jobs(catalog).await;
    let changed = before != running_states(catalog);
    let mut state = catalog.watched.lock();
    let pause = state.jobs_due.map_or(FIRST_PAUSE, |(_, pause)| pause);
    let pause = if changed && result.is_ok() {
        FIRST_PAUSE
    } else {
        (pause * 2).min(LONGEST_PAUSE)
    };
    state.jobs_due = Some((Instant::now() + pause, pause));
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
    let shared = Arc::clone(catalog);
    let landing = catalog.flights.join(FlightKey::RunningJobs, || async move {
        let began = Instant::now();
        let records = asked(
            &shared,
            shared.client.optimizations().running(Priority::Background),
        )
        .await?;
        let named: HashSet<RapidId> = records.iter().map(|record| record.id).collect();
        for record in &records {
            told_rapid(&shared, KnownRapid::from_record(record), began);
        }
        told_jobs(
            &shared,
            records.iter().map(|record| record.id).collect(),
            began,
        );
        for ended in running
            .into_iter()
            .filter(|rapid| !named.contains(rapid))
            .take(MAX_IN_A_ROUND)
        {
            refreshed_rapid(&shared, ended, Duration::ZERO).await?;
        }
        Ok(())
    });
    landing.await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_work_is_polled_with_growing_pauses() {
        let now = Instant::now();
        let mut watch = Watch::new(now);
        let pauses: Vec<u64> = (0..8)
            .map(|_| {
                watch.looked_at(Some(ItemStatus::Draft), now);
                watch.pause.as_secs()
            })
            .collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 30, 30, 30]);
        watch.looked_at(Some(ItemStatus::Complete), now);
        assert_eq!(watch.pause, FIRST_PAUSE);
    }
}
