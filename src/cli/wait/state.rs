//! The state of a model or a job, as a wait sees it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::super::mounted::{self, ItemReport};
use crate::drive::StatusWord;
use crate::fuse::shell_quoted;

/// How long a text without a job counts as still being written.
const WRITING: Duration = Duration::from_secs(5);

/// How long to wait for a draft that is empty or has missing files: the copy may still be running.
const MISSING_FILES_PATIENCE: Duration = Duration::from_secs(60);

/// The progress of one path.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::cli) enum State {
    Going(StatusWord, String),
    Done(StatusWord, String),
    Failed(StatusWord, String),
}

/// A status, and since when a path has it.
pub(super) struct StatusTimer {
    text: String,
    since: Instant,
    /// When its path was missing first.
    pub(super) gone_since: Option<Instant>,
}

impl StatusTimer {
    pub(super) fn new() -> StatusTimer {
        StatusTimer {
            text: String::new(),
            since: Instant::now(),
            gone_since: None,
        }
    }

    /// The state; a failure if the status will not change without the user.
    pub(super) fn judge(&mut self, state: State) -> State {
        let State::Going(word, text) = state else {
            return state;
        };
        let text = with_advice(&word, text);
        if self.text != text {
            self.since = Instant::now();
            self.text.clone_from(&text);
        }
        match patience_in(&word) {
            Some(Duration::ZERO) => State::Failed(word, text),
            Some(patience) if self.since.elapsed() >= patience => {
                let text = format!(
                    "{text} (this was waited for, {} s long)",
                    patience.as_secs()
                );
                State::Failed(word, text)
            }
            _ => State::Going(word, text),
        }
    }
}

/// Adds what the user has to do, for the statuses that do not say it themselves.
fn with_advice(state: &StatusWord, status: String) -> String {
    match state.advice() {
        Some(advice) => format!("{status}; {advice}"),
        None => status,
    }
}

/// How long to wait in a status that only the user can change; `None` if it changes by itself.
pub(in crate::cli) fn patience_in(state: &StatusWord) -> Option<Duration> {
    match state {
        StatusWord::NeedsFolder | StatusWord::NeedsCommit => Some(Duration::ZERO),
        StatusWord::Draft
        | StatusWord::Incomplete
        | StatusWord::TemporaryName
        | StatusWord::NeedsFiles
        | StatusWord::NoModel => Some(MISSING_FILES_PATIENCE),
        _ => None,
    }
}

pub(super) fn is_job_folder(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name == "optimize" || name == "jobs" || name == "embeds")
        && path.is_dir()
}

/// The state of a model or a job.
pub(in crate::cli) fn state_of(path: &Path) -> Result<State> {
    let subject = job_text(path);
    let path = subject.as_deref().unwrap_or(path);
    match mounted::item_report(path) {
        // The text exists without a job: it was refused, and `why` has the reason, if it was since the mount.
        Ok(Some(report)) if report.state == StatusWord::NotSent => {
            let why = match mounted::why(path)? {
                Some(why) => why,
                None if was_just_written(path) => {
                    let status = "the text is being written".to_owned();
                    return Ok(State::Going(report.state, status));
                }
                None => "no job was made of this text: it is empty, or it was refused before the drive was mounted; write the \
                         whole text again, which sends it or says what is wrong with it"
                    .to_owned(),
            };
            Ok(State::Failed(report.state, format!("failed: {why}")))
        }
        Ok(Some(report)) if report.state == StatusWord::WaitingForModel => {
            Ok(model_of(path, report.status.clone()).unwrap_or_else(|| state_in(report)))
        }
        Ok(Some(report)) => Ok(state_in(report)),
        Ok(None) => match mounted::why(path)? {
            Some(why) => bail!("{}: {why}", shell_quoted(path)),
            None => bail!("{} is neither a model nor a job", shell_quoted(path)),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            bail!("{} does not exist", shell_quoted(path))
        }
        Err(error) => Err(mounted::explain_at(path, error)),
    }
}

/// Whether a program may still be writing a text.
fn was_just_written(text: &Path) -> bool {
    let written = fs::metadata(text).and_then(|it| it.modified());
    written.is_ok_and(|at| at.elapsed().is_ok_and(|age| age < WRITING))
}

/// The state of a job that waits for its model, as far as the model is not ready: what the model needs, the job needs.
/// `None` for a job of several models.
fn model_of(job: &Path, job_status: String) -> Option<State> {
    let folder = job.parent()?;
    let model = folder.parent()?;
    if folder.file_name()? == "jobs" {
        return None;
    }
    match state_in(mounted::item_report(model).ok()??) {
        State::Done(..) => None,
        State::Going(word, text) => Some(State::Going(word, format!("waiting for model: {text}"))),
        // The status of the job says that its model failed, and what to do.
        State::Failed(word, _) => Some(State::Failed(word, job_status)),
    }
}

/// The text of the job that a path means: the path is that of the text (`web.json`), of its result (`web`) or of its status file.
pub(super) fn job_text(path: &Path) -> Option<PathBuf> {
    let is_in_job_folder = path.parent().is_some_and(is_job_folder);
    Some(path.with_extension("json")).filter(|text| is_in_job_folder && text.exists())
}

/// The state of a report, for a wait.
fn state_in(report: ItemReport) -> State {
    let ItemReport { state, status } = report;
    match state {
        StatusWord::Complete | StatusWord::Done => State::Done(state, status),
        StatusWord::Failed | StatusWord::Unknown => State::Failed(state, status),
        going => State::Going(going, status),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(state: StatusWord) -> State {
        let status = "in any words".to_owned();
        StatusTimer::new().judge(state_in(ItemReport { state, status }))
    }

    #[test]
    fn what_is_over_and_what_only_a_person_can_change_is_not_waited_for() {
        let mut counts = [0; 3];
        for word in StatusWord::KNOWN {
            let state = StatusWord::from_word(word);
            let judged = judged(state.clone());
            let is_as_expected = match state {
                StatusWord::Complete | StatusWord::Done => matches!(judged, State::Done(..)),
                StatusWord::Failed
                | StatusWord::Unknown
                | StatusWord::NeedsFolder
                | StatusWord::NeedsCommit => matches!(judged, State::Failed(..)),
                _ => matches!(judged, State::Going(..)),
            };
            assert!(is_as_expected, "{word}: {judged:?}");
            counts[match judged {
                State::Done(..) => 0,
                State::Failed(..) => 1,
                State::Going(..) => 2,
            }] += 1;
        }
        assert_eq!(counts, [2, 4, StatusWord::KNOWN.len() - 6]);
    }

    #[test]
    fn a_draft_that_waits_for_its_owner_says_what_to_do() {
        for (word, advice) in [
            (StatusWord::NoModel, "copy the model file in"),
            (StatusWord::Incomplete, "repeat the copy"),
        ] {
            let State::Going(_, text) = judged(word.clone()) else {
                panic!("{word} is over");
            };
            assert!(text.contains(advice), "{word}: {text}");
        }
        let State::Going(_, text) = judged(StatusWord::Draft) else {
            panic!("a draft is over");
        };
        assert!(!text.contains(';'), "just written: {text}");
    }

    #[test]
    fn what_stays_unfinished_is_waited_for_for_a_while() {
        for (word, patience) in [
            (StatusWord::Incomplete, Some(MISSING_FILES_PATIENCE)),
            (StatusWord::TemporaryName, Some(MISSING_FILES_PATIENCE)),
            (StatusWord::NeedsFiles, Some(MISSING_FILES_PATIENCE)),
            (StatusWord::NoModel, Some(MISSING_FILES_PATIENCE)),
            (StatusWord::Draft, Some(MISSING_FILES_PATIENCE)),
            (StatusWord::BeingWritten, None),
            (StatusWord::MissingFiles, None),
            (StatusWord::Uploading, None),
            (StatusWord::Other("of_a_later_version".to_owned()), None),
        ] {
            assert_eq!(patience_in(&word), patience, "{word}");
        }
    }
}
