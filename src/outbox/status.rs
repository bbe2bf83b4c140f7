//! The status of a draft, model or job. [`ItemStatus`] is the data; programs read its [`StatusWord`], users its
//! sentence (`Display`), which begins with that word and is only made where it is shown.

use std::fmt;

use assetfs_formats::printable::printable;

use crate::outbox::ids::JobFolder;
use crate::wire::{UploadStatus, open_words};

open_words! {
    /// The status as one word. `docs/semantics.md` lists the words, which are never renamed.
    StatusWord {
        // Drafts
        Draft = "draft",
        NoModel = "no_model",
        NeedsFolder = "needs_folder",
        NeedsCommit = "needs_commit",
        BeingWritten = "being_written",
        TemporaryName = "temporary_name",
        Incomplete = "incomplete",
        NeedsFiles = "needs_files",
        MissingFiles = "missing_files",
        SeveralModels = "several_models",
        Settling = "settling",
        Waiting = "waiting",
        // Models
        Uploading = "uploading",
        Importing = "importing",
        Complete = "complete",
        // Jobs and optimized models
        NotSent = "not_sent",
        WaitingForModel = "waiting_for_model",
        Queued = "queued",
        Running = "running",
        Done = "done",
        Unknown = "unknown",
        // All
        Failed = "failed",
    }
}

impl StatusWord {
    /// True for a draft that is not sent because something is missing or in the way.
    pub fn is_held_up(&self) -> bool {
        matches!(
            self,
            StatusWord::NeedsFolder
                | StatusWord::Incomplete
                | StatusWord::NeedsFiles
                | StatusWord::MissingFiles
                | StatusWord::SeveralModels
                | StatusWord::Waiting
        )
    }

    /// What the user can do, for the states whose line does not say it.
    pub fn advice(&self) -> Option<&'static str> {
        match self {
            StatusWord::NoModel => Some("copy the model file in, or remove the folder"),
            StatusWord::Incomplete => {
                Some("repeat the copy, or upload it as it is with `assetfs commit --force`")
            }
            _ => None,
        }
    }
}

/// The status of a draft, a model or a job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ItemStatus {
    /// A draft that was not looked at yet.
    #[default]
    Draft,
    /// A draft without a file that is sent.
    Empty,
    /// A draft with files, but no model file.
    NoModel,
    /// A loose file that is never sent alone; `why` tells the reason.
    NeedsFolder { why: String },
    /// A draft with a version control folder, which is only sent by command.
    NeedsCommit { folder: String },
    /// A draft that is a new version of a model, which is only sent by command.
    NewVersion { name: String },
    /// A file of the draft is open for writing.
    BeingWritten { path: String },
    /// A file of the draft has the temporary name of a copy.
    TemporaryName { path: String },
    /// A file of the draft is incomplete; `what` tells which and how.
    Incomplete { what: String },
    /// Files are missing without which the draft is not sent automatically.
    NeedsFiles { missing: Vec<String> },
    /// Files are missing; the draft is sent without them after a while.
    MissingFiles { missing: Vec<String> },
    /// Several models, of which one is read; the draft is sent as one model after a while.
    SeveralModels { what: String },
    /// The draft is complete, and is sent if nothing changes for this time.
    Settling { seconds: u64 },
    /// The upload is interrupted. It is retried automatically.
    Waiting { obstacle: String },
    /// The files are being sent.
    Uploading {
        percent: u8,
        obstacle: Option<String>,
    },
    /// The service works on the model.
    Importing {
        step: UploadStatus,
        percent: Option<u8>,
        obstacle: Option<String>,
    },
    /// The service has the model.
    Complete,
    /// The text of a job that was not submitted.
    NotSent,
    /// The job is sent once its models are ready.
    WaitingForModel { folder: JobFolder },
    /// The model of the job failed; the job is sent if the model becomes complete after all.
    WaitingForFailedModel { why: String },
    /// The service has the job, or it is being sent.
    Queued { obstacle: Option<String> },
    /// The service works on the job.
    Running {
        percent: u8,
        /// About how long it still takes, if earlier jobs tell.
        seconds_left: Option<u64>,
    },
    /// The result of the job exists.
    Done,
    /// It is unknown whether the service has the job. It is not sent again automatically.
    Unknown { folder: JobFolder },
    /// It failed, and the user has to act.
    Failed { reason: String },
    /// A state of the service that this version does not know.
    Other { word: String },
}

impl ItemStatus {
    /// The status of a model that the service imports. `progress` is the percentage that the service reports; 0 and
    /// 100 carry no information and are left out.
    pub fn importing(step: &UploadStatus, progress: Option<f64>) -> ItemStatus {
        let shown = progress.filter(|percent| *percent > 0.0 && *percent < 100.0);
        ItemStatus::Importing {
            step: match step {
                UploadStatus::Other(word) if word.is_empty() => UploadStatus::Analysing,
                step => step.clone(),
            },
            percent: shown.map(|percent| percent as u8),
            obstacle: None,
        }
    }

    /// Adds the obstacle, if this status has one.
    pub fn with_obstacle(mut self, found: Option<String>) -> ItemStatus {
        if let ItemStatus::Uploading { obstacle, .. } | ItemStatus::Importing { obstacle, .. } =
            &mut self
            && found.is_some()
        {
            *obstacle = found;
        }
        self
    }

    /// Whether it waits for something that the status names.
    pub fn has_obstacle(&self) -> bool {
        match self {
            ItemStatus::Waiting { .. } => true,
            ItemStatus::Uploading { obstacle, .. }
            | ItemStatus::Importing { obstacle, .. }
            | ItemStatus::Queued { obstacle } => obstacle.is_some(),
            _ => false,
        }
    }

    /// The state without its data.
    pub fn word(&self) -> StatusWord {
        match self {
            ItemStatus::Draft | ItemStatus::Empty => StatusWord::Draft,
            ItemStatus::NoModel => StatusWord::NoModel,
            ItemStatus::NeedsFolder { .. } => StatusWord::NeedsFolder,
            ItemStatus::NeedsCommit { .. } | ItemStatus::NewVersion { .. } => {
                StatusWord::NeedsCommit
            }
            ItemStatus::BeingWritten { .. } => StatusWord::BeingWritten,
            ItemStatus::TemporaryName { .. } => StatusWord::TemporaryName,
            ItemStatus::Incomplete { .. } => StatusWord::Incomplete,
            ItemStatus::NeedsFiles { .. } => StatusWord::NeedsFiles,
            ItemStatus::MissingFiles { .. } => StatusWord::MissingFiles,
            ItemStatus::SeveralModels { .. } => StatusWord::SeveralModels,
            ItemStatus::Settling { .. } => StatusWord::Settling,
            ItemStatus::Waiting { .. } => StatusWord::Waiting,
            ItemStatus::Uploading { .. } => StatusWord::Uploading,
            ItemStatus::Importing {
                step: UploadStatus::Incomplete,
                ..
            } => StatusWord::Uploading,
            ItemStatus::Importing { .. } => StatusWord::Importing,
            ItemStatus::Complete => StatusWord::Complete,
            ItemStatus::NotSent => StatusWord::NotSent,
            ItemStatus::WaitingForModel { .. } | ItemStatus::WaitingForFailedModel { .. } => {
                StatusWord::WaitingForModel
            }
            ItemStatus::Queued { .. } => StatusWord::Queued,
            ItemStatus::Running { .. } => StatusWord::Running,
            ItemStatus::Done => StatusWord::Done,
            ItemStatus::Unknown { .. } => StatusWord::Unknown,
            ItemStatus::Failed { .. } => StatusWord::Failed,
            ItemStatus::Other { word } => StatusWord::Other(word.clone()),
        }
    }

    /// About how many seconds it still takes, if that is known.
    pub fn seconds_left(&self) -> Option<u64> {
        match self {
            ItemStatus::Running { seconds_left, .. } => *seconds_left,
            _ => None,
        }
    }

    /// The progress of the present step, if it is known.
    pub fn percent(&self) -> Option<u8> {
        match self {
            ItemStatus::Uploading { percent, .. } | ItemStatus::Running { percent, .. } => {
                Some(*percent)
            }
            ItemStatus::Importing { percent, .. } => *percent,
            _ => None,
        }
    }
}

impl fmt::Display for ItemStatus {
    /// One line, printable whatever the names in it are. It begins with the word of the state, in which spaces replace `_`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&printable(&Unescaped(self).to_string()))
    }
}

/// The status line of a draft without files to upload.
const EMPTY: &str = "draft: nothing to upload yet; copy a model into it, or remove it";

/// The line with names as they are.
struct Unescaped<'a>(&'a ItemStatus);

impl fmt::Display for Unescaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ItemStatus::Draft => f.write_str("draft"),
            ItemStatus::Empty => f.write_str(EMPTY),
            ItemStatus::NoModel => f.write_str("no model: there is no model file yet"),
            ItemStatus::NeedsFolder { why } => write!(f, "needs folder: {why}"),
            ItemStatus::NeedsCommit { folder } => write!(
                f,
                "needs commit: contains {folder}, so it is sent by `assetfs commit` only"
            ),
            ItemStatus::NewVersion { name } => write!(
                f,
                "needs commit: a new version of {name}, which `assetfs replace` or `assetfs commit` sends"
            ),
            ItemStatus::BeingWritten { path } => write!(f, "being written: {path}"),
            ItemStatus::TemporaryName { path } => write!(
                f,
                "temporary name: {path} is a temporary file of a copy; remove it when that is over"
            ),
            ItemStatus::Incomplete { what } => write!(f, "incomplete: {what}"),
            ItemStatus::NeedsFiles { missing } => write!(
                f,
                "needs files: {}; it is sent once all files are there, or by `assetfs commit --force`",
                first_and_more(missing)
            ),
            ItemStatus::MissingFiles { missing } => {
                write!(f, "missing files: {}", first_and_more(missing))
            }
            ItemStatus::SeveralModels { what } => {
                write!(f, "several models, sent as one after a while: {what}")
            }
            ItemStatus::Settling { seconds } => write!(f, "settling {seconds} s"),
            ItemStatus::Waiting { obstacle } => write!(f, "waiting ({obstacle})"),
            ItemStatus::Uploading { percent, obstacle } => {
                write!(f, "uploading {percent}%{}", in_brackets(obstacle))
            }
            ItemStatus::Importing {
                step,
                percent,
                obstacle,
            } => write!(
                f,
                "{}{}",
                import_line(step, *percent),
                in_brackets(obstacle)
            ),
            ItemStatus::Complete => f.write_str("complete"),
            ItemStatus::NotSent => f.write_str("not sent"),
            ItemStatus::WaitingForModel { folder } => f.write_str(awaited_by(folder)),
            ItemStatus::WaitingForFailedModel { why } => {
                write!(f, "waiting for model, which failed: {why}")
            }
            ItemStatus::Queued { obstacle: None } => f.write_str("queued"),
            ItemStatus::Queued {
                obstacle: Some(obstacle),
            } => write!(f, "queued ({obstacle}; retried automatically)"),
            ItemStatus::Running {
                percent,
                seconds_left,
            } => write!(f, "running {percent}%{}", time_left(*seconds_left)),
            ItemStatus::Done => f.write_str("done"),
            ItemStatus::Unknown { folder } => write!(
                f,
                "unknown: the service may or may not have it; `assetfs run` sends it again and {}",
                cost_of_sending_again(folder)
            ),
            ItemStatus::Failed { reason } => write!(f, "failed: {reason}"),
            ItemStatus::Other { word } => f.write_str(word),
        }
    }
}

/// The service's own word for the step says nothing to a user.
fn import_line(step: &UploadStatus, percent: Option<u8>) -> String {
    match (step, percent) {
        (UploadStatus::Incomplete, _) => "uploading: not all of its files are there yet".to_owned(),
        (_, Some(percent)) => format!("importing {percent}%"),
        (_, None) => "importing".to_owned(),
    }
}

fn awaited_by(folder: &JobFolder) -> &'static str {
    match folder {
        JobFolder::Optimize(_) | JobFolder::Embeds(_) => {
            "waiting for model: sent once it is complete"
        }
        JobFolder::RapidEmbeds(_) => "waiting for model: sent once the optimized model is done",
        JobFolder::Multi => "waiting for model: sent once all models are complete",
    }
}

fn cost_of_sending_again(folder: &JobFolder) -> &'static str {
    match folder {
        JobFolder::Embeds(_) | JobFolder::RapidEmbeds(_) => "may make a second embed",
        JobFolder::Optimize(_) | JobFolder::Multi => "pays again",
    }
}

/// The time that is left, as exact as an estimate is; empty if it is not known.
fn time_left(seconds: Option<u64>) -> String {
    match seconds {
        None => String::new(),
        Some(0..10) => ", a few seconds left".to_owned(),
        Some(seconds @ 10..90) => format!(", about {} s left", seconds.next_multiple_of(10)),
        Some(seconds) => format!(", about {} min left", seconds.div_ceil(60)),
    }
}

fn in_brackets(obstacle: &Option<String>) -> String {
    obstacle
        .as_ref()
        .map_or(String::new(), |obstacle| format!(" ({obstacle})"))
}

/// The first of several names, and how many more there are.
fn first_and_more(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [first, more @ ..] => format!("{first} and {} more", more.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_in_the_reference_for_users() {
        let page = include_str!("../../docs/semantics.md");
        assert!(StatusWord::KNOWN.len() > 20);
        for word in StatusWord::KNOWN {
            let row = format!("| `{word}` |");
            assert!(page.contains(&row), "{word} has no row");
        }
    }

    #[test]
    fn the_line_for_people_begins_with_the_word_of_the_table() {
        let text = || "x".to_owned();
        let all = [
            ItemStatus::Draft,
            ItemStatus::Empty,
            ItemStatus::NoModel,
            ItemStatus::NeedsFolder { why: text() },
            ItemStatus::NeedsCommit { folder: text() },
            ItemStatus::NewVersion { name: text() },
            ItemStatus::BeingWritten { path: text() },
            ItemStatus::TemporaryName { path: text() },
            ItemStatus::Incomplete { what: text() },
            ItemStatus::NeedsFiles {
                missing: vec![text()],
            },
            ItemStatus::MissingFiles {
                missing: vec![text()],
            },
            ItemStatus::SeveralModels { what: text() },
            ItemStatus::Settling { seconds: 2 },
            ItemStatus::Waiting { obstacle: text() },
            ItemStatus::Uploading {
                percent: 4,
                obstacle: None,
            },
            ItemStatus::importing(&UploadStatus::ServiceQc, None),
            ItemStatus::importing(&UploadStatus::Incomplete, None),
            ItemStatus::Complete,
            ItemStatus::NotSent,
            ItemStatus::WaitingForModel {
                folder: JobFolder::Multi,
            },
            ItemStatus::WaitingForFailedModel { why: text() },
            ItemStatus::Queued {
                obstacle: Some(text()),
            },
            ItemStatus::Running {
                percent: 4,
                seconds_left: None,
            },
            ItemStatus::Done,
            ItemStatus::Unknown {
                folder: JobFolder::Multi,
            },
            ItemStatus::Failed { reason: text() },
        ];
        for word in StatusWord::KNOWN {
            assert!(all.iter().any(|it| it.word().as_str() == *word), "{word}");
        }
        for status in all {
            let word = status.word().to_string().replace('_', " ");
            assert!(status.to_string().starts_with(&word), "{status}");
        }
    }

    #[test]
    fn an_import_has_one_word_for_all_steps_and_a_percentage_that_says_something() {
        for (step, progress, text) in [
            (UploadStatus::Waiting, None, "importing"),
            (UploadStatus::Unzipping, Some(43.9), "importing 43%"),
            (UploadStatus::Analysing, Some(0.0), "importing"),
            (UploadStatus::ServiceQc, Some(100.0), "importing"),
            (UploadStatus::default(), Some(7.0), "importing 7%"),
        ] {
            let status = ItemStatus::importing(&step, progress);
            assert_eq!(status.to_string(), text);
            assert_eq!(status.word(), StatusWord::Importing);
        }
        let elsewhere = ItemStatus::importing(&UploadStatus::Incomplete, None);
        assert_eq!(elsewhere.word(), StatusWord::Uploading);
    }

    #[test]
    fn a_time_that_is_left_is_told_as_an_estimate() {
        for (seconds_left, text) in [
            (None, "running 40%"),
            (Some(3), "running 40%, a few seconds left"),
            (Some(41), "running 40%, about 50 s left"),
            (Some(95), "running 40%, about 2 min left"),
        ] {
            let percent = 40;
            let status = ItemStatus::Running {
                percent,
                seconds_left,
            };
            assert_eq!(status.to_string(), text);
        }
    }

    #[test]
    fn a_percentage_is_data() {
        let uploading = ItemStatus::Uploading {
            percent: 43,
            obstacle: Some("the disk is 90% full".to_owned()),
        };
        assert_eq!(uploading.percent(), Some(43));
        assert_eq!(
            uploading.to_string(),
            "uploading 43% (the disk is 90% full)"
        );
        assert_eq!(ItemStatus::Complete.percent(), None);
    }
}
