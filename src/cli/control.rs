//! The commands that act on one asset, draft or mount: `commit`, `cancel`, `retry`, `run`, `allow-delete`. Each
//! writes one line into a `ctl` file.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap_complete::engine::ArgValueCompleter;

use crate::fuse::shell_quoted;
use crate::wire::SCALES;

use super::completers;
use super::exit::{Exit, WrongUse};
use super::given_paths::{self, ListForm};
use super::mounted::{self, MountedDrive, POLL_PERIOD, check_exists, command_about, command_at};
use super::output;
use super::run_presets::{self, run_presets};
use super::run_stale::{StaleOptions, run_stale};

/// Time after which `commit` stops waiting if the service does not answer. Errors that come at once are reported
/// before.
const ORDER_DEADLINE: Duration = Duration::from_secs(1);

/// Send drafts now, without waiting for the copy to settle
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: assetfs commit ~/assets/rawmodels/chair\n\
    What a model is sent without (a texture) is printed, and is no failure. A file without which it cannot be read, or\n\
    that is cut off, is refused without --force.\n\
    Exit codes: 0 sent, also without a texture, 1 refused, or its import has failed")]
pub(super) struct CommitArgs {
    /// Drafts below rawmodels/
    #[arg(required = true, add = ArgValueCompleter::new(completers::models))]
    paths: Vec<PathBuf>,
    /// Send even if files seem to be missing
    #[arg(long)]
    force: bool,
}

pub(super) fn commit(args: &CommitArgs) -> Result<Exit> {
    let lacking = match args.force {
        true => Lacking::Sent,
        false => Lacking::Refused,
    };
    each(&args.paths, |path| {
        commit_at(path, lacking)?;
        if let Some(warning) = mounted::warning(path) {
            eprintln!("assetfs: {}: {warning}", shell_quoted(path));
        }
        Ok(())
    })
}

/// Whether a draft is sent that lacks files which its model names, or that is incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lacking {
    Refused,
    Sent,
}

impl Lacking {
    /// The command of the drive that sends a draft.
    fn order(self) -> &'static str {
        match self {
            Lacking::Refused => "commit",
            Lacking::Sent => "commit --force",
        }
    }
}

/// Sends the command and waits until it ends. If the service does not answer, it does not wait: the draft is sent
/// later.
pub(super) fn commit_at(path: &Path, lacking: Lacking) -> Result<()> {
    commit_until(path, lacking, || Ok(false))
}

/// The same, but waits no longer than until `is_enough`, which is asked again and again.
pub(super) fn commit_until(
    path: &Path,
    lacking: Lacking,
    is_enough: impl Fn() -> Result<bool>,
) -> Result<()> {
    let drive = MountedDrive::of(path)?;
    let (tell, outcome) = mpsc::channel();
    let ordered = path.to_owned();
    std::thread::spawn(move || {
        // The receiver is gone if the wait ended early.
        let _ = tell.send(command_at(&ordered, lacking.order()));
    });
    let begun = Instant::now();
    loop {
        match outcome.recv_timeout(POLL_PERIOD) {
            Ok(done) => return done,
            Err(RecvTimeoutError::Disconnected) => bail!("the command to send it was lost"),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if is_enough()? {
            return Ok(());
        }
        let status = drive.status()?;
        if begun.elapsed() >= ORDER_DEADLINE && !status.online {
            bail!(
                "{}: {}; the draft is kept and is sent when the service answers",
                shell_quoted(path),
                status.offline_because.unwrap_or_default()
            );
        }
    }
}

/// Cancel drafts and their uploads
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: assetfs cancel ~/assets/rawmodels/chair\nExample: assetfs cancel --orphan 1042"
)]
pub(super) struct CancelArgs {
    /// Drafts below rawmodels/; of a model, its new version that is not complete
    #[arg(add = ArgValueCompleter::new(completers::models))]
    paths: Vec<PathBuf>,
    /// Remove an upload that began on the service without an answer (`assetfs status` lists them)
    #[arg(long, value_name = "ID", conflicts_with = "paths")]
    orphan: Option<u64>,
    /// The drive of the orphan, if several are mounted
    #[arg(long, value_name = "DIR", requires = "orphan")]
    drive: Option<PathBuf>,
}

pub(super) fn cancel(args: &CancelArgs) -> Result<Exit> {
    match args.orphan {
        Some(id) => {
            let drive = MountedDrive::at_or_only(
                args.drive.as_deref(),
                &format!("cancel --orphan {id} --drive"),
            )?;
            drive.order(&format!("cancel --orphan {id}"))?;
            Ok(Exit::Done)
        }
        None if args.paths.is_empty() => {
            Err(WrongUse("name a draft, or an orphan with --orphan ID".to_owned()).into())
        }
        None => each(&args.paths, |path| command_at(path, "cancel")),
    }
}

/// Try a failed upload or import again
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: assetfs retry ~/assets/rawmodels/chair")]
pub(super) struct RetryArgs {
    /// Drafts or models below rawmodels/
    #[arg(required = true, add = ArgValueCompleter::new(completers::models))]
    paths: Vec<PathBuf>,
}

pub(super) fn retry(args: &RetryArgs) -> Result<Exit> {
    each(&args.paths, |path| command_at(path, "retry"))
}

/// Run optimizations: of models with a preset, of texts again, or of what is stale; each costs a point
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: assetfs run ~/assets/rawmodels/chair/optimize/web.json\n\
    Example: assetfs run --preset 'Web Viewer' ~/assets/rawmodels/.assetfs/search/oak\n\
    Example: assetfs run --stale --dry-run ~/assets\n\
    With --preset, a model that has a result of the preset costs nothing. Without, a text runs again and costs another point.\n\
    A result is stale when its source model was replaced, or when the preset that its text names has changed."
)]
pub(super) struct RunArgs {
    /// Job texts in an optimize/, embeds/ or jobs/ folder; with --preset models; with --stale models, results or the drive. `-`
    /// reads paths, names of models or lines of `assetfs list --json` from standard input; a folder below
    /// rawmodels/.assetfs/search/ stands for the models in it
    #[arg(required_unless_present = "stale", add = ArgValueCompleter::new(completers::models))]
    paths: Vec<PathBuf>,
    /// Optimize models with this preset, each once: a preset of the account, a factory preset, or a file (.json, .rpdx); can be
    /// given several times
    #[arg(long = "preset", short, value_name = "PRESET", add = ArgValueCompleter::new(completers::presets))]
    presets: Vec<String>,
    /// Run the texts whose results are stale
    #[arg(long, conflicts_with = "presets")]
    stale: bool,
    /// Only say what would be run and what it costs
    #[arg(long, short = 'n')]
    dry_run: bool,
    /// Run them without a question
    #[arg(long, requires = "stale", conflicts_with = "dry_run")]
    yes: bool,
    #[command(flatten)]
    form: ListForm,
}

pub(super) fn run(args: &RunArgs) -> Result<Exit> {
    let paths = given_paths::all(&args.paths, args.form)?;
    if args.stale {
        if paths.is_empty() && !args.paths.is_empty() {
            return Ok(Exit::Done);
        }
        let (dry_run, yes) = (args.dry_run, args.yes);
        return run_stale(&paths, &StaleOptions { dry_run, yes });
    }
    if !args.presets.is_empty() {
        return run_presets(&args.presets, paths, args.dry_run);
    }
    if args.dry_run {
        for path in &paths {
            job_at(path)?;
            output::would_do(path);
        }
        run_presets::say_cost(paths.len());
        return Ok(Exit::Done);
    }
    for path in &paths {
        if let Err(error) = run_again(path) {
            return Ok(output::failed(Some(path), &error));
        }
        run_presets::begun(path, true);
    }
    Ok(Exit::Done)
}

/// Sends the text of a job again, also one that was sent.
pub(super) fn run_again(path: &Path) -> Result<()> {
    let (asset, order) = job_at(path)?;
    command_about(path, &asset, &order)
}

/// For the path of a job's text: the folder of its model, and the line for that folder's `ctl` file that runs the text.
fn job_at(path: &Path) -> Result<(PathBuf, String)> {
    MountedDrive::of(path)?;
    check_exists(path)?;
    let whole = std::path::absolute(path)?;
    let folder = whole.parent();
    let parts = (
        whole.file_name(),
        folder.and_then(Path::file_name),
        folder.and_then(Path::parent),
    );
    let (Some(name), Some(folder), Some(asset)) = parts else {
        return Err(no_job(path));
    };
    let (name, folder) = (name.to_string_lossy(), folder.to_string_lossy());
    if !["optimize", "embeds", "jobs"].contains(&folder.trim_end_matches('@')) {
        return Err(no_job(path));
    }
    // The folder is part of the command, because another folder may have a text of the same name.
    Ok((asset.to_owned(), format!("run {folder}/{name}")))
}

fn no_job(path: &Path) -> anyhow::Error {
    let path = shell_quoted(path);
    WrongUse(format!(
        "{path} is not a job: name a text in an optimize/, embeds/ or jobs/ folder"
    ))
    .into()
}

/// Set the scale factor of a model's exports
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: assetfs scale ~/assets/rawmodels/chair 0.01")]
pub(super) struct ScaleArgs {
    /// A model below rawmodels/
    #[arg(add = ArgValueCompleter::new(completers::models))]
    path: PathBuf,
    /// The factor, from 1e-9 to 1e9
    #[arg(value_parser = parse_factor, allow_negative_numbers = true)]
    factor: f64,
}

fn parse_factor(text: &str) -> Result<f64, String> {
    let factor = text.parse().ok();
    let factor = factor.filter(|factor| SCALES.contains(factor));
    factor.ok_or_else(|| "write a number, like 0.01, from 1e-9 to 1e9".to_owned())
}

pub(super) fn scale(args: &ScaleArgs) -> Result<Exit> {
    each(std::slice::from_ref(&args.path), |path| {
        command_at(path, &format!("scale {}", args.factor))
    })
}

/// Allow deletions without a limit for ten minutes
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: assetfs allow-delete ~/assets")]
pub(super) struct AllowDeleteArgs {
    /// A path in the drive; not needed if only one is mounted
    dir: Option<PathBuf>,
}

pub(super) fn allow_delete(args: &AllowDeleteArgs) -> Result<Exit> {
    MountedDrive::at_or_only(args.dir.as_deref(), "allow-delete")?.order("allow-delete")?;
    Ok(Exit::Done)
}

/// Runs `give` for each path. Reports failures and continues.
fn each(paths: &[PathBuf], give: impl Fn(&Path) -> Result<()>) -> Result<Exit> {
    let mut exit = Exit::Done;
    for path in paths {
        match mounted::own_target(path).and_then(|path| give(&path)) {
            Ok(()) => output::done(path),
            Err(error) => exit = exit.max(output::failed(Some(path), &error)),
        }
    }
    Ok(exit)
}
