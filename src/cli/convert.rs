//! `assetfs convert`: asks the service for the formats that a model does not have, and waits for them.

mod present;
mod request;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap_complete::engine::ArgValueCompleter;

use crate::fuse::shell_quoted;
use crate::wire::ConversionJob;

use super::at_once::for_each_with_exit;
use super::completers;
use super::exit::Exit;
use super::given_paths::{self, ListForm};
use super::mounted::{self, MountedDrive, command_at, explain_at, has_drive_ended, own_target};
use super::output;
use super::progress::{Progress, Task};
use super::settings::Span;
use super::unanswered;
use present::Plan;
use request::{Request, Stage};

/// Pause between two looks at the conversions. Each look is one request.
const PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(5);
/// How long a conversion may be missing in the list after the service took the request.
const UNLISTED: Duration = Duration::from_secs(60);
/// How long looks may fail one after the other.
const SILENCE: Duration = Duration::from_secs(120);

/// Convert a model to other formats
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: assetfs convert ~/assets/rawmodels/chair usdz obj\n\
    Example: assetfs convert ~/assets/rawmodels/.assetfs/search/oak usdz\n\
    The files appear in converted/. Exit codes: 0 done, 1 failed, 3 timed out (the service goes on)"
)]
pub(super) struct ConvertArgs {
    /// A model below rawmodels/; `-` reads paths, names of models or lines of `assetfs list --json` from standard input; a folder
    /// below rawmodels/.assetfs/search/ stands for the models in it
    #[arg(add = ArgValueCompleter::new(completers::models))]
    path: PathBuf,
    /// Formats; the files appear in its converted/ folder
    #[arg(required = true)]
    formats: Vec<String>,
    /// Return once the service has taken the request; it converts in the background
    #[arg(long, conflicts_with = "timeout")]
    no_wait: bool,
    /// Give up waiting after this time
    #[arg(long, value_name = "TIME")]
    timeout: Option<Span>,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    form: ListForm,
}

pub(super) fn run(args: &ConvertArgs) -> Result<Exit> {
    let _ends = unanswered::end_after(args.timeout);
    let paths = given_paths::all(std::slice::from_ref(&args.path), args.form)?;
    match paths.as_slice() {
        [path] if *path == args.path => output::about(Some(path), convert(args, path, args.quiet)),
        _ => Ok(for_each_with_exit("converting", paths, |path| {
            convert(args, &own_target(path)?, true)
        })),
    }
}

fn convert(args: &ConvertArgs, path: &Path, quiet: bool) -> Result<Exit> {
    mounted::check_exists(path)?;
    let Some(controls) = controls_of(path)? else {
        // Not a model, or still a draft: the drive says why that is impossible.
        command_at(path, &order(&args.formats))?;
        return Ok(Exit::Done);
    };
    let (plan, before) = order_missing(path, &controls, &args.formats)?;
    if !plan.present.is_empty() && !quiet {
        let are = if plan.present.len() == 1 { "is" } else { "are" };
        eprintln!("{} {are} there already.", plan.present.join(", "));
    }
    let end = match plan.awaited() {
        awaited if awaited.is_empty() => End::Done,
        _ if args.no_wait => End::Going,
        awaited => {
            let request = Request::new(&before, &awaited);
            let title = format!("{} to {}", shell_quoted(path), awaited.join(", "));
            let task = Progress::new(quiet).task(title);
            wait_with_progress(path, &controls, request, task, args.timeout)?
        }
    };
    if output::is_json() {
        print_report(path, &plan, &end);
    }
    Ok(end.conclude(path, quiet, &plan.awaited().join(", ")))
}

/// Asks the service for the formats that the model does not have. The service refuses a whole request if another machine has
/// just asked for one of its formats; then the rest is asked for. Returns the conversions that were listed before the request,
/// too.
fn order_missing(
    path: &Path,
    controls: &Path,
    formats: &[String],
) -> Result<(Plan, Vec<ConversionJob>)> {
    let mut refused: Option<(usize, anyhow::Error)> = None;
    loop {
        // What exists is what the service lists now.
        command_at(path, "refresh")?;
        let before = jobs_in(controls)?;
        let plan = Plan::of(formats, controls, &before)?;
        let count = plan.missing.len();
        match refused {
            Some((missing, error)) if count >= missing => return Err(error),
            _ if count == 0 => return Ok((plan, before)),
            _ => {}
        }
        match command_at(path, &order(&plan.missing)) {
            Ok(()) => return Ok((plan, before)),
            Err(error) => refused = Some((count, error)),
        }
    }
}

/// The hidden folder of the model at `path`; `None` if there is no uploaded model. A loose file has no folder of its
/// own: the id names that of its model.
fn controls_of(path: &Path) -> Result<Option<PathBuf>> {
    let drive = MountedDrive::of(path)?;
    let canonical = |path: &Path| fs::canonicalize(path).map_err(|error| explain_at(path, error));
    // Optimized models have ids as well.
    let source_models = canonical(drive.root())?.join("rawmodels");
    if canonical(path)?.parent() != Some(&source_models) {
        return Ok(None);
    }
    let by_id = source_models.join(".assetfs/by-id");
    Ok(mounted::item_id(path)?.map(|id| by_id.join(id).join(".assetfs")))
}

fn order(formats: &[String]) -> String {
    format!("convert {}", formats.join(" "))
}

/// How a command ended for the formats that were not there.
#[derive(Debug, PartialEq)]
enum End {
    Done,
    /// The service goes on without being watched.
    Going,
    TimedOut,
    /// With the end of the sentence that says why.
    Failed(String),
}

impl End {
    /// Prints the outcome, except for success, and returns the exit code. `formats`: the formats that were waited for.
    fn conclude(self, path: &Path, quiet: bool, formats: &str) -> Exit {
        let path = shell_quoted(path);
        match self {
            End::Done => Exit::Done,
            End::Going => {
                if !quiet {
                    eprintln!(
                        "The service converts {path} to {formats} in the background; the files appear in its converted/ folder."
                    );
                }
                Exit::Done
            }
            End::TimedOut => {
                eprintln!(
                    "assetfs: {path}: converting to {formats} is not finished yet; it continues in the background"
                );
                Exit::TimedOut
            }
            End::Failed(reason) => {
                eprintln!("assetfs: {path}: converting to {formats} failed{reason}");
                Exit::Failed
            }
        }
    }
}

/// The answer of `--json`.
fn print_report(path: &Path, plan: &Plan, end: &End) {
    let (state, reason, exit) = match end {
        End::Done => ("done", None, Exit::Done),
        End::Going => ("running", None, Exit::Done),
        End::TimedOut => ("running", None, Exit::TimedOut),
        End::Failed(reason) => {
            let reason = reason.trim_start_matches([':', ';', ' ']);
            ("failed", Some(reason), Exit::Failed)
        }
    };
    let report = serde_json::json!({
        "path": path.to_string_lossy(),
        "state": state,
        "present": plan.present,
        "requested": plan.awaited(),
        "reason": reason,
        "exit": exit.code(),
    });
    output::line(report);
}

fn wait_with_progress(
    path: &Path,
    controls: &Path,
    request: Request,
    mut task: Task,
    timeout: Option<Span>,
) -> Result<End> {
    let limit = timeout.map(|limit| limit.0);
    let end = match wait_for(controls, request, &mut task, limit)? {
        None => End::TimedOut,
        Some(Err(reason)) => {
            task.finish("failed");
            End::Failed(reason)
        }
        Some(Ok(())) => {
            // The files show at once, not only after the refresh time.
            command_at(path, "refresh")?;
            task.finish("done");
            End::Done
        }
    };
    Ok(end)
}

/// Waits until the conversions of a request are over: done, or failed with a reason. `None` after the time limit.
fn wait_for(
    controls: &Path,
    mut request: Request,
    task: &mut Task,
    limit: Option<Duration>,
) -> Result<Option<Result<(), String>>> {
    let begun = Instant::now();
    let mut answered = begun;
    let mut pause = PAUSE;
    loop {
        match jobs_in(controls) {
            Ok(jobs) => {
                answered = Instant::now();
                match request.look(&jobs, begun.elapsed() < UNLISTED) {
                    Stage::Going(shown) => task.show(&shown),
                    Stage::Over(outcome) => return Ok(Some(outcome)),
                }
            }
            // A service that does not answer for a moment goes on with the conversion.
            Err(error) if answered.elapsed() >= SILENCE || has_drive_ended(&error) => {
                return Err(error);
            }
            Err(_) => task.show("waiting for the service"),
        }
        if limit.is_some_and(|limit| begun.elapsed() >= limit) {
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (pause * 5 / 4).min(MAX_PAUSE);
    }
}

fn jobs_in(controls: &Path) -> Result<Vec<ConversionJob>> {
    let path = controls.join("formats.json");
    let text = fs::read(&path).map_err(|error| explain_at(&path, error))?;
    serde_json::from_slice(&text).with_context(|| format!("cannot understand {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_that_is_silent_for_a_moment_does_not_end_the_wait() {
        let folder = tempfile::tempdir().unwrap();
        let controls = folder.path().to_owned();
        let file = controls.join("formats.json");
        let writer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            let done = r#"[{"status": "finished", "formats": ["obj"], "progress": 100}]"#;
            fs::write(file, done).unwrap();
        });
        let mut task = Progress::new(true).task("conversion".to_owned());
        let outcome = wait_for(
            &controls,
            Request::new(&[], &["obj".to_owned()]),
            &mut task,
            None,
        )
        .unwrap();
        assert_eq!(outcome, Some(Ok(())));
        writer.join().unwrap();
    }
}
