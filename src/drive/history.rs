//! What happened on a drive, for the event log of its account: copies, uploads, ends of work, failures, deletions, and times
//! without the service. Events are sent without waiting; those that the full queue does not take are counted in the next one.
//!
//! `/.assetfs/events` is for programs that follow a drive now and begin with what they see; this is for questions about
//! yesterday, so it also holds what failed, and nothing has to be open for it.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::locks::Locked;
use crate::outbox::{DraftId, JobFolder, StatusWord};
use crate::wire::Timestamp;

/// Maximum number of failed operations that are logged in a period: without the service, `ls -R` fails for each folder.
const MAX_FAILURES: u32 = 100;
const PERIOD: Duration = Duration::from_secs(60);
/// Debounce: the same failure is logged once within this time. A command reports it for its object and for the `ctl`
/// file, and the outbox reports it for the draft. At most `MAX_COMPARED` failures are compared.
const SAME_FAILURE: Duration = Duration::from_secs(10);
const MAX_COMPARED: usize = 32;

/// One event, as a line of JSON. Programs read it, so fields are added, never renamed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HistoryEvent {
    /// In UTC.
    pub time: String,
    pub kind: HistoryKind,
    /// The account's service and owner. The writer of the log fills in this field and `mount`.
    #[serde(default)]
    pub account: String,
    #[serde(default)]
    pub mount: String,
    /// Path from the top of the drive; empty if it is about the whole drive.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The service's id, once known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// The state of a draft, a model or a job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<StatusWord>,
    /// The state as one line for people, or why something failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How many events before this one are missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HistoryKind {
    /// The drive was mounted.
    Mounted,
    /// The drive was unmounted.
    Unmounted,
    /// A copy into the drive, or a job, has begun.
    Begun,
    /// A draft, model or job has another state.
    #[default]
    State,
    /// The service has accepted a model.
    Uploaded,
    /// A model is complete, or a job is done.
    Completed,
    Failed,
    /// A draft or the text of a job was removed.
    Removed,
    /// A source model or an optimized model was deleted on the service.
    Deleted,
    Offline,
    Online,
}

/// Numbers of events since the drive was mounted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HistoryCounts {
    pub uploads: u64,
    pub failures: u64,
    pub deletions: u64,
}

/// A draft or a job.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Subject {
    Draft(DraftId),
    Job(JobFolder, String),
}

/// The state of a draft or a job, as users see it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Standing {
    pub(super) path: String,
    pub(super) id: Option<u64>,
    pub(super) state: StatusWord,
    /// The state as one line.
    pub(super) status: String,
}

#[derive(Debug, Default)]
pub(super) struct History {
    to: Option<mpsc::Sender<HistoryEvent>>,
    uploads: AtomicU64,
    failures: AtomicU64,
    deletions: AtomicU64,
    memory: Mutex<HistoryMemory>,
}

#[derive(Debug, Default)]
struct HistoryMemory {
    standings: HashMap<Subject, Standing>,
    lost: u64,
    period: Option<(Instant, u32)>,
    failed_lately: VecDeque<FailedLately>,
}

#[derive(Debug)]
struct FailedLately {
    at: Instant,
    place: String,
    reason: String,
}

impl HistoryMemory {
    /// Whether the same failure was noted in the last [`SAME_FAILURE`], for this path, a folder above it or a file below it.
    /// Notes it if not.
    fn is_noted(&mut self, path: &str, reason: &str) -> bool {
        let place = path.strip_suffix("/.assetfs/ctl").unwrap_or(path);
        let failed = &mut self.failed_lately;
        failed.retain(|it| it.at.elapsed() < SAME_FAILURE);
        let is_same = |it: &FailedLately| {
            let places = is_at_or_below(place, &it.place) || is_at_or_below(&it.place, place);
            places && (it.reason.contains(reason) || reason.contains(&it.reason))
        };
        if failed.iter().any(is_same) {
            return true;
        }
        failed.truncate(MAX_COMPARED - 1);
        failed.push_front(FailedLately {
            at: Instant::now(),
            place: place.to_owned(),
            reason: reason.to_owned(),
        });
        false
    }
}

fn is_at_or_below(path: &str, folder: &str) -> bool {
    let rest = path.strip_prefix(folder);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl History {
    pub(super) fn new(to: Option<mpsc::Sender<HistoryEvent>>) -> History {
        History {
            to,
            ..History::default()
        }
    }

    pub(super) fn counts(&self) -> HistoryCounts {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        HistoryCounts {
            uploads: read(&self.uploads),
            failures: read(&self.failures),
            deletions: read(&self.deletions),
        }
    }

    /// Adds an event with the present time, unless it is a failure that was noted in the last [`SAME_FAILURE`].
    pub(super) fn note(&self, event: HistoryEvent) {
        if event.kind == HistoryKind::Failed {
            let reason = event.reason.as_deref().unwrap_or_default();
            if self.memory.locked().is_noted(&event.path, reason) {
                return;
            }
        }
        let count = match event.kind {
            HistoryKind::Uploaded => Some(&self.uploads),
            HistoryKind::Failed => Some(&self.failures),
            HistoryKind::Deleted => Some(&self.deletions),
            _ => None,
        };
        if let Some(count) = count {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let Some(to) = &self.to else { return };
        let lost = std::mem::take(&mut self.memory.locked().lost);
        let event = HistoryEvent {
            time: Timestamp::now().iso_micros(),
            lost: (lost > 0).then_some(lost),
            ..event
        };
        if to.try_send(event).is_err() {
            self.memory.locked().lost += lost + 1;
        }
    }

    /// Adds the failure of an operation at a path, up to [`MAX_FAILURES`] in a period.
    pub(super) fn operation_failed(&self, path: &str, why: &str) {
        let is_too_much = {
            let mut memory = self.memory.locked();
            let (since, count) = memory.period.get_or_insert((Instant::now(), 0));
            if since.elapsed() >= PERIOD {
                (*since, *count) = (Instant::now(), 0);
            }
            *count += 1;
            let is_too_much = *count > MAX_FAILURES;
            memory.lost += u64::from(is_too_much);
            is_too_much
        };
        if is_too_much {
            self.failures.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.note(HistoryEvent {
            kind: HistoryKind::Failed,
            path: path.to_owned(),
            reason: Some(why.to_owned()),
            ..HistoryEvent::default()
        });
    }

    /// Stores the state of a subject from an earlier mount. This is no event.
    pub(super) fn remember(&self, subject: Subject, standing: Standing) {
        self.memory.locked().standings.insert(subject, standing);
    }

    /// Adds an event if the state of a subject has changed. `None` if the subject is gone.
    pub(super) fn compare(&self, subject: Subject, now: Option<Standing>) {
        let before = {
            let standings = &mut self.memory.locked().standings;
            match (&now, standings.get_mut(&subject)) {
                (Some(now), Some(known)) if is_transient(&now.state) => {
                    (known.path, known.id) = (now.path.clone(), now.id);
                    return;
                }
                (Some(now), _) => standings.insert(subject, now.clone()),
                (None, _) => standings.remove(&subject),
            }
        };
        if let Some(event) = difference(before, now) {
            self.note(event);
        }
    }
}

/// States that come and go with each file of a copy: they are no events.
fn is_transient(state: &StatusWord) -> bool {
    use StatusWord::{BeingWritten, Draft, Settling, TemporaryName};
    matches!(state, Draft | BeingWritten | TemporaryName | Settling)
}

fn difference(before: Option<Standing>, now: Option<Standing>) -> Option<HistoryEvent> {
    let (kind, shown) = match (before, now) {
        (None, Some(now)) => (HistoryKind::Begun, now),
        // A draft that became a model is dropped when it is no longer needed; that is no event.
        (Some(before), None) if before.id.is_none() => (HistoryKind::Removed, before),
        (Some(before), Some(now)) if before.state != now.state => {
            let kind = match now.state {
                StatusWord::Complete | StatusWord::Done => HistoryKind::Completed,
                StatusWord::Failed => HistoryKind::Failed,
                _ => HistoryKind::State,
            };
            (kind, now)
        }
        _ => return None,
    };
    Some(HistoryEvent {
        kind,
        path: shown.path,
        id: shown.id,
        state: Some(shown.state),
        reason: Some(shown.status),
        ..HistoryEvent::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(state: StatusWord, id: Option<u64>) -> Option<Standing> {
        Some(Standing {
            path: "/rawmodels/chair".to_owned(),
            id,
            status: state.to_string(),
            state,
        })
    }

    fn kinds(events: &mut mpsc::Receiver<HistoryEvent>) -> Vec<HistoryKind> {
        std::iter::from_fn(|| events.try_recv().ok())
            .map(|event| event.kind)
            .collect()
    }

    #[test]
    fn each_state_of_a_draft_is_one_event() {
        let (to, mut events) = mpsc::channel(16);
        let history = History::new(Some(to));
        let see = |state, id| {
            history.compare(Subject::Draft(DraftId(1)), standing(state, id));
        };
        see(StatusWord::Draft, None);
        see(StatusWord::NeedsFiles, None);
        see(StatusWord::BeingWritten, None);
        see(StatusWord::NeedsFiles, None);
        see(StatusWord::Settling, None);
        see(StatusWord::Uploading, None);
        see(StatusWord::Failed, None);
        see(StatusWord::Complete, Some(7));
        history.compare(Subject::Draft(DraftId(1)), None);
        let expected = [
            HistoryKind::Begun,
            HistoryKind::State,
            HistoryKind::State,
            HistoryKind::Failed,
            HistoryKind::Completed,
        ];
        assert_eq!(kinds(&mut events), expected);
        see(StatusWord::Settling, None);
        history.compare(Subject::Draft(DraftId(1)), None);
        assert_eq!(
            kinds(&mut events),
            [HistoryKind::Begun, HistoryKind::Removed]
        );
        assert_eq!(history.counts().failures, 1);
    }

    #[test]
    fn one_failure_of_a_command_is_one_event_and_counts_once() {
        let (to, mut events) = mpsc::channel(16);
        let history = History::new(Some(to));
        let why = "the upload failed: no room; `assetfs retry` repeats it";
        let mut failed = standing(StatusWord::Failed, None);
        failed.as_mut().unwrap().status = "no room".to_owned();
        let draft = Subject::Draft(DraftId(1));
        history.remember(
            draft.clone(),
            standing(StatusWord::Uploading, None).unwrap(),
        );
        history.compare(draft, failed);
        history.operation_failed("/rawmodels/chair", why);
        history.operation_failed("/rawmodels/chair/.assetfs/ctl", why);
        history.operation_failed("/rawmodels/.assetfs/ctl", why);
        assert_eq!(kinds(&mut events), [HistoryKind::Failed]);
        history.operation_failed("/rawmodels/chairs", why);
        history.operation_failed("/rawmodels/chair", "it is empty");
        assert_eq!(kinds(&mut events), [HistoryKind::Failed; 2]);
        assert_eq!(history.counts().failures, 3);
    }

    #[test]
    fn what_finds_no_room_is_counted_in_the_next_event() {
        let (to, mut events) = mpsc::channel(1);
        let history = History::new(Some(to));
        for _ in 0..3 {
            history.note(HistoryEvent::default());
        }
        assert_eq!(events.try_recv().unwrap().lost, None);
        history.note(HistoryEvent::default());
        assert_eq!(events.try_recv().unwrap().lost, Some(2));
    }

    #[test]
    fn a_flood_of_failed_operations_is_cut_and_counted() {
        let (to, mut events) = mpsc::channel(1000);
        let history = History::new(Some(to));
        for number in 0..MAX_FAILURES + 5 {
            history.operation_failed(&format!("/{number}"), "no answer");
        }
        assert_eq!(kinds(&mut events).len(), MAX_FAILURES as usize);
        assert_eq!(history.counts().failures, u64::from(MAX_FAILURES) + 5);
        history.note(HistoryEvent::default());
        assert_eq!(events.try_recv().unwrap().lost, Some(5));
    }
}
