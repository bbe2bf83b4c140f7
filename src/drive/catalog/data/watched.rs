//! The objects that were looked at lately, and when each is polled next.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::drive::values::node::RemoteFolder;
use crate::outbox::ItemStatus;
use crate::wire::{AssetId, RapidId};

/// First and longest pause between two requests.
pub(in crate::drive::catalog) const FIRST_PAUSE: Duration = Duration::from_secs(1);
pub(in crate::drive::catalog) const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Maximum number of polled objects.
const MAX_WATCHED: usize = 1000;

#[derive(Default)]
pub(in crate::drive) struct Watched {
    state: Mutex<Looks>,
}

#[derive(Default)]
pub(in crate::drive::catalog) struct Looks {
    pub(in crate::drive::catalog) assets: HashMap<AssetId, Watch>,
    pub(in crate::drive::catalog) rapids: HashMap<RapidId, Watch>,
    pub(in crate::drive::catalog) listed: HashMap<RemoteFolder, Instant>,
    pub(in crate::drive::catalog) sizing: HashSet<RemoteFolder>,
    pub(in crate::drive::catalog) jobs_due: Option<(Instant, Duration)>,
    pub(in crate::drive::catalog) is_closed: bool,
}

#[derive(Debug, Clone)]
pub(in crate::drive::catalog) struct Watch {
    pub(in crate::drive::catalog) looked: Instant,
    pub(in crate::drive::catalog) due: Instant,
    pub(in crate::drive::catalog) pause: Duration,
    pub(in crate::drive::catalog) seen: Option<ItemStatus>,
}

impl Watch {
    pub(in crate::drive::catalog) fn new(now: Instant) -> Watch {
        Watch {
            looked: now,
            due: now + FIRST_PAUSE,
            pause: FIRST_PAUSE,
            seen: None,
        }
    }

    /// Plans the next request: soon after a change, later without one.
    pub(in crate::drive::catalog) fn looked_at(
        &mut self,
        status: Option<ItemStatus>,
        now: Instant,
    ) {
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

    pub(in crate::drive::catalog) fn lock(&self) -> MutexGuard<'_, Looks> {
        self.state.lock().expect("no panic while looks are held")
    }
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
