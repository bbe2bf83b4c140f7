//! Full disks, and drives whose process has ended. Work that one of them has stopped is not recorded as a failure of the model:
//! it is tried again after pauses that get longer, if the disk of the results has room then. No other work begins before that.

use std::path::Path;
use std::time::Duration;

use anyhow::Error;
use tokio::time::Instant;

use super::super::exit::sentence;
use super::super::mounted::has_drive_ended;
use crate::backoff::Backoff;
use crate::disk_room::{check_room, is_disk_full};

/// The pauses between two tries double from the first to the second.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// Why there is no result of a model and a preset.
#[derive(Debug, Clone)]
pub(super) enum NotMade {
    Failed(String),
    /// A disk is full or cannot be written, which may be the disk that a drive keeps its files on; or the process of the drive has
    /// ended.
    NoRoom(String),
}

impl NotMade {
    /// `folder` is where the results would be; it need not be there.
    pub(super) fn of(error: &Error, folder: &Path) -> NotMade {
        let why = sentence(error);
        match is_no_room(error, folder.parent().unwrap_or(folder)) {
            true => NotMade::NoRoom(why),
            false => NotMade::Failed(why),
        }
    }
}

/// Whether an error was caused by a disk, or by a drive whose process has ended. Then it does not mean that the model is bad.
pub(super) fn is_no_room(error: &Error, folder: &Path) -> bool {
    is_disk_full(error.as_ref()) || has_drive_ended(error) || check_room(folder).is_err()
}

/// The wait for room. It is over when results have come to their place.
#[derive(Debug)]
pub(super) struct RoomWait {
    since: Instant,
    /// `None` while the work is tried again.
    next_try: Option<Instant>,
    pauses: Backoff,
    /// What the last try met.
    why: String,
}

impl RoomWait {
    pub(super) fn new(why: String) -> RoomWait {
        let mut pauses = Backoff::doubling(PAUSES.0, PAUSES.1);
        let now = Instant::now();
        RoomWait {
            since: now,
            next_try: Some(now + pauses.next_pause()),
            pauses,
            why,
        }
    }

    /// Notes that there is still no room. Models that were begun together are one try.
    pub(super) fn note(&mut self, why: String) {
        self.why = why;
        if self.next_try.is_none() {
            self.next_try = Some(Instant::now() + self.pauses.next_pause());
        }
    }

    /// Whether work may begin: a pause is over, and the disk of `folder` has room.
    pub(super) fn may_try(&mut self, folder: &Path) -> bool {
        let Some(due) = self.next_try else {
            return true;
        };
        let now = Instant::now();
        if due > now {
            return false;
        }
        let has_room = check_room(folder).is_ok();
        self.next_try = (!has_room).then(|| now + PAUSES.0);
        has_room
    }

    pub(super) fn next_try(&self) -> Option<Instant> {
        self.next_try
    }

    /// What it waits for, if it has lasted so long and is not tried just now.
    pub(super) fn given_up_after(&self, time: Duration) -> Option<&str> {
        let is_long = self.next_try.is_some() && self.since.elapsed() >= time;
        is_long.then_some(&self.why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn tries_pause_for_longer_and_longer_and_models_begun_together_are_one() {
        let folder = tempfile::tempdir().unwrap();
        let mut wait = RoomWait::new("full".to_owned());
        for pause in [1, 2, 4] {
            let pause = Duration::from_secs(pause);
            assert!(!wait.may_try(folder.path()));
            wait.note("full".to_owned());
            assert_eq!(wait.next_try(), Some(Instant::now() + pause));
            tokio::time::advance(pause).await;
            assert!(wait.may_try(folder.path()) && wait.next_try().is_none());
            wait.note("full".to_owned());
            assert!(wait.next_try().is_some());
        }
        let gone = folder.path().join("gone");
        tokio::time::advance(PAUSES.1).await;
        assert!(
            !wait.may_try(&gone),
            "nothing is tried on a disk that is still full"
        );
        assert_eq!(wait.given_up_after(PAUSES.1), Some("full"));
        assert_eq!(wait.given_up_after(2 * PAUSES.1), None);
    }
}
