//! Which step comes next to replace a model. It is decided under the turn, and taken without it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::claim::{Claim, Turn, UNFINISHED, is_unfinished};
use super::copying::copy_into;
use super::sending::own_asset;
use super::{Ended, ReplaceOutcome, Replacement};
use crate::cli::mounted::{self, POLL_PERIOD, command_at};
use crate::cli::progress::Progress;
use crate::cli::wait::{State, state_of};
use crate::drive::{DraftStatus, NAME_TTL, StatusWord};
use crate::fuse::shell_quoted;

/// What the draft of a new version is called: the model's name with this behind it.
const VERSION_SUFFIX: &str = "~new";
/// What the draft of a new version of a loose file is called until its copy is complete: the file's name between a dot
/// and this. It is the temporary name of a copy, so the draft is not sent.
const LOOSE_SUFFIX: &str = ".copies";
/// How long a folder is empty at the beginning of a copy, at most.
const BEGINNING_OF_COPY: Duration = Duration::from_secs(2);
/// How long something else may have the path of the draft. Another command may just have moved or cancelled its own.
const PATH_PATIENCE: Duration = Duration::from_secs(3);
/// How long an upload of another machine is waited for, which may have been given up. It may be one of the same files.
const PATIENCE_WITH_OTHERS: Duration = Duration::from_secs(60);
/// Longest name of a file.
const NAME_MAX_BYTES: usize = 255;

/// The next step.
enum Step {
    /// What was found has changed meanwhile: look again.
    Again,
    /// The model has the files of the source.
    Nothing,
    /// Another command copies files into a draft of this model.
    AwaitCopy(PathBuf),
    /// Something else has the path that the draft needs.
    AwaitPath(PathBuf),
    /// A draft or an upload has the name of the model.
    AwaitFirst,
    /// Another machine uploads the model.
    AwaitOther,
    /// The files of the source are on their way to take the name of this asset.
    Join(DraftStatus, String),
    /// There is no model of the name: this draft becomes it.
    Make(Claim),
    /// This draft takes the name of this asset; a file is renamed over the loose file of the path before.
    Version(Claim, Option<PathBuf>, String),
}

impl Replacement {
    /// Makes the source a version of the model.
    pub(in crate::cli) fn replace(&self) -> Result<Ended> {
        let mut ended = Ended {
            outcome: ReplaceOutcome::Unchanged,
            removes_old: self.options.remove_old,
            old: None,
        };
        ended.outcome = self.take_steps(&mut ended)?;
        Ok(ended)
    }

    fn take_steps(&self, ended: &mut Ended) -> Result<ReplaceOutcome> {
        let mut task = Progress::new(self.options.quiet).task(shell_quoted(&self.model));
        let mut was_uploading = false;
        let mut taken_since = None;
        let mut others_since: Option<Instant> = None;
        let (old, own) = loop {
            let waits = others_since.is_none_or(|since| since.elapsed() < PATIENCE_WITH_OTHERS);
            let step = self.next_step(waits)?;
            if !matches!(step, Step::AwaitPath(_)) {
                taken_since = None;
            }
            match step {
                Step::Again => std::thread::sleep(POLL_PERIOD),
                Step::Nothing if was_uploading => return Ok(ReplaceOutcome::Made),
                Step::Nothing => return Ok(ReplaceOutcome::Unchanged),
                Step::AwaitCopy(draft) => {
                    let name = shell_quoted(&draft);
                    task.show(&format!(
                        "waiting: another assetfs replace copies into {name}"
                    ));
                    self.time_left("waiting for another `assetfs replace` of this model")?;
                    std::thread::sleep(POLL_PERIOD);
                }
                Step::AwaitPath(draft) => {
                    let since = taken_since.get_or_insert_with(Instant::now);
                    if since.elapsed() > PATH_PATIENCE {
                        return Err(path_taken(&draft));
                    }
                    std::thread::sleep(POLL_PERIOD);
                }
                Step::AwaitFirst => {
                    self.await_first()?;
                    was_uploading = true;
                }
                Step::AwaitOther => {
                    others_since.get_or_insert_with(Instant::now);
                    task.show("waiting: another machine uploads this model");
                    self.time_left("waiting for the upload of another machine")?;
                    std::thread::sleep(POLL_PERIOD);
                }
                Step::Make(claim) => return self.make(claim),
                Step::Join(version, old) => {
                    ended.removes_old |= version.removes_old;
                    self.send_joined(&version)?;
                    break (old, version.asset);
                }
                Step::Version(claim, loose, old) => {
                    break (old, self.send_version(claim, loose.as_deref())?);
                }
            }
        };
        let outcome = self.wait_for_name(&old, own)?;
        ended.old = Some(old);
        Ok(outcome)
    }

    /// Fills and sends the draft of a new version; returns its id, if it is known.
    fn send_version(&self, claim: Claim, loose: Option<&Path>) -> Result<Option<u64>> {
        self.fill(&claim, || {
            copy_into(&self.source, &claim, self.options.quiet)
        })?;
        if let Some(loose) = loose {
            // A loose file is replaced by a rename, so that it keeps its path.
            fs::rename(claim.path(), loose).map_err(|error| self.refused(loose, error))?;
        }
        self.send(&claim, loose.unwrap_or(claim.path()))?;
        // The claim ends here: an open folder would keep the drive from being unmounted.
        Ok(own_asset(&claim))
    }

    /// `waits` is false once uploads of other machines were waited for long enough.
    fn next_step(&self, waits: bool) -> Result<Step> {
        // Checksums are kept, so the source is not read while other commands wait for the turn. Errors and changes
        // show in the comparison under the turn.
        let _ = self.compare();
        let turn = self.turn()?;
        if !self.model.exists() {
            return self.new_model(&turn);
        }
        let Some(old) = self.id()? else {
            return self.first_upload(&turn);
        };
        if waits && self.is_uploaded_elsewhere()? {
            return Ok(Step::AwaitOther);
        }
        if self.has_source()? {
            return Ok(Step::Nothing);
        }
        if let Some(version) = self.version()? {
            match self.join_or_cancel(&version, &old, &turn) {
                Ok(None) => {}
                Ok(Some(step)) => return Ok(step),
                Err(error) if self.is_still(&version)? => return Err(error),
                Err(_) => return Ok(Step::Again),
            }
        }
        // A version that was under way a moment ago may be the model by now.
        if self.id()?.as_ref() != Some(&old) {
            return Ok(Step::Again);
        }
        self.new_version(&turn, self.source.loose_file_of(&self.model), old)
    }

    /// Makes the comparisons of the next step.
    fn compare(&self) -> Result<()> {
        if self.id()?.is_some()
            && !self.has_source()?
            && let Some(version) = self.version()?
            && is_going(&version)
        {
            self.source.equals_staged(&self.path_of(&version))?;
        }
        Ok(())
    }

    /// Joins a version that is under way if it has the files of the source; else cancels it, which is `None`.
    fn join_or_cancel(
        &self,
        version: &DraftStatus,
        old: &str,
        turn: &Turn,
    ) -> Result<Option<Step>> {
        let path = self.path_of(version);
        let is_going = is_going(version);
        if !is_going && Claim::exists_on(&path, turn)? {
            return Ok(Some(Step::AwaitCopy(path)));
        }
        if is_going && self.source.equals_staged(&path)? {
            if self.options.remove_old && !version.removes_old {
                self.mark(&path)?;
            }
            return Ok(Some(Step::Join(version.clone(), old.to_owned())));
        }
        command_at(&path, "cancel")?;
        Ok(None)
    }

    /// False once a version has become the model, or was cancelled.
    pub(super) fn is_still(&self, version: &DraftStatus) -> Result<bool> {
        let now = self.version()?;
        Ok(now.is_some_and(|now| now.path == version.path))
    }

    fn turn(&self) -> Result<Turn> {
        loop {
            // Not the top folder, which scripts may lock themselves.
            let turn = Turn::take(&self.drive.root().join(".assetfs"));
            if let Some(turn) = turn.map_err(|error| self.drive.explain(error))? {
                return Ok(turn);
            }
            self.time_left("waiting for another `assetfs replace`")?;
            std::thread::sleep(POLL_PERIOD);
        }
    }

    fn new_model(&self, turn: &Turn) -> Result<Step> {
        let claim = Claim::on_new_folder(&self.model, turn);
        let claim = claim.map_err(|error| self.refused(&self.model, error))?;
        let Some(claim) = claim else {
            return Ok(Step::AwaitPath(self.model.clone()));
        };
        // Until it is removed, the draft is not sent: an interrupted copy never becomes a model.
        let unfinished = claim.new_file(Path::new(UNFINISHED));
        unfinished.with_context(|| self.model.join(UNFINISHED).display().to_string())?;
        Ok(Step::Make(claim))
    }

    /// A draft has the name: another command fills it, or an interrupted one left it, or it is being uploaded.
    fn first_upload(&self, turn: &Turn) -> Result<Step> {
        if !is_unfinished(&self.model) {
            return self.empty_draft(turn);
        }
        if Claim::exists_on(&self.model, turn)? {
            return Ok(Step::AwaitCopy(self.model.clone()));
        }
        command_at(&self.model, "cancel")?;
        self.new_model(turn)
    }

    /// An empty folder is no copy: a command that was killed left it, or somebody made it for this model. One that was
    /// made just now may be the beginning of a copy.
    fn empty_draft(&self, turn: &Turn) -> Result<Step> {
        let is_empty = || fs::read_dir(&self.model).is_ok_and(|mut rows| rows.next().is_none());
        if !is_empty() || Claim::exists_on(&self.model, turn)? {
            return Ok(Step::AwaitFirst);
        }
        let made = fs::metadata(&self.model).and_then(|status| status.modified());
        let age = made.ok().and_then(|made| made.elapsed().ok());
        if age.is_none_or(|age| age < BEGINNING_OF_COPY) {
            return Ok(Step::Again);
        }
        match fs::remove_dir(&self.model) {
            Ok(()) => self.new_model(turn),
            Err(_) => Ok(Step::Again),
        }
    }

    fn new_version(&self, turn: &Turn, loose: Option<PathBuf>, old: String) -> Result<Step> {
        let path = match &loose {
            Some(loose) => loose.with_file_name(loose_copy_name(&file_name(loose))),
            None => version_path(&self.model),
        };
        if Claim::exists_on(&path, turn)? {
            return Ok(Step::AwaitCopy(path));
        }
        clear(&path, loose.is_some());
        let claim = match loose {
            Some(_) => Claim::on_new_file(&path, turn),
            None => Claim::on_new_folder(&path, turn),
        };
        let Some(claim) = claim.map_err(|error| self.refused(&path, error))? else {
            return Ok(Step::AwaitPath(path));
        };
        self.mark(claim.path())
            .inspect_err(|_| drop(command_at(claim.path(), "cancel")))?;
        Ok(Step::Version(claim, loose, old))
    }

    /// Makes a draft the new version of the model.
    fn mark(&self, draft: &Path) -> Result<()> {
        let order = match self.options.remove_old {
            true => "replace --remove-old",
            false => "replace",
        };
        command_at(&self.model, &format!("{order} {}", file_name(draft)))
    }

    /// A draft has the name; it is no draft of this command.
    fn await_first(&self) -> Result<()> {
        let path = shell_quoted(&self.model);
        if self.options.no_wait {
            bail!("{path} is still being uploaded; `assetfs wait {path}`, then replace it");
        }
        self.wait_for_model(|why| {
            anyhow::anyhow!(
                "{path} is not uploaded, so it cannot be replaced: {why}. \
                 `assetfs cancel {path}` removes it; then run this again"
            )
        })
    }

    fn make(&self, claim: Claim) -> Result<ReplaceOutcome> {
        self.fill(&claim, || {
            copy_into(&self.source, &claim, self.options.quiet)?;
            let unfinished = claim.remove_file(UNFINISHED);
            unfinished.with_context(|| self.model.join(UNFINISHED).display().to_string())
        })?;
        self.send(&claim, &self.model)?;
        drop(claim);
        if self.options.no_wait {
            return Ok(ReplaceOutcome::Uploading);
        }
        let path = shell_quoted(&self.model);
        self.wait_for_model(|why| anyhow::anyhow!("{path}: {why}"))?;
        Ok(ReplaceOutcome::Made)
    }

    /// True if the model has the files of the source, and is not failed.
    pub(super) fn has_source(&self) -> Result<bool> {
        if self.version()?.is_some() {
            return Ok(false);
        }
        let failed = matches!(state_of(&self.model)?, State::Failed(..));
        Ok(!failed && self.source.equals_model(&self.model)?)
    }

    /// True while another machine uploads the files of the model.
    fn is_uploaded_elsewhere(&self) -> Result<bool> {
        if !matches!(
            state_of(&self.model)?,
            State::Going(StatusWord::Uploading, _)
        ) {
            return Ok(false);
        }
        let own = format!("/rawmodels/{}", self.name);
        Ok(self
            .drive
            .status()?
            .drafts
            .iter()
            .all(|draft| draft.path != own))
    }

    /// The new version that has not taken the name yet.
    pub(super) fn version(&self) -> Result<Option<DraftStatus>> {
        let name = format!("/rawmodels/{}", self.name);
        let mut drafts = self.drive.status()?.drafts.into_iter();
        Ok(drafts.find(|draft| draft.replaces.as_deref() == Some(&name)))
    }

    pub(super) fn path_of(&self, draft: &DraftStatus) -> PathBuf {
        self.drive.root().join(draft.path.trim_start_matches('/'))
    }

    fn refused(&self, path: &Path, error: std::io::Error) -> anyhow::Error {
        match mounted::why(path).ok().flatten() {
            Some(why) => anyhow::anyhow!("{}: {why}", shell_quoted(path)),
            None => anyhow::Error::new(error).context(path.display().to_string()),
        }
    }
}

/// True if a draft is sent without another command.
fn is_going(version: &DraftStatus) -> bool {
    matches!(
        version.state,
        StatusWord::Settling | StatusWord::Waiting | StatusWord::Uploading | StatusWord::Importing
    )
}

/// Removes what an interrupted command left at the path of a draft: a file, or a folder that is empty because it was not
/// marked. What else is there stays.
fn clear(path: &Path, is_file: bool) {
    if fs::symlink_metadata(path).is_err() {
        return;
    }
    let removed = match is_file {
        true => fs::remove_file(path),
        false => fs::remove_dir(path),
    };
    // This command has just cancelled it, and the kernel still finds its name.
    if removed.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
        std::thread::sleep(5 * NAME_TTL);
    }
}

fn path_taken(path: &Path) -> anyhow::Error {
    anyhow::anyhow!(
        "{} is there already, and the new version needs this name until it is complete; \
         rename or remove it, then run this again",
        shell_quoted(path)
    )
}

/// The path of the draft of a new version.
pub(super) fn version_path(model: &Path) -> PathBuf {
    model.with_file_name(version_name(&file_name(model)))
}

fn version_name(model: &str) -> String {
    shortened(model, VERSION_SUFFIX.len()) + VERSION_SUFFIX
}

fn loose_copy_name(file: &str) -> String {
    format!(".{}{LOOSE_SUFFIX}", shortened(file, 1 + LOOSE_SUFFIX.len()))
}

/// As much of a name as leaves room for so many bytes more.
fn shortened(name: &str, room: usize) -> String {
    let end = name.floor_char_boundary(name.len().min(NAME_MAX_BYTES - room));
    name[..end].to_owned()
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_drafts_fit_also_for_the_longest_names() {
        for name in ["x".repeat(255), "ü".repeat(127), "chair".to_owned()] {
            for draft in [version_name(&name), loose_copy_name(&name)] {
                assert!(draft.len() <= NAME_MAX_BYTES, "{draft}");
            }
        }
        assert_eq!(version_name("chair"), "chair~new");
        assert_eq!(loose_copy_name("chair.glb"), ".chair.glb.copies");
    }
}
