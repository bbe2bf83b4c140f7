//! `assetfs wait`: waits until uploads, analyses and jobs are done; fails if one of them fails.

mod state;
mod targets;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Result;
use clap_complete::engine::ArgValueCompleter;

use super::budget::Budget;
use super::completers;
use super::exit::{Exit, WrongUse};
use super::mounted::{MountedDrive, POLL_PERIOD};
use super::output;
use super::progress::Progress;
use super::result_facts::ResultFacts;
use super::result_warnings;
use super::settings::Span;
use super::unanswered;
use crate::drive::{StatusWord, TransferStatus};
use crate::fuse::{self, shell_quoted};

pub(super) use self::state::{State, patience_in, state_of};
use self::state::{StatusTimer, job_text};
pub(super) use self::targets::NAME_PATIENCE;
use self::targets::{Target, targets};

/// Wait until models are ready or jobs are done
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: cp -r chair ~/assets/rawmodels/ && assetfs wait ~/assets/rawmodels/chair\n\
    Example: assetfs wait ~/assets/rawmodels/chair/optimize/web.json --timeout 10m\n\
    Example: assetfs wait\n\
    Example: assetfs wait ~/assets/rawmodels/chair/optimize/web.json --max-bytes 2M --deny missing-file\n\
    Exit codes: 0 all done, 1 one failed, exceeds the budget, or needs your help (a draft that stays empty or incomplete for a minute),\n\
    3 timed out"
)]
pub(super) struct WaitArgs {
    /// Models, optimized models, job texts, or the folders optimize/, embeds/ and jobs/; a drive means all drafts and jobs in it, and is not
    /// needed if you mounted only one
    #[arg(add = ArgValueCompleter::new(completers::models))]
    paths: Vec<PathBuf>,
    /// Give up after this time
    #[arg(long, value_name = "TIME")]
    timeout: Option<Span>,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    budget: Budget,
}

pub(super) fn run(args: &WaitArgs) -> Result<Exit> {
    output::about(output::only(&args.paths), wait_and_report(args))
}

fn wait_and_report(args: &WaitArgs) -> Result<Exit> {
    let _ends = unanswered::end_after(args.timeout);
    check_has_results(args)?;
    let targets = match args.paths.as_slice() {
        [] => {
            let drive = MountedDrive::at_or_only(None, "wait")?;
            targets(&[drive.root().to_owned()])?
        }
        paths => targets(paths)?,
    };
    if targets.is_empty() && !args.quiet {
        eprintln!("Nothing is under way.");
    }
    let outcome = wait_for_targets(&targets, args.timeout.map(|span| span.0), args.quiet)?;
    let mut exit = outcome.exit;
    for (path, state) in outcome.states {
        match exceeded_by(&path, &state, &args.budget) {
            Some(why) => {
                exit = exit.max(Exit::Failed);
                report(
                    &path,
                    &State::Failed(StatusWord::Failed, why),
                    "",
                    args.quiet,
                );
            }
            None => report(&path, &state, &end_for(&path), args.quiet),
        }
    }
    Ok(exit)
}

/// Refuses a budget for a source model and for a whole drive: there is no result to measure, or only those that are not done yet,
/// so every budget could pass.
fn check_has_results(args: &WaitArgs) -> Result<()> {
    if args.budget.is_empty() {
        return Ok(());
    }
    let is_source = |path: &Path| {
        let whole = std::path::absolute(path).unwrap_or_default();
        whole.parent().is_some_and(|it| it.ends_with("rawmodels"))
    };
    let is_drive = |path: &Path| {
        let whole = path.canonicalize().ok();
        whole.is_some_and(|it| fuse::mounts().is_ok_and(|mounts| mounts.contains(&it)))
    };
    let whole_drive = "a budget is about results, and a drive means only what is under way in it; name the results, as in \
                       `assetfs wait ~/assets/rawmodels/*/optimize --max-bytes 2M`";
    if args.paths.is_empty() {
        return Err(WrongUse(whole_drive.to_owned()).into());
    }
    for path in &args.paths {
        if is_source(path) {
            return Err(WrongUse(format!(
                "{0} is a source model, and a budget is about results; name its results with {0}/optimize",
                shell_quoted(path)
            ))
            .into());
        }
        if is_drive(path) {
            return Err(WrongUse(whole_drive.to_owned()).into());
        }
    }
    Ok(())
}

/// What of the budget the result of a path exceeds.
fn exceeded_by(path: &Path, state: &State, budget: &Budget) -> Option<String> {
    if budget.is_empty() || !matches!(state, State::Done(..)) {
        return None;
    }
    let result = measured(path)?;
    let exceeded = budget.exceeded_by(&ResultFacts::on_drive(&result));
    (!exceeded.is_empty()).then(|| exceeded.join("; "))
}

/// The result that a budget is about; `None` for a source model and an embed.
fn measured(path: &Path) -> Option<PathBuf> {
    let has_result = match job_text(path) {
        Some(text) => !text.parent().is_some_and(|it| it.ends_with("embeds")),
        None => {
            let root = MountedDrive::of(path).ok()?.root().canonicalize().ok()?;
            path.canonicalize()
                .ok()?
                .starts_with(root.join("rapidmodels"))
        }
    };
    has_result.then(|| result_of(path))
}

/// Says how the wait for a path ended, and after a failure what to do.
fn report(path: &Path, state: &State, advice: &str, quiet: bool) {
    let shown = shell_quoted(path);
    let (word, status, reason, exit) = match state {
        State::Failed(word, text) => {
            let end = text.trim_end_matches('.');
            match advice {
                "" => eprintln!("assetfs: {shown}: {text}"),
                advice => eprintln!("assetfs: {shown}: {end}{advice}"),
            }
            (word, text, Some(text), Exit::Failed)
        }
        State::Going(word, text) => {
            eprintln!("assetfs: {shown}: timed out while {text}");
            (word, text, Some(text), Exit::TimedOut)
        }
        State::Done(word, text) => (word, text, None, Exit::Done),
    };
    let is_done = exit == Exit::Done;
    if is_done
        && !quiet
        && let Some(warning) = result_warnings::in_one_line(&result_of(path))
    {
        eprintln!("{shown}: {warning}");
    }
    if output::is_json() {
        let warnings = is_done.then(|| result_warnings::warnings_of(&result_of(path)));
        let warnings = warnings.unwrap_or_default();
        output::line(serde_json::json!({
            "path": path.to_string_lossy(),
            "state": word,
            "status": status,
            "reason": reason,
            "warning_codes": result_warnings::codes_of(&warnings),
            "warnings": warnings,
            "exit": exit.code(),
        }));
    }
}

/// The folder with what came of a path: the result of a job's text, or the model itself.
fn result_of(path: &Path) -> PathBuf {
    match job_text(path) {
        Some(text) => text.with_extension(""),
        None => path.to_owned(),
    }
}

/// How to be done with a job that failed: its text fails every later wait for the drive.
fn end_for(path: &Path) -> String {
    match job_text(path) {
        Some(text) => format!(
            ". If it is not needed any more, remove it: rm {}",
            shell_quoted(&text)
        ),
        None => String::new(),
    }
}

/// The result of a wait.
pub(super) struct WaitOutcome {
    pub(super) states: Vec<(PathBuf, State)>,
    pub(super) exit: Exit,
}

/// Waits for all of `paths`, showing progress.
pub(super) fn wait_for(
    paths: &[PathBuf],
    timeout: Option<Duration>,
    quiet: bool,
) -> Result<WaitOutcome> {
    let targets: Vec<Target> = paths.iter().map(|path| Target::of(path)).collect();
    wait_for_targets(&targets, timeout, quiet)
}

fn wait_for_targets(
    targets: &[Target],
    timeout: Option<Duration>,
    quiet: bool,
) -> Result<WaitOutcome> {
    let start = Instant::now();
    let progress = Progress::new(quiet);
    let mut tasks: Vec<_> = targets
        .iter()
        .map(|it| Some(progress.task(shell_quoted(&it.path))))
        .collect();
    let mut timers: Vec<_> = targets.iter().map(|_| StatusTimer::new()).collect();
    loop {
        let mut states = Vec::with_capacity(targets.len());
        for ((target, task), timer) in targets.iter().zip(&mut tasks).zip(&mut timers) {
            let path = &target.path;
            let state = target.state(&mut timer.gone_since)?;
            let state = timer.judge(state);
            match &state {
                State::Going(_, text) => {
                    if let Some(task) = task {
                        match task.is_watched().then(|| pace_of(path)).flatten() {
                            Some(pace) => task.show(&format!("{text}{pace}")),
                            None => task.show(text),
                        }
                    }
                }
                State::Done(_, text) => {
                    if let Some(task) = task.take() {
                        task.finish(text);
                    }
                }
                // The caller says why.
                State::Failed(..) => {
                    if let Some(task) = task.take() {
                        task.fail();
                    }
                }
            }
            states.push((path.clone(), state));
        }
        let going = states
            .iter()
            .any(|(_, state)| matches!(state, State::Going(..)));
        let failed = states
            .iter()
            .any(|(_, state)| matches!(state, State::Failed(..)));
        let late = timeout.is_some_and(|timeout| start.elapsed() >= timeout);
        if !going || late {
            let exit = match (going, failed) {
                (true, _) => Exit::TimedOut,
                (false, true) => Exit::Failed,
                (false, false) => Exit::Done,
            };
            return Ok(WaitOutcome { states, exit });
        }
        std::thread::sleep(POLL_PERIOD);
    }
}

/// Speed and remaining time of an upload, if the drive knows them.
fn pace_of(path: &Path) -> Option<String> {
    let drive = MountedDrive::of(path).ok()?;
    let path = path.canonicalize().ok()?;
    let below = path.strip_prefix(drive.root()).ok()?;
    let status = drive.status().ok()?;
    let is_it = |it: &&TransferStatus| Path::new(it.path.trim_start_matches('/')) == below;
    let transfer = status.transfers.iter().find(is_it)?;
    Some(super::status::pace(transfer))
}
