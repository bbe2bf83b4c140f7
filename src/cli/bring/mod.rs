//! Brings the models of a folder into a drive, each under its own name: for `assetfs sync` and `assetfs build`.
//!
//! [`look`] decides what has to be done for a model, and this file does it. It is sent as `assetfs replace` sends it: a
//! changed model becomes the next version, an interrupted copy makes no model, and several commands at once make one.

mod look;

use std::fs;
use std::path::Path;

use anyhow::{Result, bail};

pub(super) use look::{BringStep, Brings, Double, Found, Listed, Look, with_id_in_name};

pub(super) use super::control::Lacking;
use super::control::commit_at;
use super::exit::TimedOut;
use super::models_of_folder::NewFiles;
use super::mounted::{self, MountedDrive};
use super::replace::{ReplaceOptions, ReplaceOutcome, Replacement};
use super::settings::Span;
use super::wait::{State, wait_for};
use crate::fuse::shell_quoted;

/// How a model came into the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BringOutcome {
    Unchanged,
    /// The drive has it under another name, which it keeps.
    OtherName,
    Added,
    Replaced,
    Renamed,
    /// The service had it already, and was not done with it.
    Awaited,
}

/// What was done for a model.
pub(super) struct Brought {
    pub(super) outcome: BringOutcome,
    /// The id of the version that was replaced.
    pub(super) old: Option<String>,
}

/// Does what was decided.
pub(super) struct Bringer {
    drive: MountedDrive,
    timeout: Option<Span>,
}

impl Bringer {
    /// With a `timeout`, a model is waited for no longer; its upload goes on.
    pub(super) fn new(drive: MountedDrive, timeout: Option<Span>) -> Bringer {
        Bringer { drive, timeout }
    }

    /// Makes `model` complete in the drive, with the files of its source.
    pub(super) fn bring(&self, step: BringStep, model: &Path, lacking: Lacking) -> Result<Brought> {
        let mut old = None;
        let outcome = match step {
            BringStep::Nothing => BringOutcome::Unchanged,
            BringStep::OtherName => BringOutcome::OtherName,
            BringStep::Fail(error) => return Err(error),
            BringStep::Bring(_, brings @ (Brings::Staged | Brings::UnderWay)) => {
                self.finish(model, lacking)?;
                match brings {
                    Brings::UnderWay => BringOutcome::Awaited,
                    _ => BringOutcome::Added,
                }
            }
            BringStep::Bring(files, Brings::New | Brings::Changed) => {
                let (outcome, id) = self.replace(files, model, lacking)?;
                old = id;
                match outcome {
                    ReplaceOutcome::Made | ReplaceOutcome::Uploading => BringOutcome::Added,
                    ReplaceOutcome::Replaced => BringOutcome::Replaced,
                    ReplaceOutcome::Unchanged => BringOutcome::Unchanged,
                }
            }
            BringStep::Rename(draft) => {
                self.rename(&draft, model)?;
                self.finish(model, lacking)?;
                BringOutcome::Renamed
            }
        };
        Ok(Brought { outcome, old })
    }

    fn replace(
        &self,
        files: NewFiles,
        model: &Path,
        lacking: Lacking,
    ) -> Result<(ReplaceOutcome, Option<String>)> {
        let options = ReplaceOptions::quiet(self.timeout, lacking);
        let replacement = Replacement::new(self.drive.clone(), files, model.to_owned(), options);
        let ended = replacement.replace()?;
        let is_replaced = ended.outcome == ReplaceOutcome::Replaced;
        Ok((ended.outcome, ended.old.filter(|_| is_replaced)))
    }

    /// Sends a draft that has the files of its source, which nobody else may be about to do, and waits until it is complete.
    fn finish(&self, model: &Path, lacking: Lacking) -> Result<()> {
        if mounted::item_id(model)?.is_none() {
            commit_at(model, lacking)?;
        }
        let timeout = self.timeout.map(|timeout| timeout.0);
        let waited = wait_for(&[model.to_owned()], timeout, true)?;
        match waited.states.into_iter().next() {
            Some((_, State::Failed(_, why))) => bail!("{why}"),
            Some((_, State::Going(_, status))) => {
                Err(TimedOut(format!("timed out while {status}; its upload goes on")).into())
            }
            _ => Ok(()),
        }
    }

    /// Renames a draft; a loose file keeps its extension.
    fn rename(&self, draft: &Path, model: &Path) -> Result<()> {
        let to = match draft.is_file() {
            true => {
                let extension = draft.extension().unwrap_or_default().to_string_lossy();
                model.with_file_name(format!(
                    "{}.{extension}",
                    model.file_name().unwrap_or_default().to_string_lossy()
                ))
            }
            false => model.to_owned(),
        };
        fs::rename(draft, &to).map_err(|error| match mounted::why(draft).ok().flatten() {
            Some(why) => anyhow::anyhow!("{why}"),
            None => anyhow::Error::new(error).context(shell_quoted(draft)),
        })
    }
}
