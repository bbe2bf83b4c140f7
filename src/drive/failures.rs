//! The last failure message of each path, which `user.assetfs.why` shows. The history gets each new one.
//!
//! A failure ends
//! - when an operation of the same kind succeeds at the path; a failure of writing, when a handle that has written is closed;
//! - when the path is removed;
//! - when the model that it is about is gone or has another name;
//! - in the list of the latest failures, after a while.
//!
//! Failures of writing and of sending also end when the draft or the job is sent; refusals of other operations do not. Their
//! number is limited: the oldest are dropped first. They are kept in memory; the outbox keeps those that must survive the mount.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use super::history::History;
use super::values::node::Model;
use crate::client::without_error_numbers;
use crate::locks::Locked;

/// Maximum number of messages.
const MAX_KEPT: usize = 2000;

/// Time that a failure stays in the list of the latest.
const LISTED_FOR: Duration = Duration::from_secs(3600);
/// A success that may belong to what failed does not end a younger failure: a program requests several parts of a file at
/// once, and the one that failed explains why the program failed.
const STANDS_FOR: Duration = Duration::from_secs(2);

/// Which kind of operation failed or succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OperationKind {
    /// Lookup and `stat`.
    Look,
    /// Opening a file, for reading alone or for reading and writing, and reading it.
    Read,
    /// Create and rename.
    Name,
    /// Making a link, a pipe or a device. Programs try it and go on without it, so a failure is told by `why` at the path, and not listed.
    Link,
    /// Remove, which also ends all failures below the path.
    Remove,
    /// Opening for writing alone, and writing. A later success does not restore the bytes that were lost.
    Write,
    /// Change of the length, the mode or the times, and reservation of space.
    Change,
    /// A command to a `ctl` file over ioctl(2).
    Command,
    /// Close and `fsync`: making data durable, and sending it.
    Close,
    /// Extended attributes.
    Attribute,
    /// Background work.
    BackgroundWork,
    /// Nothing failed, but something was left out.
    Warning,
}

impl OperationKind {
    /// True if its success ends an earlier failure.
    fn ends(self, failed: OperationKind) -> bool {
        match self {
            OperationKind::Remove => true,
            // If the file cannot be renamed to a backup, programs save in place, which also ends the failure of the rename.
            OperationKind::Close => matches!(
                failed,
                OperationKind::Close
                    | OperationKind::Write
                    | OperationKind::Change
                    | OperationKind::Name
            ),
            OperationKind::Write | OperationKind::BackgroundWork | OperationKind::Warning => false,
            OperationKind::Name => matches!(failed, OperationKind::Name | OperationKind::Link),
            OperationKind::Look
            | OperationKind::Read
            | OperationKind::Link
            | OperationKind::Change
            | OperationKind::Command
            | OperationKind::Attribute => self == failed,
        }
    }

    /// True for an operation that is whole by itself: after a failure, its success is always another try.
    fn is_whole(self) -> bool {
        matches!(self, OperationKind::Name | OperationKind::Command)
    }
}

/// Whether something went wrong, or a wish of the user was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// What should have worked did not.
    Failed,
    /// It cannot be done, and the caller was told so: nothing is lost.
    Refused,
}

/// One failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    /// The path from the top of the drive.
    pub(super) path: String,
    /// The message: what, why, what to do.
    pub(super) why: String,
    /// When it failed.
    pub(super) at: SystemTime,
}

/// The failures of a mount.
#[derive(Default)]
pub(super) struct Failures {
    state: Mutex<FailureLog>,
    /// Number of paths with a failure, read without the lock.
    count: AtomicUsize,
    history: History,
}

#[derive(Default)]
struct FailureLog {
    by_path: HashMap<String, NotedAtPath>,
    /// Oldest first; a path that failed again occurs again.
    order: VecDeque<(u64, String)>,
    next: u64,
}

/// A failure does not make what was left out untrue, so a path can have both.
#[derive(Default)]
struct NotedAtPath {
    failure: Option<Noted>,
    warning: Option<Noted>,
}

impl NotedAtPath {
    fn all(&self) -> impl Iterator<Item = &Noted> {
        self.failure.iter().chain(&self.warning)
    }

    /// Drops what is over. True if something is left.
    fn keep(&mut self, is_over: impl Fn(&Noted) -> bool) -> bool {
        self.failure.take_if(|noted| is_over(noted));
        self.warning.take_if(|noted| is_over(noted));
        self.all().next().is_some()
    }
}

struct Noted {
    number: u64,
    /// The model that it is about. The failure is dropped when this model is gone or renamed.
    model: Option<Model>,
    kind: OperationKind,
    outcome: Outcome,
    why: String,
    at: SystemTime,
    since: Instant,
}

impl FailureLog {
    /// The failure at a position of the order, unless the path failed again later.
    fn at(&self, (number, path): &(u64, String)) -> Option<&Noted> {
        let mut last = self.by_path.get(path)?.all();
        last.find(|last| last.number == *number)
    }

    /// Drops what is over at a path.
    fn end(&mut self, path: &str, is_over: impl Fn(&Noted) -> bool) {
        if let Some(noted) = self.by_path.get_mut(path)
            && !noted.keep(is_over)
        {
            self.by_path.remove(path);
        }
    }
}

/// Whether a path is `top`, or below it.
fn is_in(path: &str, top: &str) -> bool {
    let rest = path.strip_prefix(top.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl Failures {
    pub(super) fn new(history: History) -> Failures {
        Failures {
            history,
            ..Failures::default()
        }
    }

    pub(super) fn history(&self) -> &History {
        &self.history
    }

    /// Stores a message for a path, and the model that it is about, if it is about one.
    pub(super) fn note(
        &self,
        (path, model): (&str, Option<Model>),
        kind: OperationKind,
        outcome: Outcome,
        why: &str,
    ) {
        let why = without_error_numbers(why);
        if !matches!(kind, OperationKind::Warning | OperationKind::Link)
            && self.of(path).as_ref() != Some(&why)
        {
            self.history.operation_failed(path, &why);
        }
        let mut state = self.state.locked();
        let number = state.next;
        state.next += 1;
        state.order.push_back((number, path.to_owned()));
        let noted = Noted {
            number,
            model,
            kind,
            outcome,
            why,
            at: SystemTime::now(),
            since: Instant::now(),
        };
        let at_path = state.by_path.entry(path.to_owned()).or_default();
        match kind {
            OperationKind::Warning => at_path.warning = Some(noted),
            _ => at_path.failure = Some(noted),
        }
        while state.order.len() > MAX_KEPT {
            let Some(oldest) = state.order.pop_front() else {
                break;
            };
            state.end(&oldest.1, |noted| noted.number == oldest.0);
        }
        self.count.store(state.by_path.len(), Ordering::Relaxed);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    /// An operation succeeded at a path: ends a failure of the same kind. `opened` is when its file was opened, if it has one: a
    /// failure from before that belongs to an earlier open.
    pub(super) fn succeeded(&self, path: &str, kind: OperationKind, opened: Option<Instant>) {
        if self.is_empty() {
            return;
        }
        let mut state = self.state.locked();
        let is_over = |failed: &Noted| {
            let is_another_try =
                kind.is_whole() || opened.is_some_and(|opened| failed.since <= opened);
            kind.ends(failed.kind) && (is_another_try || failed.since.elapsed() >= STANDS_FOR)
        };
        if kind == OperationKind::Remove {
            state.by_path.retain(|failed, _| !is_in(failed, path));
        } else {
            state.end(path, is_over);
        }
        self.count.store(state.by_path.len(), Ordering::Relaxed);
    }

    /// Each path at `top` or below it with a failure of a model, and the model. `forget` takes the paths of those that are gone.
    pub(super) fn of_models(&self, top: &str) -> Vec<(String, Model)> {
        let state = self.state.locked();
        let noted = state.by_path.iter();
        let noted = noted.filter(|(path, _)| is_in(path, top));
        let each = noted.flat_map(|(path, at_path)| at_path.all().map(move |noted| (path, noted)));
        let of_models = each.filter_map(|(path, noted)| Some((path.clone(), noted.model?)));
        of_models.collect()
    }

    /// Ends the failures of models that are gone. One that was noted since for another model stays.
    pub(super) fn forget(&self, gone: &[(String, Model)]) {
        let mut state = self.state.locked();
        for (path, model) in gone {
            state.end(path, |noted| noted.model == Some(*model));
        }
        self.count.store(state.by_path.len(), Ordering::Relaxed);
    }

    /// The last failure at a path.
    pub(super) fn of(&self, path: &str) -> Option<String> {
        self.noted(path, |kind| kind != OperationKind::Warning)
    }

    /// What was left out at a path.
    pub(super) fn warning_of(&self, path: &str) -> Option<String> {
        self.noted(path, |kind| kind == OperationKind::Warning)
    }

    fn noted(&self, path: &str, is_asked: impl Fn(OperationKind) -> bool) -> Option<String> {
        let state = self.state.locked();
        let mut noted = state.by_path.get(path)?.all();
        let asked = noted.find(|noted| is_asked(noted.kind))?;
        Some(asked.why.clone())
    }

    /// The last failure in a folder, with the name.
    pub(super) fn last_in(&self, folder: &str) -> Option<String> {
        let prefix = format!("{}/", folder.trim_end_matches('/'));
        let state = self.state.locked();
        let mut latest = state.order.iter().rev();
        latest.find_map(|place| {
            let name = place.1.strip_prefix(&prefix)?;
            let failure = state.at(place)?;
            (!name.contains('/') && failure.kind != OperationKind::Link)
                .then(|| format!("{name}: {}", failure.why))
        })
    }

    /// Ends the failure of a path. What was left out stays: a commit that succeeds may be reported after it.
    pub(super) fn clear(&self, path: &str) {
        self.end_at(path, |kind| kind != OperationKind::Warning);
    }

    /// Background work succeeded at a path: ends an earlier failure of it, and no failure of an operation.
    pub(super) fn clear_background_work(&self, path: &str) {
        self.end_at(path, |kind| kind == OperationKind::BackgroundWork);
    }

    fn end_at(&self, path: &str, is_ended: impl Fn(OperationKind) -> bool) {
        let mut state = self.state.locked();
        state.end(path, |failed| is_ended(failed.kind));
        self.count.store(state.by_path.len(), Ordering::Relaxed);
    }

    /// What failed at a path, and in the folder, has been done after all: ends the failures of writing and of background
    /// work there.
    pub(super) fn answered(&self, path: &str) {
        if self.is_empty() {
            return;
        }
        let mut state = self.state.locked();
        let is_answered = |noted: &Noted| {
            matches!(
                noted.kind,
                OperationKind::Write
                    | OperationKind::Change
                    | OperationKind::Command
                    | OperationKind::Close
                    | OperationKind::BackgroundWork
                    | OperationKind::Warning
            )
        };
        state
            .by_path
            .retain(|failed, noted| !is_in(failed, path) || noted.keep(is_answered));
        self.count.store(state.by_path.len(), Ordering::Relaxed);
    }

    /// The latest ones of the last hour, newest first.
    pub(super) fn latest(&self, outcome: Outcome, count: usize) -> Vec<Failure> {
        let state = self.state.locked();
        let latest = state.order.iter().rev();
        latest
            .filter_map(|place| {
                let failed = state.at(place)?;
                let is_listed = failed.outcome == outcome && failed.kind != OperationKind::Link;
                (is_listed && failed.since.elapsed() < LISTED_FOR).then(|| Failure {
                    path: place.1.clone(),
                    why: failed.why.clone(),
                    at: failed.at,
                })
            })
            .take(count)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::RapidId;

    #[test]
    fn the_last_sentence_of_each_path_is_kept() {
        let failures = Failures::default();
        failures.note(
            ("/rawmodels/chair", None),
            OperationKind::Read,
            Outcome::Failed,
            "first",
        );
        failures.note(
            ("/rawmodels/chair", None),
            OperationKind::Read,
            Outcome::Failed,
            "second",
        );
        failures.note(
            ("/rawmodels/chair/optimize/web.json", None),
            OperationKind::Read,
            Outcome::Failed,
            "deeper",
        );
        assert_eq!(failures.of("/rawmodels/chair").as_deref(), Some("second"));
        assert_eq!(
            failures.last_in("/rawmodels").as_deref(),
            Some("chair: second")
        );
        assert_eq!(failures.last_in("/"), None);
        assert_eq!(failures.latest(Outcome::Failed, 9).len(), 2);
        failures.clear("/rawmodels/chair");
        assert_eq!(failures.last_in("/rawmodels"), None);
    }

    #[test]
    fn what_a_model_was_sent_without_stays_when_its_commit_succeeds() {
        let failures = Failures::default();
        failures.note(
            ("/rawmodels/fan", None),
            OperationKind::Warning,
            Outcome::Failed,
            "sent without wood.png",
        );
        failures.clear("/rawmodels/fan");
        let warning = failures.warning_of("/rawmodels/fan");
        assert_eq!(warning.as_deref(), Some("sent without wood.png"));
    }

    #[test]
    fn what_a_model_was_sent_without_stays_when_a_command_for_it_is_refused() {
        let failures = Failures::default();
        let path = "/rawmodels/fan";
        let (kind, outcome) = (OperationKind::Warning, Outcome::Failed);
        failures.note((path, None), kind, outcome, "sent without wood.png");
        let (kind, outcome) = (OperationKind::Command, Outcome::Refused);
        failures.note((path, None), kind, outcome, "blend is no format");
        assert_eq!(failures.of(path).as_deref(), Some("blend is no format"));
        let listed = failures.latest(Outcome::Failed, 9);
        assert_eq!(listed[0].why, "sent without wood.png");
        failures.succeeded(path, OperationKind::Command, None);
        assert_eq!(failures.of(path), None);
        let warning = failures.warning_of(path);
        assert_eq!(warning.as_deref(), Some("sent without wood.png"));
        failures.answered(path);
        assert!(failures.is_empty());
    }

    #[test]
    fn a_failure_of_a_model_that_is_gone_is_forgotten_and_a_later_one_at_the_path_stays() {
        let failures = Failures::default();
        let gone = Model::Rapid(RapidId(1));
        let note = |path: &str, model| {
            let at = (path, Some(model));
            failures.note(at, OperationKind::Warning, Outcome::Failed, "no");
        };
        note("/rapidmodels/a", gone);
        note("/rapidmodels/b", gone);
        let of_gone = failures.of_models("/");
        assert_eq!(of_gone.len(), 2);
        note("/rapidmodels/a/x.glb", gone);
        note("/rapidmodels/ab", gone);
        assert_eq!(failures.of_models("/rapidmodels/a").len(), 2);
        note("/rapidmodels/b", Model::Rapid(RapidId(2)));
        failures.forget(&of_gone);
        assert_eq!(failures.warning_of("/rapidmodels/a"), None);
        assert!(failures.warning_of("/rapidmodels/b").is_some());
    }

    #[test]
    fn background_work_that_succeeds_ends_its_own_failure_and_no_refusal() {
        let failures = Failures::default();
        let stands = |kind| {
            let at = ("/rawmodels/pair.zip", None);
            failures.note(at, kind, Outcome::Refused, "no");
            failures.clear_background_work("/rawmodels/pair.zip");
            !failures.is_empty()
        };
        assert!(!stands(OperationKind::BackgroundWork));
        for kind in [
            OperationKind::Attribute,
            OperationKind::Write,
            OperationKind::Warning,
        ] {
            assert!(stands(kind), "{kind:?}");
        }
    }

    #[test]
    fn the_oldest_sentences_go_first() {
        let failures = Failures::default();
        for number in 0..MAX_KEPT + 10 {
            failures.note(
                (&format!("/{number}"), None),
                OperationKind::Read,
                Outcome::Failed,
                "no",
            );
        }
        assert_eq!(failures.of("/3"), None);
        assert_eq!(failures.of("/11").as_deref(), Some("no"));
        assert_eq!(failures.state.locked().by_path.len(), MAX_KEPT);
    }

    /// Lets time pass for what failed.
    fn age(failures: &Failures, by: Duration) {
        let mut state = failures.state.locked();
        let failed = state.by_path.values_mut();
        for failed in failed.filter_map(|at_path| at_path.failure.as_mut()) {
            failed.since = failed.since.checked_sub(by).unwrap();
        }
    }

    #[test]
    fn a_success_of_the_same_kind_ends_a_failure() {
        let failures = Failures::default();
        let stands = |failed: OperationKind, done: OperationKind| {
            failures.note(("/presets/x.json", None), failed, Outcome::Failed, "no");
            age(&failures, STANDS_FOR);
            failures.succeeded("/presets/x.json", done, None);
            failures.of("/presets/x.json").is_some()
        };
        for kind in [
            OperationKind::Change,
            OperationKind::Command,
            OperationKind::Look,
            OperationKind::Read,
            OperationKind::Name,
            OperationKind::Close,
            OperationKind::Attribute,
        ] {
            assert!(!stands(kind, kind), "{kind:?}");
        }
        assert!(!stands(OperationKind::Write, OperationKind::Close));
        assert!(
            stands(OperationKind::Write, OperationKind::Write)
                && stands(OperationKind::Close, OperationKind::Look)
        );
        assert!(
            stands(OperationKind::BackgroundWork, OperationKind::Close)
                && !stands(OperationKind::BackgroundWork, OperationKind::Remove)
        );
        assert!(failures.is_empty());
    }

    #[test]
    fn a_success_at_the_same_moment_leaves_the_answer_to_why() {
        let failures = Failures::default();
        failures.note(("/a", None), OperationKind::Read, Outcome::Failed, "no");
        let opened = Instant::now();
        let stands = |failed: OperationKind, done: OperationKind, opened: Option<Instant>| {
            failures.note(("/a", None), failed, Outcome::Failed, "no");
            failures.succeeded("/a", done, opened);
            failures.of("/a").is_some()
        };
        // The parts of one file, and its close.
        let read = OperationKind::Read;
        assert!(stands(read, read, None) && stands(read, read, Some(opened)));
        let (write, close) = (OperationKind::Write, OperationKind::Close);
        assert!(stands(write, close, Some(opened)));
    }

    #[test]
    fn the_next_try_ends_a_failure_however_soon_it_comes() {
        let failures = Failures::default();
        let ended = |failed: OperationKind, done: OperationKind| {
            failures.note(("/a", None), failed, Outcome::Failed, "no");
            failures.succeeded("/a", done, Some(Instant::now()));
            failures.is_empty()
        };
        let (read, write, close) = (
            OperationKind::Read,
            OperationKind::Write,
            OperationKind::Close,
        );
        assert!(ended(read, read), "opened again");
        assert!(ended(write, close) && ended(close, close), "copied again");
        assert!(ended(OperationKind::Name, close), "saved in another way");
        for whole in [OperationKind::Name, OperationKind::Command] {
            failures.note(("/a", None), whole, Outcome::Failed, "no room");
            failures.succeeded("/a", whole, None);
            assert!(failures.is_empty(), "{whole:?}");
        }
    }

    #[test]
    fn what_is_removed_takes_its_failures_along_and_old_ones_leave_the_list() {
        let failures = Failures::default();
        failures.note(("/a", None), OperationKind::Read, Outcome::Failed, "no");
        failures.note(("/a/b", None), OperationKind::Write, Outcome::Failed, "no");
        failures.note(("/ab", None), OperationKind::Write, Outcome::Failed, "no");
        failures.succeeded("/a", OperationKind::Remove, None);
        assert_eq!(failures.latest(Outcome::Failed, 9).len(), 1);
        age(&failures, LISTED_FOR);
        assert!(failures.latest(Outcome::Failed, 9).is_empty() && failures.of("/ab").is_some());
    }

    #[test]
    fn what_was_refused_is_listed_apart_and_what_programs_only_try_is_not_listed() {
        let failures = Failures::default();
        failures.note(
            ("/a", None),
            OperationKind::Close,
            Outcome::Refused,
            "not JSON",
        );
        failures.note(("/b", None), OperationKind::Read, Outcome::Failed, "away");
        failures.note(
            ("/c", None),
            OperationKind::Link,
            Outcome::Refused,
            "no links",
        );
        let listed = |outcome| {
            let latest = failures.latest(outcome, 9).into_iter();
            latest.map(|failure| failure.path).collect::<Vec<_>>()
        };
        assert_eq!(listed(Outcome::Refused), ["/a"]);
        assert_eq!(listed(Outcome::Failed), ["/b"]);
        assert_eq!(failures.of("/c").as_deref(), Some("no links"));
        assert_eq!(failures.last_in("/").as_deref(), Some("b: away"));
    }
}
