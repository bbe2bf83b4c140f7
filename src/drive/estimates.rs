//! How long optimizations take: learned from those that ended, for the next ones with the same text and a source of about the same
//! size ([`crate::time_left`]).
//!
//! There is no estimate for a job of a new kind, and none for a job that takes longer than expected. The durations are in the
//! store of known listings; if that is lost, they are learned again.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::durable::MetaStore;
use crate::locks::Locked;
use crate::outbox::{JobInfo, JobState};
use crate::time_left::seconds_left;
use crate::wire::RapidId;

/// The table and the key of what was learned.
const TABLE: &str = "durations";
const KEY: &str = "optimizations";
const MAX_KEPT: usize = 100;

/// One optimization that ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Ended {
    /// A hash of its text.
    text: u64,
    source_bytes: u64,
    seconds: f64,
}

#[derive(Debug)]
pub(super) struct Estimates {
    meta: MetaStore,
    state: Mutex<EstimatesState>,
}

#[derive(Debug, Default)]
struct EstimatesState {
    /// Oldest first.
    ended: Vec<Ended>,
    /// The start time of each optimization that was queued while the drive was mounted; `None` while it is still queued. An
    /// optimization that was already running then has no entry, because its start time is not known.
    running: HashMap<RapidId, Option<Instant>>,
}

impl Estimates {
    pub(super) fn new(meta: MetaStore) -> Estimates {
        let ended = meta.get(TABLE, KEY).ok().flatten().unwrap_or_default();
        let state = EstimatesState {
            ended,
            ..EstimatesState::default()
        };
        Estimates {
            meta,
            state: Mutex::new(state),
        }
    }

    /// Notes that a job of one model is in another state. `source_bytes` is the size of the model.
    pub(super) fn note(&self, job: &JobInfo, source_bytes: Option<u64>, now: Instant) {
        let Some(rapid) = job.rapid else { return };
        let learned = {
            let mut state = self.state.locked();
            let learned = state.note(rapid, job, source_bytes, now);
            learned.then(|| state.ended.clone())
        };
        if let Some(ended) = learned
            && let Err(error) = self.meta.relaxed().put(TABLE, KEY, &ended)
        {
            tracing::debug!(%error, "the duration of a job is not kept");
        }
    }

    /// About how many seconds a running job still takes.
    pub(super) fn seconds_left(
        &self,
        job: &JobInfo,
        source_bytes: Option<u64>,
        now: Instant,
    ) -> Option<u64> {
        self.state
            .locked()
            .seconds_left(job.rapid?, &job.text, source_bytes?, now)
    }
}

impl EstimatesState {
    /// True if something was learned.
    fn note(
        &mut self,
        rapid: RapidId,
        job: &JobInfo,
        source_bytes: Option<u64>,
        now: Instant,
    ) -> bool {
        match (&job.state, source_bytes) {
            (JobState::Queued, _) => {
                self.running.insert(rapid, None);
                false
            }
            (JobState::Running { .. }, _) => {
                if let Some(since) = self.running.get_mut(&rapid) {
                    since.get_or_insert(now);
                }
                false
            }
            (JobState::Done, Some(source_bytes @ 1..)) => {
                let Some(Some(since)) = self.running.remove(&rapid) else {
                    return false;
                };
                if self.ended.len() >= MAX_KEPT {
                    self.ended.remove(0);
                }
                self.ended.push(Ended {
                    text: xxh3_64(&job.text),
                    source_bytes,
                    seconds: now.saturating_duration_since(since).as_secs_f64(),
                });
                true
            }
            _ => {
                self.running.remove(&rapid);
                false
            }
        }
    }

    fn seconds_left(
        &self,
        rapid: RapidId,
        text: &[u8],
        source_bytes: u64,
        now: Instant,
    ) -> Option<u64> {
        let since = (*self.running.get(&rapid)?)?;
        let text = xxh3_64(text);
        let alike = self.ended.iter().rev().filter(|it| it.text == text);
        let alike = alike.map(|it| (it.source_bytes, it.seconds));
        let elapsed = now.saturating_duration_since(since).as_secs_f64();
        seconds_left(alike, source_bytes, elapsed)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::outbox::ItemStatus;

    fn job(rapid: u64, text: &str, state: JobState) -> JobInfo {
        JobInfo {
            name: "web.json".to_owned(),
            text: text.as_bytes().to_vec(),
            state,
            status: ItemStatus::NotSent,
            failure: None,
            rapid: Some(RapidId(rapid)),
            rapids: Vec::new(),
            embed: None,
            mtime: SystemTime::UNIX_EPOCH,
            maker: None,
        }
    }

    const RUNNING: JobState = JobState::Running { percent: 40 };

    #[test]
    fn a_job_takes_about_as_long_as_one_with_its_text_and_a_source_of_its_size() {
        let dir = tempfile::tempdir().unwrap();
        let meta = MetaStore::open(dir.path().join("meta.redb")).unwrap();
        let estimates = Estimates::new(meta.clone());
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let run = |rapid, bytes, from, to| {
            for (state, second) in [
                (JobState::Queued, from),
                (RUNNING, from),
                (JobState::Done, to),
            ] {
                estimates.note(&job(rapid, "{}", state), Some(bytes), at(second));
            }
        };
        run(1, 1_000_000, 0, 60);
        // Learned durations are there after a remount.
        let estimates = Estimates::new(meta);
        for rapid in [2, 3, 4] {
            estimates.note(&job(rapid, "{}", JobState::Queued), None, at(60));
            estimates.note(&job(rapid, "{}", RUNNING), None, at(60));
        }
        let left = |rapid, text, bytes, second| {
            estimates.seconds_left(&job(rapid, text, RUNNING), bytes, at(second))
        };
        assert_eq!(left(2, "{}", Some(1_000_000), 60), Some(60));
        assert_eq!(left(2, "{}", Some(2_000_000), 80), Some(100));
        // No estimate for a job that is late, has another text or another size, or whose size or start is not known.
        assert_eq!(left(2, "{}", Some(1_000_000), 120), None);
        assert_eq!(left(3, "{ }", Some(1_000_000), 60), None);
        assert_eq!(left(3, "{}", Some(4_000_000), 60), None);
        assert_eq!(left(3, "{}", None, 60), None);
        assert_eq!(left(9, "{}", Some(1_000_000), 60), None);
    }

    #[test]
    fn a_job_that_ran_before_the_mount_or_failed_teaches_nothing() {
        let mut state = EstimatesState::default();
        let now = Instant::now();
        let mut note =
            |rapid: u64, to| state.note(RapidId(rapid), &job(rapid, "{}", to), Some(9), now);
        assert!(!note(1, RUNNING));
        assert!(!note(1, JobState::Done));
        assert!(!note(2, JobState::Queued));
        assert!(!note(2, RUNNING));
        let reason = "no faces".to_owned();
        assert!(!note(2, JobState::Failed { reason }));
        assert!(!note(2, JobState::Done));
        assert!(state.ended.is_empty() && state.running.is_empty());
    }
}
