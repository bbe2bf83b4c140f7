//! The objects that were looked at lately, and when each is polled next.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use crate::backoff::Backoff;
use crate::drive::values::node::RemoteFolder;
use crate::locks::Locked;
use crate::outbox::ItemStatus;
use crate::wire::{AssetId, RapidId};

/// First pause between two requests.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const PAUSES: Backoff = Backoff::doubling(FIRST_PAUSE, Duration::from_secs(30));
/// Maximum number of polled objects.
const MAX_WATCHED: usize = 1000;
/// Time for which an object is polled after it was looked at.
const LATELY: Duration = Duration::from_secs(600);

#[derive(Default)]
pub struct Watched {
    state: Mutex<Looks>,
}

#[derive(Default)]
struct Looks {
    assets: HashMap<AssetId, Watch>,
    rapids: HashMap<RapidId, Watch>,
    listed: HashMap<RemoteFolder, Instant>,
    sizing: HashSet<RemoteFolder>,
    jobs_due: Option<(Instant, Backoff)>,
    is_closed: bool,
}

#[derive(Debug, Clone)]
struct Watch {
    looked: Instant,
    due: Instant,
    pauses: Backoff,
    seen: Option<ItemStatus>,
}

impl Watch {
    fn new(now: Instant) -> Watch {
        let mut pauses = PAUSES;
        Watch {
            looked: now,
            due: now + pauses.next_pause(),
            pauses,
            seen: None,
        }
    }

    /// Plans the next request: soon after a change, later without one.
    fn looked_at(&mut self, status: Option<ItemStatus>, now: Instant) {
        if self.seen != status {
            self.pauses.reset();
        }
        self.seen = status;
        self.due = now + self.pauses.next_pause();
    }
}

impl Watched {
    pub fn look_at_asset(&self, asset: AssetId) {
        look_at(&mut self.state.locked().assets, asset);
    }

    pub fn look_at_rapid(&self, rapid: RapidId) {
        look_at(&mut self.state.locked().rapids, rapid);
    }

    pub fn list(&self, folder: RemoteFolder) {
        let mut state = self.state.locked();
        if state.listed.len() >= MAX_WATCHED {
            state.listed.retain(|_, at| at.elapsed() < FIRST_PAUSE * 30);
        }
        state.listed.insert(folder, Instant::now());
    }

    /// True if a folder was listed within `lately`.
    pub fn is_listed_lately(&self, folder: RemoteFolder, lately: Duration) -> bool {
        self.state
            .locked()
            .listed
            .get(&folder)
            .is_some_and(|at| at.elapsed() < lately)
    }

    /// The turn to request all sizes of a folder; `None` while another caller has it.
    pub fn begin_sizing(self: &Arc<Self>, folder: RemoteFolder) -> Option<SizingTurn> {
        let is_first = self.state.locked().sizing.insert(folder);
        is_first.then(|| SizingTurn {
            watched: Arc::clone(self),
            folder,
        })
    }

    /// Ends the task.
    pub fn close(&self) {
        self.state.locked().is_closed = true;
    }

    pub(in crate::drive::catalog) fn is_closed(&self) -> bool {
        self.state.locked().is_closed
    }

    /// The source models that were looked at lately and whose next request is due.
    pub(in crate::drive::catalog) fn due_assets(&self) -> Vec<AssetId> {
        let now = Instant::now();
        let mut state = self.state.locked();
        state
            .assets
            .retain(|_, watch| now.duration_since(watch.looked) < LATELY);
        let due = state.assets.iter().filter(|(_, watch)| watch.due <= now);
        due.map(|(asset, _)| *asset).collect()
    }

    /// Ends the polling of source models.
    pub(in crate::drive::catalog) fn forget_assets(
        &self,
        assets: impl IntoIterator<Item = AssetId>,
    ) {
        let mut state = self.state.locked();
        for asset in assets {
            state.assets.remove(&asset);
        }
    }

    /// Plans the next request for a source model; `None` is the status after a failed request.
    pub(in crate::drive::catalog) fn asset_polled(
        &self,
        asset: AssetId,
        status: Option<ItemStatus>,
    ) {
        if let Some(watch) = self.state.locked().assets.get_mut(&asset) {
            watch.looked_at(status, Instant::now());
        }
    }

    /// True if an optimization was looked at, however long ago.
    pub(in crate::drive::catalog) fn has_rapids(&self) -> bool {
        !self.state.locked().rapids.is_empty()
    }

    /// True if the running optimizations are to be requested: one of them was looked at lately, and the pause is over.
    pub(in crate::drive::catalog) fn jobs_are_due(&self, running: &[RapidId]) -> bool {
        let now = Instant::now();
        let mut state = self.state.locked();
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
                let mut pauses = PAUSES;
                state.jobs_due = Some((now + pauses.next_pause(), pauses));
                false
            }
            Some((due, _)) => due <= now,
        }
    }

    /// Plans the next request for the running optimizations: soon after a change, later without one.
    pub(in crate::drive::catalog) fn jobs_polled(&self, has_news: bool) {
        let mut state = self.state.locked();
        let mut pauses = state.jobs_due.map_or(PAUSES, |(_, pauses)| pauses);
        if has_news {
            pauses.reset();
        }
        state.jobs_due = Some((Instant::now() + pauses.next_pause(), pauses));
    }
}

/// Drop guard: however the requests end, the sizes of the folder can be requested again.
pub struct SizingTurn {
    watched: Arc<Watched>,
    folder: RemoteFolder,
}

impl Drop for SizingTurn {
    fn drop(&mut self) {
        self.watched.state.locked().sizing.remove(&self.folder);
    }
}

fn look_at<K: Eq + Hash>(watched: &mut HashMap<K, Watch>, object: K) {
    let now = Instant::now();
    if watched.len() < MAX_WATCHED || watched.contains_key(&object) {
        let watch = watched.entry(object);
        watch.or_insert_with(|| Watch::new(now)).looked = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_a_folder_can_be_requested_again_however_the_turn_ended() {
        let watched = Arc::new(Watched::default());
        let folder = RemoteFolder::AssetMembers(AssetId(1));
        let turn = watched.begin_sizing(folder);
        assert!(turn.is_some());
        assert!(watched.begin_sizing(folder).is_none(), "one at a time");
        drop(turn);
        assert!(watched.begin_sizing(folder).is_some());
    }

    #[test]
    fn running_work_is_polled_with_growing_pauses() {
        let now = Instant::now();
        let mut watch = Watch::new(now);
        let pauses: Vec<u64> = (0..8)
            .map(|_| {
                watch.looked_at(Some(ItemStatus::Draft), now);
                (watch.due - now).as_secs()
            })
            .collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 30, 30, 30]);
        watch.looked_at(Some(ItemStatus::Complete), now);
        assert_eq!(watch.due - now, FIRST_PAUSE);
    }
}
