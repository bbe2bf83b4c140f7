//! When a copy has ended: a pure function of the draft's contents, its writers, and the time.
//!
//! [`readiness`](super::readiness::readiness) checks the content only, for a commit by command; [`verdict`] adds the
//! quiet time that an automatic commit waits for. Reads no file and no clock.

use std::time::Duration;

use crate::outbox::drafts::info::DraftKind;
use crate::outbox::drafts::settle::readiness::{DraftFacts, Obstacle, readiness, warning_for};
use crate::outbox::status::ItemStatus;
use assetfs_formats::wholeness;

/// When a draft last changed and whether its writers have ended. Times count from any fixed point on the monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriterState {
    /// The last change of anything in the draft.
    pub last_change: Duration,
    /// When all writing processes were first seen to have ended.
    pub writers_ended: Option<Duration>,
    /// The times of the folder were set after the last change of content, as tools do at the end of a copy.
    pub folder_times_set: bool,
}

/// The quiet times of the rule; all scale with the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettleTimes {
    /// References prove that all files are there, and the writers have ended or set the folder's times.
    pub referenced_ended: Duration,
    /// A loose file to which nobody appends ([`wholeness::is_final_when_whole`]), and the writers have ended.
    pub loose_ended: Duration,
    /// References prove that all files are there, and a writer still runs.
    pub referenced_alive: Duration,
    /// Nothing proves that all files are there, and the writers have ended or set the folder's times.
    pub other_ended: Duration,
    /// Nothing proves that all files are there, and a writer still runs.
    pub other_alive: Duration,
    /// Added while a referenced file is missing, or a model would not be read.
    pub missing: Duration,
}

impl SettleTimes {
    /// The times for a given first time: 2 s gives 2, 2, 5, 15, 60 and 60 s.
    pub fn scaled(settle: Duration) -> SettleTimes {
        SettleTimes {
            referenced_ended: settle,
            loose_ended: settle,
            referenced_alive: settle * 5 / 2,
            other_ended: settle * 15 / 2,
            other_alive: settle * 30,
            missing: settle * 30,
        }
    }

    fn quiet_for(&self, references_tell: bool, ended: bool) -> Duration {
        match (references_tell, ended) {
            (true, true) => self.referenced_ended,
            (true, false) => self.referenced_alive,
            (false, true) => self.other_ended,
            (false, false) => self.other_alive,
        }
    }
}

/// What to do with a draft now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The copy has ended: send it.
    Ready {
        /// A warning for the user.
        warning: Option<String>,
    },
    /// Nothing is missing but the quiet time.
    WaitUntil {
        /// When to check again if nothing changes.
        at: Duration,
        status: ItemStatus,
        /// Missing files that the model refers to.
        missing: Vec<String>,
    },
    /// The draft waits for a change or a command.
    Blocked {
        status: ItemStatus,
        /// The files that the model names and that are not there.
        missing: Vec<String>,
    },
}

/// Whether the copy has ended.
pub fn verdict(
    facts: &DraftFacts,
    writer_state: &WriterState,
    times: &SettleTimes,
    now: Duration,
) -> Verdict {
    let content = match readiness(facts) {
        Ok(content) => content,
        Err(obstacle) => {
            return Verdict::Blocked {
                status: obstacle.status(),
                missing: match obstacle {
                    Obstacle::Lacks(missing) => missing,
                    _ => Vec::new(),
                },
            };
        }
    };
    if let Some(status) = facts.held_for_command() {
        return Verdict::Blocked {
            status,
            missing: content.missing,
        };
    }
    let ended = writer_state.folder_times_set || writer_state.writers_ended.is_some();
    let from = match writer_state.writers_ended {
        Some(at) if !writer_state.folder_times_set => writer_state.last_change.max(at),
        _ => writer_state.last_change,
    };
    let is_whole_loose_file = facts.kind == DraftKind::LooseFile
        && writer_state.writers_ended.is_some()
        && facts
            .files
            .iter()
            .all(|file| wholeness::is_final_when_whole(&file.path));
    let quiet = from
        + match is_whole_loose_file {
            true => times.loose_ended,
            false => times.quiet_for(content.references_tell, ended),
        };
    let waits_for = match (&content.several, content.missing.is_empty()) {
        (_, false) => Some(ItemStatus::MissingFiles {
            missing: content.missing.clone(),
        }),
        (Some(several), true) => Some(ItemStatus::SeveralModels {
            what: several.sentence(),
        }),
        (None, true) => None,
    };
    let warning = warning_for(&content);
    let (at, status) = match waits_for {
        Some(status) => (quiet + times.missing, status),
        None => (quiet, settling(quiet, now)),
    };
    if now >= at {
        return Verdict::Ready { warning };
    }
    let missing = content.missing;
    Verdict::WaitUntil {
        at,
        status,
        missing,
    }
}

fn settling(until: Duration, now: Duration) -> ItemStatus {
    let left = until.saturating_sub(now);
    ItemStatus::Settling {
        seconds: left.as_millis().div_ceil(1000).max(1) as u64,
    }
}

#[cfg(test)]
mod tests;
