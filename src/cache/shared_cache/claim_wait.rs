//! How long to wait for a chunk that another mount has claimed.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::store::Holder;
use crate::locks::Locked;

/// A mount that stored no chunk for this time is slow or dead.
const STALL_TIMEOUT: Duration = Duration::from_secs(3);
/// Longest time to wait for one chunk.
const MAX_CHUNK_WAIT: Duration = Duration::from_secs(15);
/// Its claims are not waited for during this time.
const IGNORE_TIME: Duration = Duration::from_secs(30);

/// What is known of the mounts that were waited for.
#[derive(Debug, Default)]
pub(super) struct ClaimWaitPolicy {
    holders: Mutex<HashMap<Holder, Seen>>,
}

#[derive(Debug, Default)]
struct Seen {
    last_arrival: Option<Instant>,
    ignored_since: Option<Instant>,
}

impl ClaimWaitPolicy {
    /// Whether to wait for a chunk that the holder has claimed; `asked` is the begin of the wait.
    pub(super) fn may_wait(&self, holder: Holder, asked: Instant) -> bool {
        let mut holders = self.holders.locked();
        let seen = holders.entry(holder).or_default();
        let is_ignored = seen
            .ignored_since
            .is_some_and(|it| it.elapsed() < IGNORE_TIME);
        let since = seen.last_arrival.map_or(asked, |it| it.max(asked));
        let is_over = since.elapsed() >= STALL_TIMEOUT || asked.elapsed() >= MAX_CHUNK_WAIT;
        if is_over && !is_ignored {
            seen.ignored_since = Some(Instant::now());
        }
        !is_ignored && !is_over
    }

    /// A chunk arrived that the holder had claimed.
    pub(super) fn note_arrival(&self, holder: Holder) {
        let seen = Seen {
            last_arrival: Some(Instant::now()),
            ignored_since: None,
        };
        self.holders.locked().insert(holder, seen);
    }
}
