//! What a run prints: a line for each change, and the failures and the sum at the end.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::json;

use super::super::bring::{BringOutcome, Double};
use super::super::exit::{Exit, sentence};
use super::super::mounted::has_drive_ended;
use super::super::output;
use super::super::run_presets::cost_at_most;
use super::super::table::counted;
use crate::drive::StatusWord;
use crate::fuse::shell_quoted;

/// What became of a model of the folder, or of one that the folder lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SyncOutcome {
    Added,
    Replaced,
    Renamed,
    /// The service has it and was not done with it: it is waited for.
    Awaited,
    /// The drive has it under another name, which it keeps.
    OtherName,
    Deleted,
    /// A preset was put into a model's `optimize/`.
    Preset,
    Unchanged,
}

impl From<BringOutcome> for SyncOutcome {
    fn from(brought: BringOutcome) -> SyncOutcome {
        match brought {
            BringOutcome::Unchanged => SyncOutcome::Unchanged,
            BringOutcome::OtherName => SyncOutcome::OtherName,
            BringOutcome::Added => SyncOutcome::Added,
            BringOutcome::Replaced => SyncOutcome::Replaced,
            BringOutcome::Renamed => SyncOutcome::Renamed,
            BringOutcome::Awaited => SyncOutcome::Awaited,
        }
    }
}

impl SyncOutcome {
    const ALL: [SyncOutcome; 8] = [
        SyncOutcome::Added,
        SyncOutcome::Replaced,
        SyncOutcome::Renamed,
        SyncOutcome::Awaited,
        SyncOutcome::OtherName,
        SyncOutcome::Deleted,
        SyncOutcome::Preset,
        SyncOutcome::Unchanged,
    ];

    fn words(self) -> &'static str {
        match self {
            SyncOutcome::Added => "added",
            SyncOutcome::Replaced => "replaced",
            SyncOutcome::Renamed => "renamed",
            SyncOutcome::Awaited => "waited for",
            SyncOutcome::OtherName => "under another name",
            SyncOutcome::Deleted => "deleted",
            SyncOutcome::Preset => "with a new preset",
            SyncOutcome::Unchanged => "unchanged",
        }
    }

    fn field(self) -> String {
        json!(self).as_str().unwrap_or_default().to_owned()
    }
}

/// What became of a model.
pub(super) struct BroughtModel {
    /// The model in the folder; a deleted one has none.
    pub(super) source: Option<PathBuf>,
    pub(super) model: PathBuf,
    pub(super) outcome: Result<SyncOutcome>,
    /// The id of the version that was replaced.
    pub(super) old: Option<String>,
    pub(super) texts: Vec<DroppedText>,
}

impl BroughtModel {
    pub(super) fn deleted(model: PathBuf) -> BroughtModel {
        BroughtModel {
            source: None,
            model,
            outcome: Ok(SyncOutcome::Deleted),
            old: None,
            texts: Vec::new(),
        }
    }
}

/// The text of a preset in a model's `optimize/`.
pub(super) struct DroppedText {
    pub(super) path: PathBuf,
    /// False if it was there.
    pub(super) outcome: Result<bool>,
}

/// Prints what is done, and keeps the failures for the end.
#[derive(Default)]
pub(super) struct Report {
    /// Nothing is done.
    pub(super) is_dry: bool,
    /// Only failures are printed.
    pub(super) is_quiet: bool,
    counts: [u64; SyncOutcome::ALL.len()],
    failures: Vec<(PathBuf, anyhow::Error)>,
    /// Set if the drive has ended. That is one failure, not one of each model.
    ended: Option<anyhow::Error>,
    kept: usize,
    doubles: usize,
}

impl Report {
    pub(super) fn note(&mut self, brought: BroughtModel) {
        let source = brought.source.as_deref();
        match brought.outcome {
            Ok(outcome) => self.line(outcome, &brought.model, source),
            Err(error) => {
                self.fail(brought.source.unwrap_or(brought.model), error);
                return;
            }
        }
        for text in brought.texts {
            match text.outcome {
                Ok(true) => self.line(SyncOutcome::Preset, &text.path, None),
                Ok(false) => {}
                Err(error) => self.fail(text.path, error),
            }
        }
    }

    fn fail(&mut self, path: PathBuf, error: anyhow::Error) {
        match has_drive_ended(&error) {
            true => self.ended = Some(error),
            false => self.failures.push((path, error)),
        }
    }

    pub(super) fn has_drive_ended(&self) -> bool {
        self.ended.is_some()
    }

    pub(super) fn failed(&mut self, path: &Path, error: &anyhow::Error) {
        let error = anyhow::anyhow!("{}", sentence(error));
        self.failures.push((path.to_owned(), error));
    }

    pub(super) fn double(&mut self, double: &Double) {
        self.doubles += 1;
        if output::is_json() {
            let mut line = double.line();
            line["dry_run"] = json!(self.is_dry);
            output::line(line);
        }
        if !self.is_quiet {
            eprintln!("{}", double.sentence());
        }
    }

    /// Models that the folder lacks and that are not deleted.
    pub(super) fn kept(&mut self, count: usize) {
        self.kept = count;
    }

    fn line(&mut self, outcome: SyncOutcome, path: &Path, source: Option<&Path>) {
        self.counts[outcome as usize] += 1;
        if outcome == SyncOutcome::Unchanged {
            return;
        }
        if output::is_json() {
            let mut line = json!({
                "path": path.to_string_lossy(),
                "state": self.state_after(outcome),
                "outcome": outcome,
                "dry_run": self.is_dry,
                "exit": 0,
            });
            if let Some(source) = source {
                line["source"] = json!(source);
            }
            output::line(line);
            return;
        }
        if self.is_quiet {
            return;
        }
        let path = shell_quoted(path);
        match outcome {
            SyncOutcome::OtherName => println!(
                "{}: the drive has it as {path}, and the service cannot rename models",
                source.map(shell_quoted).unwrap_or_default()
            ),
            SyncOutcome::Preset if self.is_dry => println!("{path}: would be a new preset"),
            _ if self.is_dry => println!("{path}: would be {}", outcome.words()),
            _ => println!("{path}: {}", outcome.words()),
        }
    }

    fn state_after(&self, outcome: SyncOutcome) -> StatusWord {
        match outcome {
            SyncOutcome::OtherName => StatusWord::Complete,
            _ if self.is_dry => StatusWord::NotSent,
            SyncOutcome::Deleted => StatusWord::Done,
            SyncOutcome::Preset => StatusWord::Queued,
            _ => StatusWord::Complete,
        }
    }

    /// The failures, then the sum.
    pub(super) fn conclude(self) -> Exit {
        let mut exit = Exit::Done;
        for (path, error) in &self.failures {
            let said = error_at(path, error);
            exit = exit.max(output::failed(Some(path), &said));
        }
        let failed = self.failures.len() + usize::from(self.ended.is_some());
        if let Some(ended) = &self.ended {
            let again = anyhow::anyhow!("{ended}; then run this again, which sends nothing twice");
            exit = exit.max(output::failed(None, &again));
        }
        if output::is_json() {
            let mut sum = json!({
                "state": output::state_after(exit),
                "dry_run": self.is_dry,
                "failed": failed,
                "kept": self.kept,
                "double": self.doubles,
                "exit": exit.code(),
            });
            for outcome in SyncOutcome::ALL {
                sum[outcome.field()] = json!(self.counts[outcome as usize]);
            }
            sum["points"] = json!(self.counts[SyncOutcome::Preset as usize]);
            output::line(sum);
        } else if !self.is_quiet {
            self.say(failed);
        }
        exit
    }

    fn say(&self, failed: usize) {
        let counts = SyncOutcome::ALL.into_iter().filter_map(|outcome| {
            let count = self.counts[outcome as usize];
            let is_told = count > 0 || outcome == SyncOutcome::Unchanged;
            is_told.then(|| format!("{count} {}", outcome.words()))
        });
        let mut parts: Vec<String> = counts.collect();
        if failed > 0 {
            parts.push(format!("{failed} failed"));
        }
        let verb = if self.is_dry { "Would be: " } else { "" };
        println!("{verb}{}", parts.join(", "));
        let texts = self.counts[SyncOutcome::Preset as usize];
        if self.is_dry && texts > 0 {
            println!("{}", cost_at_most(texts));
        }
        if self.kept > 0 {
            println!(
                "{} of the drive not in the folder; --delete deletes what the folder lacks, for good",
                counted(self.kept as u64, "model")
            );
        }
        if self.counts[SyncOutcome::Deleted as usize] > 0 && !self.is_dry {
            println!("Deleted models are gone for good: the drive has no trash.");
        }
    }
}

/// The error with its path, keeping what its exit code stands for.
fn error_at(path: &Path, error: &anyhow::Error) -> anyhow::Error {
    use super::super::exit::{TimedOut, WrongUse};
    let (path, said) = (shell_quoted(path), sentence(error));
    let text = match said.starts_with(&path) {
        true => said,
        false => format!("{path}: {said}"),
    };
    if error.is::<TimedOut>() {
        return TimedOut(text).into();
    }
    if error.is::<WrongUse>() {
        return WrongUse(text).into();
    }
    anyhow::anyhow!("{text}")
}
