//! `assetfs wait`: waits until uploads, analyses and jobs are done; fails if one of them fails.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap_complete::engine::ArgValueCompleter;

use super::budget::Budget;
use super::completers;
use super::exit::{Exit, WrongUse};
use super::files::is_json;
use super::mounted::{self, ItemReport, MountedDrive, POLL_PERIOD};
use super::output;
use super::progress::Progress;
use super::result_facts::ResultFacts;
use super::result_warnings;
use super::settings::Span;
use crate::drive::{StatusWord, TransferStatus};
use crate::fuse::shell_quoted;

/// How long a text without a job counts as still being written.
const WRITING: Duration = Duration::from_secs(5);

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

/// The progress of one path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum State {
    Going(StatusWord, String),
    Done(StatusWord, String),
    Failed(StatusWord, String),
}

pub(super) fn run(args: &WaitArgs) -> Result<Exit> {
    output::about(output::only(&args.paths), wait_and_report(args))
}

fn wait_and_report(args: &WaitArgs) -> Result<Exit> {
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
    output::is_list();
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

/// Refuses a budget for a source model: there is no result to measure, so every budget would pass.
fn check_has_results(args: &WaitArgs) -> Result<()> {
    let is_source = |path: &&PathBuf| {
        let whole = std::path::absolute(path).unwrap_or_default();
        whole.parent().is_some_and(|it| it.ends_with("rawmodels"))
    };
    let source = args.paths.iter().find(is_source);
    match source.filter(|_| !args.budget.is_empty()) {
        Some(source) => Err(WrongUse(format!(
            "{0} is a source model, and a budget is about results; name its results with {0}/optimize",
            shell_quoted(source)
        ))
        .into()),
        None => Ok(()),
    }
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

/// What is waited for.
struct Target {
    path: PathBuf,
    /// Set if the path is the draft of a new version. A complete version gets the name of the model, and this path disappears.
    version: Option<Version>,
}

/// The model that a draft becomes a new version of.
struct Version {
    model: PathBuf,
    /// The id of the version that it replaces.
    old: Option<String>,
}

impl Target {
    /// `gone_since` is when the path of a version was missing first.
    fn state(&self, gone_since: &mut Option<Instant>) -> Result<State> {
        let state = state_of(&self.path);
        let is_gone = || {
            let found = self.path.symlink_metadata();
            found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        };
        match &self.version {
            Some(version) if state.is_err() && is_gone() => version.state_at_the_name(gone_since),
            _ => state,
        }
    }
}

impl Version {
    fn state_at_the_name(&self, gone_since: &mut Option<Instant>) -> Result<State> {
        let now = mounted::item_id(&self.model)?;
        if now.is_some() && now != self.old {
            return state_of(&self.model);
        }
        let since = gone_since.get_or_insert_with(Instant::now);
        Ok(match since.elapsed() < NAME_PATIENCE {
            true => State::Going(
                StatusWord::Importing,
                "the new version takes the name".into(),
            ),
            false => State::Failed(
                StatusWord::Failed,
                "the new version was cancelled or removed".into(),
            ),
        })
    }
}

/// The result of a wait.
pub(super) struct WaitOutcome {
    pub(super) states: Vec<(PathBuf, State)>,
    pub(super) exit: Exit,
}

/// How long to wait for a draft that is empty or has missing files: the copy may still be running.
const MISSING_FILES_PATIENCE: Duration = Duration::from_secs(60);

/// How long to wait until a complete new version has the name of the model.
pub(super) const NAME_PATIENCE: Duration = Duration::from_secs(10);

/// A status, and since when a path has it.
struct StatusTimer {
    text: String,
    since: Instant,
    /// When its path was missing first.
    gone_since: Option<Instant>,
}

impl StatusTimer {
    fn new() -> StatusTimer {
        StatusTimer {
            text: String::new(),
            since: Instant::now(),
            gone_since: None,
        }
    }

    /// The state; a failure if the status will not change without the user.
    fn judge(&mut self, state: State) -> State {
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
pub(super) fn patience_in(state: &StatusWord) -> Option<Duration> {
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

/// Waits for all of `paths`, showing progress.
pub(super) fn wait_for(
    paths: &[PathBuf],
    timeout: Option<Duration>,
    quiet: bool,
) -> Result<WaitOutcome> {
    let target = |path: &PathBuf| Target {
        path: path.clone(),
        version: None,
    };
    let targets: Vec<Target> = paths.iter().map(target).collect();
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

/// The paths to wait for: an `optimize/` folder means the jobs in it, a model also the new version of it that is being sent.
fn targets(paths: &[PathBuf]) -> Result<Vec<Target>> {
    let mut targets = BTreeSet::new();
    let mut versions = BTreeMap::new();
    for path in paths {
        // The parent folder determines what a name is; a relative name may have no parent.
        let path = &mounted::own_target(&std::path::absolute(path)?)?;
        let drive = MountedDrive::of(path)?;
        if !versions.contains_key(drive.root()) && !is_job_folder(path) {
            versions.insert(drive.root().to_owned(), versions_under_way(&drive)?);
        }
        if path.canonicalize().is_ok_and(|path| path == drive.root()) {
            targets.extend(under_way(&drive)?);
        } else if is_job_folder(path) {
            for entry in fs::read_dir(path).with_context(|| path.display().to_string())? {
                let path = entry?.path();
                if is_json(&path) {
                    targets.insert(path);
                }
            }
        } else {
            let version = path.canonicalize().ok();
            let version = version.and_then(|model| versions[drive.root()].get(&model));
            targets.extend(version.cloned());
            targets.insert(path.clone());
        }
    }
    let pairs = versions.values().flatten();
    let models: BTreeMap<&Path, &Path> = pairs
        .map(|(model, draft)| (draft.as_path(), model.as_path()))
        .collect();
    let target = |path: PathBuf| {
        let whole = path.canonicalize().ok();
        let model = whole.and_then(|whole| models.get(whole.as_path()));
        let version = model.map(|model| Version {
            model: (*model).to_owned(),
            old: mounted::item_id(model).ok().flatten(),
        });
        Target { path, version }
    };
    Ok(targets.into_iter().map(target).collect())
}

/// The drafts that become new versions of models, by the paths of the models.
fn versions_under_way(drive: &MountedDrive) -> Result<BTreeMap<PathBuf, PathBuf>> {
    let root = drive.root().canonicalize()?;
    let below = |path: &str| root.join(path.trim_start_matches('/'));
    let drafts = drive.status()?.drafts.into_iter();
    let sent = drafts.filter(|draft| !draft.stuck);
    let pairs =
        sent.filter_map(|draft| Some((below(draft.replaces.as_deref()?), below(&draft.path))));
    Ok(pairs.collect())
}

/// The unfinished drafts and jobs of a drive.
fn under_way(drive: &MountedDrive) -> Result<Vec<PathBuf>> {
    let status = drive.status()?;
    let drafts = status.drafts.into_iter().map(|draft| draft.path);
    let jobs = status.jobs.into_iter().map(|job| job.path);
    let below = |path: String| drive.root().join(path.trim_start_matches('/'));
    Ok(drafts.chain(jobs).map(below).collect())
}

fn is_job_folder(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name == "optimize" || name == "jobs" || name == "embeds")
        && path.is_dir()
}

/// The state of a model or a job.
pub(super) fn state_of(path: &Path) -> Result<State> {
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

/// The text of a job that is named by it (`web.json`), by its result (`web`) or by its status file.
fn job_text(path: &Path) -> Option<PathBuf> {
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
