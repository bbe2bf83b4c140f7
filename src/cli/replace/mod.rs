//! `assetfs replace`: uploads a new version of a model, which takes the model's name when it is complete.
//!
//! The command uses the drive's own files: it copies the new version into a draft beside the model, marks that draft in
//! the model's `ctl` file before the first byte, and commits it when every byte is there. So an interrupted copy
//! replaces nothing, and from the commit on the drive finishes the work without the command. Several commands for one
//! model take turns, so each version has the files of one source.

mod claim;
mod copying;
mod sending;
mod source;
mod steps;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use clap_complete::engine::ArgValueCompleter;

pub(super) use self::claim::is_unfinished;
use super::completers;
use super::control::Lacking;
use super::exit::{Exit, WrongUse};
use super::models_of_folder::NewFiles;
use super::mounted::{self, MountedDrive, own_target};
use super::output;
use super::settings::Span;
use super::unanswered;
use crate::drive::{StatusWord, ends_in_id};
use crate::fuse::shell_quoted;

/// Upload a new version of a model, which takes the model's name when it is complete
///
/// The old version is kept under its name and id (chair~1042), with its optimized models. If the model does not exist,
/// it is made. If SOURCE has the files that the model has, nothing is sent and nothing is deleted.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: assetfs replace chair.glb ~/assets/rawmodels/chair\n\
    Example: assetfs replace chair ~/assets/rawmodels/chair --remove-old\n\
    Exit codes: 0 the model has the files of SOURCE, 1 it has not, 2 wrong use, 3 timed out"
)]
pub(super) struct ReplaceArgs {
    /// The folder of a model, or a model file that needs no other file
    source: PathBuf,
    /// The model below rawmodels/
    #[arg(add = ArgValueCompleter::new(completers::models))]
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
}

/// What became of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ReplaceOutcome {
    /// There was no model of that name.
    Made,
    Replaced,
    /// It has the files of the source already.
    Unchanged,
    /// The upload goes on in the background.
    Uploading,
}

/// What a command did.
pub(super) struct Ended {
    pub(super) outcome: ReplaceOutcome,
    /// The version that was replaced is deleted.
    removes_old: bool,
    /// The id of the version that was replaced.
    pub(super) old: Option<String>,
}

/// How a model is replaced.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReplaceOptions {
    lacking: Lacking,
    remove_old: bool,
    no_wait: bool,
    timeout: Option<Span>,
    quiet: bool,
}

impl ReplaceOptions {
    /// The old version is kept, the new one waited for, and nothing shown.
    pub(super) fn quiet(timeout: Option<Span>, lacking: Lacking) -> ReplaceOptions {
        ReplaceOptions {
            lacking,
            remove_old: false,
            no_wait: false,
            timeout,
            quiet: true,
        }
    }
}

pub(super) fn run(args: &ReplaceArgs) -> Result<Exit> {
    let _ends = unanswered::end_after(args.timeout);
    let replacement = Replacement::of(args)?;
    let ended = replacement.replace()?;
    replacement.report(&ended)?;
    Ok(Exit::Done)
}

/// One model that is replaced.
pub(super) struct Replacement {
    options: ReplaceOptions,
    drive: MountedDrive,
    source: NewFiles,
    /// The folder of the model.
    model: PathBuf,
    name: String,
    begun: Instant,
}

impl Replacement {
    /// The model at `model`, which is a path below the `rawmodels/` of `drive`, shall have these files.
    pub(super) fn new(
        drive: MountedDrive,
        source: NewFiles,
        model: PathBuf,
        options: ReplaceOptions,
    ) -> Replacement {
        let name = model.file_name().unwrap_or_default().to_string_lossy();
        Replacement {
            name: name.into_owned(),
            options,
            drive,
            source,
            model,
            begun: Instant::now(),
        }
    }

    fn of(args: &ReplaceArgs) -> Result<Replacement> {
        let source = source::existing(&args.source)?;
        let whole = std::path::absolute(own_target(&args.model)?)?;
        let (Some(top), Some(name)) = (whole.parent(), whole.file_name()) else {
            return Err(not_a_model(args));
        };
        let drive = MountedDrive::of(&args.model)?;
        let top = top.canonicalize();
        let top = top.with_context(|| args.model.display().to_string())?;
        let Some(name) = name
            .to_str()
            .filter(|_| top == drive.root().join("rawmodels"))
        else {
            return Err(not_a_model(args));
        };
        let path = shell_quoted(&args.model);
        if whole.is_file() {
            return Err(wrong_use(format!(
                "{path} is a file: name the folder of its model, without the extension"
            )));
        }
        if ends_in_id(name) {
            return Err(wrong_use(format!(
                "{path} always means the model with this id, so it cannot be replaced or made; name the model without the id"
            )));
        }
        let model = top.join(name);
        source::check_is_not_model(&source, &model, args)?;
        source::check_stands_alone(&source)?;
        let options = ReplaceOptions {
            lacking: Lacking::Refused,
            remove_old: args.remove_old,
            no_wait: args.no_wait,
            timeout: args.timeout,
            quiet: args.quiet,
        };
        let files = NewFiles::open(&args.source)?;
        Ok(Replacement::new(drive, files, model, options))
    }

    /// The id of the asset that has the name.
    fn id(&self) -> Result<Option<String>> {
        match self.model.exists() {
            true => mounted::item_id(&self.model),
            false => Ok(None),
        }
    }

    fn report(&self, ended: &Ended) -> Result<()> {
        let (outcome, old) = (ended.outcome, ended.old.as_deref());
        if output::is_json() {
            // While the new version is uploaded, the name still has the id of the old one.
            let id = match outcome {
                ReplaceOutcome::Uploading => None,
                _ => self.id()?,
            };
            let old = old.filter(|_| {
                matches!(
                    outcome,
                    ReplaceOutcome::Replaced | ReplaceOutcome::Uploading
                )
            });
            let state = match outcome {
                ReplaceOutcome::Uploading => StatusWord::Uploading,
                _ => StatusWord::Complete,
            };
            output::line(serde_json::json!({
                "path": self.model.to_string_lossy(),
                "state": state,
                "outcome": outcome,
                "id": number(id.as_deref()),
                "old_id": number(old),
                "exit": 0,
            }));
            return Ok(());
        }
        if self.options.quiet {
            return Ok(());
        }
        let path = shell_quoted(&self.model);
        let kept = || format!("{}~{}", self.name, old.unwrap_or_default());
        match outcome {
            ReplaceOutcome::Made => println!("{path} is a new model."),
            ReplaceOutcome::Replaced if ended.removes_old => {
                println!("{path} has the new files; the old version is deleted.");
            }
            ReplaceOutcome::Replaced => {
                println!("{path} has the new files; the old version is {}.", kept())
            }
            ReplaceOutcome::Unchanged if self.options.remove_old => {
                println!("{path} has these files already; nothing is deleted.");
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

fn wrong_use(message: String) -> anyhow::Error {
    WrongUse(message).into()
}

fn not_a_model(args: &ReplaceArgs) -> anyhow::Error {
    wrong_use(format!(
        "{} is not a model: name a folder below rawmodels/",
        shell_quoted(&args.model)
    ))
}
