//! `assetfs convert`: asks the service for other formats of a model, and waits for them.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::fuse::shell_quoted;
use crate::wire::{ConversionJob, ConversionStatus};

use super::Exit;
use super::mounted::{self, MountedDrive, command_at, explain_at};
use super::progress::{Progress, Task};
use super::settings::Span;

/// Pause between two looks at the conversions. Each look is one request.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How long a conversion may be missing in the list after the service took the request.
const UNLISTED: Duration = Duration::from_secs(60);
/// How long looks may fail one after the other.
const SILENCE: Duration = Duration::from_secs(120);

/// Convert a model to other formats
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: assetfs convert ~/assets/rawmodels/chair usdz obj\n\
    The files appear in converted/. Exit codes: 0 done, 1 failed, 3 timed out (the service goes on)"
)]
pub(super) struct ConvertArgs {
    /// A model below rawmodels/
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
}

pub(super) fn run(args: &ConvertArgs) -> Result<Exit> {
    let drive = MountedDrive::of(&args.path)?;
    mounted::check_exists(&args.path)?;
    // A loose file has no folder of its own: the id names the folder of its model.
    let id = mounted::item_id(&args.path)?;
    let controls = id.map(|id| {
        let by_id = drive.root().join("rawmodels/.assetfs/by-id");
        by_id.join(id).join(".assetfs")
    });
    let before = match &controls {
        Some(controls) if !args.no_wait => jobs_in(controls)?,
        _ => Vec::new(),
    };
    command_at(&args.path, &format!("convert {}", args.formats.join(" ")))?;
    let path = shell_quoted(&args.path);
    let formats = args.formats.join(", ");
    let Some(controls) = controls.filter(|_| !args.no_wait) else {
        if !args.quiet {
            eprintln!(
                "The service converts {path} to {formats} in the background; the files appear in its converted/ folder."
            );
        }
        return Ok(Exit::Done);
    };
    let mut task = Progress::new(args.quiet).task(format!("{path} to {formats}"));
    let limit = args.timeout.map(|limit| limit.0);
    let request = Request::new(&before, &args.formats);
    match wait_for(&controls, request, &mut task, limit)? {
        None => {
            eprintln!(
                "assetfs: {path}: converting to {formats} takes longer; it goes on in the background"
            );
            return Ok(Exit::TimedOut);
        }
        Some(Err(reason)) => {
            task.finish("failed");
            bail!("{path}: converting to {formats} failed{reason}");
        }
        Some(Ok(())) => {}
    }
    // The files show at once, not only after the refresh time.
    command_at(&args.path, "refresh")?;
    task.finish("done");
    Ok(Exit::Done)
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
            Err(error) if answered.elapsed() >= SILENCE || is_drive_gone(&error) => {
                return Err(error);
            }
            Err(_) => task.show("waiting for the service"),
        }
        if limit.is_some_and(|limit| begun.elapsed() >= limit) {
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (pause * 5 / 4).min(LONGEST_PAUSE);
    }
}

fn is_drive_gone(error: &anyhow::Error) -> bool {
    let code = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<io::Error>()?.raw_os_error()
    };
    error
        .chain()
        .filter_map(code)
        .any(|code| code == libc::ENOTCONN)
}

/// What was asked for, and which of the listed conversions belong to it.
struct Request {
    formats: Vec<String>,
    /// Conversions that were over before it.
    old: Vec<ConversionJob>,
    /// Formats whose conversion was seen in progress.
    seen: HashSet<String>,
}

/// How far a request is.
#[derive(Debug, PartialEq)]
enum Stage {
    /// With what is shown of it.
    Going(String),
    /// Done, or the end of the sentence that says why not.
    Over(Result<(), String>),
}

impl Request {
    fn new(before: &[ConversionJob], formats: &[String]) -> Request {
        let lower = |format: &String| format.to_ascii_lowercase();
        Request {
            formats: formats.iter().map(lower).collect(),
            old: before.iter().filter(|job| is_over(job)).cloned().collect(),
            seen: HashSet::new(),
        }
    }

    /// Conversions have no ids: those of the request name a format of it and were not over before. `is_new` says that a
    /// conversion may not be listed yet.
    fn look(&mut self, jobs: &[ConversionJob], is_new: bool) -> Stage {
        let mut old = self.old.clone();
        let mut own: Vec<&ConversionJob> = jobs.iter().collect();
        own.retain(|job| match old.iter().position(|known| known == *job) {
            Some(place) => {
                old.remove(place);
                false
            }
            None => true,
        });
        let mut failure = None;
        for format in &self.formats {
            let mut found = own.iter().copied().rfind(|job| names(job, format));
            if found.is_none() && self.seen.contains(format) {
                // The same outcome as before: its record looks like that of the earlier conversion.
                found = jobs.iter().rfind(|job| names(job, format));
            }
            match found {
                Some(job) if job.status == ConversionStatus::Failed => {
                    failure = Some(reason_of(job));
                }
                Some(job) if is_over(job) => {}
                Some(job) => {
                    self.seen.insert(format.clone());
                    return Stage::Going(match &job.status {
                        ConversionStatus::Executing => {
                            format!("converting {}%", job.progress.min(100))
                        }
                        _ => "queued".to_owned(),
                    });
                }
                None if is_new => return Stage::Going("queued".to_owned()),
                None => failure = Some("; the service does not list it".to_owned()),
            }
        }
        Stage::Over(failure.map_or(Ok(()), Err))
    }
}

fn names(job: &ConversionJob, format: &str) -> bool {
    job.formats
        .iter()
        .any(|known| known.eq_ignore_ascii_case(format))
}

fn jobs_in(controls: &Path) -> Result<Vec<ConversionJob>> {
    let path = controls.join("formats.json");
    let text = fs::read(&path).map_err(|error| explain_at(&path, error))?;
    serde_json::from_slice(&text).with_context(|| format!("cannot understand {}", path.display()))
}

fn is_over(job: &ConversionJob) -> bool {
    matches!(
        job.status,
        ConversionStatus::Finished | ConversionStatus::Failed
    )
}

/// The end of a sentence about a conversion that failed.
fn reason_of(job: &ConversionJob) -> String {
    let message = job.other.get("message").and_then(|text| text.as_str());
    match message {
        Some(reason) => format!(": {reason}"),
        None => "; the service does not say why".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs(text: &str) -> Vec<ConversionJob> {
        serde_json::from_str(text).unwrap()
    }

    fn request(before: &str, formats: &[&str]) -> Request {
        let formats: Vec<String> = formats.iter().map(|name| (*name).to_owned()).collect();
        Request::new(&jobs(before), &formats)
    }

    fn failed(reason: &str) -> Stage {
        Stage::Over(Err(reason.to_owned()))
    }

    const OLD: &str = r#"{"status": "failed", "formats": ["fbx"], "message": "old"},
        {"status": "finished", "formats": ["obj"], "progress": 100}"#;

    #[test]
    fn a_request_is_over_when_its_own_conversions_are() {
        let mut request = request(&format!("[{OLD}]"), &["OBJ", "usdz"]);
        let mut look = |more: &str| request.look(&jobs(&format!("[{OLD}{more}]")), false);
        let other = r#", {"status": "executing", "formats": ["stl"], "progress": 3}"#;
        let first = r#", {"status": "executing", "formats": ["obj"], "progress": 40}"#;
        assert_eq!(
            look(&format!("{first}{other}")),
            Stage::Going("converting 40%".to_owned())
        );
        let done = r#", {"status": "finished", "formats": ["obj", "usdz"], "progress": 100}"#;
        assert_eq!(look(&format!("{done}{other}")), Stage::Over(Ok(())));
    }

    #[test]
    fn the_reason_is_that_of_a_requested_format() {
        let before = r#"{"status": "failed", "formats": ["obj"], "message": "before"}"#;
        let mut request = request(&format!("[{before}]"), &["obj"]);
        let now = r#"{"status": "failed", "formats": ["obj"], "message": "no faces"},
            {"status": "failed", "formats": ["fbx"], "message": "of another format"}"#;
        let now = jobs(&format!("[{now}, {before}]"));
        assert_eq!(request.look(&now, false), failed(": no faces"));
    }

    #[test]
    fn one_of_several_formats_that_fails_is_a_failure() {
        let mut request = request("[]", &["obj", "usdz"]);
        let now = r#"[{"status": "failed", "formats": ["obj"]},
            {"status": "finished", "formats": ["usdz"], "progress": 100}]"#;
        let outcome = request.look(&jobs(now), false);
        assert_eq!(outcome, failed("; the service does not say why"));
    }

    #[test]
    fn a_conversion_that_ends_as_the_one_before_is_over_too() {
        let old = r#"[{"status": "failed", "formats": ["obj"], "message": "no faces"}]"#;
        let mut request = request(old, &["obj"]);
        // First only the old conversion is listed, then the new one has replaced it.
        assert_eq!(
            request.look(&jobs(old), true),
            Stage::Going("queued".to_owned())
        );
        let going = r#"[{"status": "queued", "formats": ["obj"]}]"#;
        assert_eq!(
            request.look(&jobs(going), false),
            Stage::Going("queued".to_owned())
        );
        assert_eq!(request.look(&jobs(old), false), failed(": no faces"));
    }

    #[test]
    fn a_conversion_that_is_never_listed_is_a_failure() {
        let mut request = request("[]", &["obj"]);
        assert_eq!(request.look(&[], true), Stage::Going("queued".to_owned()));
        assert_eq!(
            request.look(&[], false),
            failed("; the service does not list it")
        );
    }

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
        let outcome = wait_for(&controls, request("[]", &["obj"]), &mut task, None).unwrap();
        assert_eq!(outcome, Some(Ok(())));
        writer.join().unwrap();
    }
}
