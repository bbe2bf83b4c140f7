//! The last failure of each path, as a sentence: what `user.assetfs.why` shows.
//!
//! Bounded: the oldest sentences go first. Kept for as long as the mount lives; what has to outlive
//! it is kept by the outbox.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

/// How many sentences are kept.
const MAX_KEPT: usize = 2000;

/// One failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    /// The path from the top of the drive.
    pub(super) path: String,
    /// What, why, what to do.
    pub(super) why: String,
}

/// The failures of a mount.
#[derive(Default)]
pub(super) struct Failures {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    by_path: HashMap<String, (u64, String)>,
    /// Oldest first; a path that failed again is in it again.
    order: VecDeque<(u64, String)>,
    next: u64,
}

impl State {
    /// What failed at a place in the order, unless the path failed again later.
    fn at(&self, (number, path): &(u64, String)) -> Option<Failure> {
        let (last, why) = self.by_path.get(path)?;
        (last == number).then(|| Failure {
            path: path.clone(),
            why: why.clone(),
        })
    }
}

impl Failures {
    /// Keeps a sentence for a path in place of an older one.
    pub(super) fn note(&self, path: &str, why: &str) {
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        state.order.push_back((number, path.to_owned()));
        state
            .by_path
            .insert(path.to_owned(), (number, why.to_owned()));
        while state.order.len() > MAX_KEPT {
            let Some(oldest) = state.order.pop_front() else {
                break;
            };
            if state.at(&oldest).is_some() {
                state.by_path.remove(&oldest.1);
            }
        }
    }

    /// What failed last at a path.
    pub(super) fn of(&self, path: &str) -> Option<String> {
        self.lock().by_path.get(path).map(|(_, why)| why.clone())
    }

    /// What failed last for any name in a folder, with the name.
    pub(super) fn last_in(&self, folder: &str) -> Option<String> {
        let prefix = format!("{}/", folder.trim_end_matches('/'));
        let state = self.lock();
        let mut latest = state.order.iter().rev();
        latest.find_map(|place| {
            let name = place.1.strip_prefix(&prefix)?;
            let failure = state.at(place)?;
            (!name.contains('/')).then(|| format!("{name}: {}", failure.why))
        })
    }

    /// It works now.
    pub(super) fn clear(&self, path: &str) {
        self.lock().by_path.remove(path);
    }

    /// The latest ones, newest first.
    pub(super) fn latest(&self, count: usize) -> Vec<Failure> {
        let state = self.lock();
        let latest = state.order.iter().rev();
        latest
            .filter_map(|place| state.at(place))
            .take(count)
            .collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("no panic while failures are held")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_sentence_of_each_path_is_kept() {
        let failures = Failures::default();
        failures.note("/rawmodels/chair", "first");
        failures.note("/rawmodels/chair", "second");
        failures.note("/rawmodels/chair/optimize/web.json", "deeper");
        assert_eq!(failures.of("/rawmodels/chair").as_deref(), Some("second"));
        assert_eq!(
            failures.last_in("/rawmodels").as_deref(),
            Some("chair: second")
        );
        assert_eq!(failures.last_in("/"), None);
        assert_eq!(failures.latest(9).len(), 2);
        failures.clear("/rawmodels/chair");
        assert_eq!(failures.last_in("/rawmodels"), None);
    }

    #[test]
    fn the_oldest_sentences_go_first() {
        let failures = Failures::default();
        for number in 0..MAX_KEPT + 10 {
            failures.note(&format!("/{number}"), "no");
        }
        assert_eq!(failures.of("/3"), None);
        assert_eq!(failures.of("/11").as_deref(), Some("no"));
        assert_eq!(failures.lock().by_path.len(), MAX_KEPT);
    }
}
