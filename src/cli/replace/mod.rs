//! `assetfs replace`: uploads a new version of a model, which takes the model's name when it is complete.
//!
//! The command uses the drive's own files: it copies the new version into a draft beside the model, marks that draft in
//! the model's `ctl` file before the first byte, and commits it when every byte is there. So an interrupted copy
//! replaces nothing, and from the commit on the drive finishes the work without the command.

mod copying;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use self::copying::{NewFiles, UNFINISHED};
use super::control::commit_at;
use super::exit::TimedOut;
use super::mounted::{self, MountedDrive, POLL_PERIOD, command_at};
use super::progress::Progress;
use super::settings::Span;
use super::wait::{State, state_of, wait_for};
use super::{Exit, WrongUse};
use crate::drive::{DraftStatus, StatusWord};
use crate::fuse::shell_quoted;

/// What the draft of a new version is called: the model's name with this behind it.
const VERSION_SUFFIX: &str = "~new";
/// How long the name of a new version may take to show after the version is complete.
const NAME_PATIENCE: Duration = Duration::from_secs(10);

/// Upload a new version of a model, which takes the model's name when it is complete
///
/// The old version is kept under its name and id (chair~1042), with its optimized models. If the model does not exist,
/// it is made. If SOURCE has the files that the model has, nothing is sent.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: assetfs replace chair.glb ~/assets/rawmodels/chair\n\
    Example: assetfs replace chair ~/assets/rawmodels/chair --remove-old\n\
    Exit codes: 0 the model has the files of SOURCE, 1 it has not, 3 timed out"
)]
pub(super) struct ReplaceArgs {
    /// A model file, or the folder of a model
    source: PathBuf,
    /// The model below rawmodels/
    model: PathBuf,
    /// Delete the old version once the new one is complete and its files were checked
    #[arg(long)]
    remove_old: bool,
    /// Return when the new version is safe on the local disk; it is uploaded in the background
    #[arg(long)]
    no_wait: bool,
    /// Give up waiting after this time; the upload goes on
    #[arg(long, value_name = "TIME")]
    timeout: Option<Span>,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
    /// Print the outcome as JSON
    #[arg(long)]
    json: bool,
}

/// What became of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
enum ReplaceOutcome {
    /// There was no model of that name.
    Made,
    Replaced,
    /// It has the files of the source already.
    Unchanged,
    /// The upload goes on in the background.
    Uploading,
}

pub(super) fn run(args: &ReplaceArgs) -> Result<Exit> {
    let replacement = Replacement::of(args)?;
    let old = replacement.id()?;
    let outcome = match replacement.has_source()? {
        true => ReplaceOutcome::Unchanged,
        false => replacement.replace()?,
    };
    replacement.report(outcome, old.as_deref())?;
    Ok(Exit::Done)
}

/// One model that is replaced.
struct Replacement<'a> {
    args: &'a ReplaceArgs,
    drive: MountedDrive,
    source: NewFiles,
    /// The folder of the model.
    model: PathBuf,
    name: String,
    begun: Instant,
}

impl Replacement<'_> {
    fn of(args: &ReplaceArgs) -> Result<Replacement<'_>> {
        let whole = std::path::absolute(&args.model)?;
        let (Some(top), Some(name)) = (whole.parent(), whole.file_name()) else {
            return Err(not_a_model(&args.model));
        };
        let drive = MountedDrive::of(&args.model)?;
        let top = top.canonicalize();
        let top = top.with_context(|| args.model.display().to_string())?;
        let Some(name) = name
            .to_str()
            .filter(|_| top == drive.root().join("rawmodels"))
        else {
            return Err(not_a_model(&args.model));
        };
        if whole.is_file() {
            let path = shell_quoted(&args.model);
            let message =
                format!("{path} is a file: name the folder of its model, without the extension");
            return Err(WrongUse(message).into());
        }
        Ok(Replacement {
            args,
            drive,
            source: NewFiles::open(&args.source)?,
            model: top.join(name),
            name: name.to_owned(),
            begun: Instant::now(),
        })
    }

    /// The id of the asset that has the name.
    fn id(&self) -> Result<Option<String>> {
        match self.model.exists() {
            true => mounted::item_id(&self.model),
            false => Ok(None),
        }
    }

    /// True if the model has the files of the source, and is not failed.
    fn has_source(&self) -> Result<bool> {
        if self.id()?.is_none() || self.version()?.is_some() {
            return Ok(false);
        }
        let failed = matches!(state_of(&self.model)?, State::Failed(_));
        Ok(!failed && self.source.equals_model(&self.model)?)
    }

    fn replace(&self) -> Result<ReplaceOutcome> {
        if self.model.exists() && self.id()?.is_none() {
            self.end_first_upload()?;
            if self.has_source()? {
                return Ok(ReplaceOutcome::Made);
            }
        }
        let Some(old) = self.id()? else {
            return self.make();
        };
        if self.name.ends_with(&format!("~{old}")) {
            bail!(
                "{} always means the model with this id, so it cannot be replaced; \
                 name the model without the id",
                shell_quoted(&self.model)
            );
        }
        if !self.joins_version()? {
            self.copy_version()?;
        }
        if self.args.no_wait {
            return Ok(ReplaceOutcome::Uploading);
        }
        let own = self.version()?.and_then(|version| version.asset);
        self.wait_for_name(&old, own)
    }

    /// A draft has the name: what an interrupted command left is removed, and an upload is waited for.
    fn end_first_upload(&self) -> Result<()> {
        if self.model.join(UNFINISHED).exists() {
            return command_at(&self.model, "cancel");
        }
        let path = shell_quoted(&self.model);
        if self.args.no_wait {
            bail!("{path} is still being uploaded; `assetfs wait {path}`, then replace it");
        }
        let ended = wait_for(
            std::slice::from_ref(&self.model),
            self.time_left()?,
            self.args.quiet,
        )?;
        match ended.states.into_iter().next() {
            Some((_, State::Failed(why))) => {
                bail!(
                    "{path} is not uploaded, so it cannot be replaced: {why}. \
                     `assetfs cancel {path}` removes it; then run this again"
                )
            }
            Some((_, State::Going(_, status))) => Err(self.timed_out(&status)),
            _ => Ok(()),
        }
    }

    /// There is no model of that name: the source becomes it.
    fn make(&self) -> Result<ReplaceOutcome> {
        fs::create_dir(&self.model).with_context(|| self.model.display().to_string())?;
        // Until it is removed, the draft is not sent: an interrupted copy never becomes a model.
        let unfinished = self.model.join(UNFINISHED);
        fs::write(&unfinished, b"").with_context(|| unfinished.display().to_string())?;
        self.source.copy_to(&self.model, self.args.quiet)?;
        fs::remove_file(&unfinished).with_context(|| unfinished.display().to_string())?;
        self.send(&self.model)?;
        if self.args.no_wait {
            return Ok(ReplaceOutcome::Uploading);
        }
        let ended = wait_for(
            std::slice::from_ref(&self.model),
            self.time_left()?,
            self.args.quiet,
        )?;
        match ended.states.into_iter().next() {
            Some((_, State::Failed(why))) => bail!("{}: {why}", shell_quoted(&self.model)),
            Some((_, State::Going(_, status))) => Err(self.timed_out(&status)),
            _ => Ok(ReplaceOutcome::Made),
        }
    }

    /// A new version that is under way: true if it has the files of the source. Another one is cancelled.
    fn joins_version(&self) -> Result<bool> {
        let Some(version) = self.version()? else {
            return Ok(false);
        };
        let path = self.path_of(&version);
        let is_sent = !version.stuck && version.state != StatusWord::NeedsCommit;
        if is_sent && self.source.equals_staged(&path)? {
            return Ok(true);
        }
        command_at(&path, "cancel")?;
        Ok(false)
    }

    fn copy_version(&self) -> Result<()> {
        let order = match self.args.remove_old {
            true => "replace --remove-old",
            false => "replace",
        };
        if let Some(loose) = self.source.loose_file_of(&self.model)? {
            // A loose file is replaced by a rename, so that it keeps its path.
            let temporary = self.source.copy_beside(&loose, self.args.quiet)?;
            command_at(&self.model, &format!("{order} {}", file_name(&temporary)))?;
            fs::rename(&temporary, &loose).map_err(|error| self.refused(&loose, error))?;
            return self.send(&loose);
        }
        let version = self.version_path();
        // Left by a command that was interrupted before it was marked: it is empty.
        let _ = fs::remove_dir(&version);
        fs::create_dir(&version).map_err(|error| self.refused(&version, error))?;
        command_at(&self.model, &format!("{order} {}", file_name(&version)))?;
        self.source.copy_to(&version, self.args.quiet)?;
        self.send(&version)
    }

    fn refused(&self, path: &Path, error: std::io::Error) -> anyhow::Error {
        match mounted::why(path).ok().flatten() {
            Some(why) => anyhow::anyhow!("{}: {why}", shell_quoted(path)),
            None => anyhow::Error::new(error).context(path.display().to_string()),
        }
    }

    /// Commits a draft. Without waiting it returns when the order is durable.
    fn send(&self, draft: &Path) -> Result<()> {
        let (tell, outcome) = mpsc::channel();
        let ordered = draft.to_owned();
        std::thread::spawn(move || {
            // The receiver is gone if nobody waits.
            let _ = tell.send(commit_at(&ordered, "commit"));
        });
        loop {
            match outcome.recv_timeout(POLL_PERIOD) {
                Ok(Err(error)) if error.is::<TimedOut>() => return Ok(()),
                Ok(sent) => return sent,
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    bail!("the command to send it was lost")
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
            if self.args.no_wait
                && let Ok(Some(report)) = mounted::item_report(draft)
                && matches!(
                    report.state,
                    StatusWord::Uploading | StatusWord::Importing | StatusWord::Waiting
                )
            {
                return Ok(());
            }
            self.time_left()?;
        }
    }

    /// Waits until the new version has the name. `own` is its id, if it was known.
    fn wait_for_name(&self, old: &str, own: Option<u64>) -> Result<ReplaceOutcome> {
        let mut task = Progress::new(self.args.quiet).task(shell_quoted(&self.model));
        let mut left = None;
        loop {
            match self.version()? {
                Some(version) if version.stuck => {
                    let why = mounted::why(&self.path_of(&version))?.unwrap_or(version.status);
                    task.finish("failed");
                    bail!(
                        "{}: the new version failed, so the old one is kept: {why}",
                        shell_quoted(&self.model)
                    );
                }
                Some(version) => task.show(&version.status),
                None => {
                    let now = self.id()?;
                    if now.as_deref().is_some_and(|now| now != old) {
                        let is_other = own.is_some() && number(now.as_deref()) != own;
                        if is_other && !self.source.equals_model(&self.model)? {
                            bail!(
                                "{}: another version replaced it meanwhile",
                                shell_quoted(&self.model)
                            );
                        }
                        task.finish("complete");
                        return Ok(ReplaceOutcome::Replaced);
                    }
                    if self.has_source()? {
                        task.finish("unchanged");
                        return Ok(ReplaceOutcome::Unchanged);
                    }
                    let since = *left.get_or_insert_with(Instant::now);
                    if since.elapsed() > NAME_PATIENCE {
                        bail!(
                            "{}: the new version was cancelled",
                            shell_quoted(&self.model)
                        );
                    }
                }
            }
            self.time_left()?;
            std::thread::sleep(POLL_PERIOD);
        }
    }

    /// The new version that has not taken the name yet.
    fn version(&self) -> Result<Option<DraftStatus>> {
        let name = format!("/rawmodels/{}", self.name);
        let mut drafts = self.drive.status()?.drafts.into_iter();
        Ok(drafts.find(|draft| draft.replaces.as_deref() == Some(&name)))
    }

    fn path_of(&self, draft: &DraftStatus) -> PathBuf {
        self.drive.root().join(draft.path.trim_start_matches('/'))
    }

    fn version_path(&self) -> PathBuf {
        let name = format!("{}{VERSION_SUFFIX}", self.name);
        self.drive.root().join("rawmodels").join(name)
    }

    /// What is left of the time to wait; an error when it is over.
    fn time_left(&self) -> Result<Option<Duration>> {
        let Some(limit) = self.args.timeout else {
            return Ok(None);
        };
        match limit.0.checked_sub(self.begun.elapsed()) {
            Some(left) => Ok(Some(left)),
            None => Err(self.timed_out("it was being uploaded")),
        }
    }

    fn timed_out(&self, status: &str) -> anyhow::Error {
        let path = shell_quoted(&self.model);
        TimedOut(format!(
            "{path}: timed out while {status}; the upload goes on, and the same command waits for it again"
        ))
        .into()
    }

    fn report(&self, outcome: ReplaceOutcome, old: Option<&str>) -> Result<()> {
        let id = self.id()?;
        if self.args.json {
            let row = serde_json::json!({
                "path": self.model,
                "outcome": outcome,
                "id": number(id.as_deref()),
                "old_id": number(old),
            });
            println!("{row}");
            return Ok(());
        }
        if self.args.quiet {
            return Ok(());
        }
        let path = shell_quoted(&self.model);
        let kept = || format!("{}~{}", self.name, old.unwrap_or_default());
        match outcome {
            ReplaceOutcome::Made => println!("{path} is a new model."),
            ReplaceOutcome::Replaced if self.args.remove_old => {
                println!("{path} has the new files; the old version is deleted.");
            }
            ReplaceOutcome::Replaced => {
                println!("{path} has the new files; the old version is {}.", kept())
            }
            ReplaceOutcome::Unchanged => println!("{path} has these files already."),
            ReplaceOutcome::Uploading => println!("{path} is being uploaded in the background."),
        }
        Ok(())
    }
}

fn number(id: Option<&str>) -> Option<u64> {
    id?.parse().ok()
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn not_a_model(path: &Path) -> anyhow::Error {
    WrongUse(format!(
        "{} is not a model: name a folder below rawmodels/",
        shell_quoted(path)
    ))
    .into()
}
