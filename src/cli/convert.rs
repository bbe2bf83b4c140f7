//! `assetfs convert`: asks the service for other formats of a model, and waits for them.

use std::fs;
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
        Some(controls) if !args.no_wait => failed_of(&jobs_in(controls)?, &args.formats),
        _ => 0,
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
    let Some(jobs) = wait_for(&controls, &mut task, limit)? else {
        eprintln!(
            "assetfs: {path}: converting to {formats} takes longer; it goes on in the background"
        );
        return Ok(Exit::TimedOut);
    };
    // The files show at once, not only after the refresh time.
    command_at(&args.path, "refresh")?;
    if failed_of(&jobs, &args.formats) > before {
        task.finish("failed");
        bail!("{path}: converting to {formats} failed{}", reason_of(&jobs));
    }
    task.finish("done");
    Ok(Exit::Done)
}

/// Waits until no conversion of the model is left; `None` after the time limit.
fn wait_for(
    controls: &Path,
    task: &mut Task,
    limit: Option<Duration>,
) -> Result<Option<Vec<ConversionJob>>> {
    let begun = Instant::now();
    let mut pause = PAUSE;
    loop {
        let jobs = jobs_in(controls)?;
        let Some(going) = jobs.iter().find(|job| !is_over(job)) else {
            return Ok(Some(jobs));
        };
        task.show(&match going.status {
            ConversionStatus::Executing => format!("converting {}%", going.progress.min(100)),
            _ => "queued".to_owned(),
        });
        if limit.is_some_and(|limit| begun.elapsed() >= limit) {
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (pause * 5 / 4).min(LONGEST_PAUSE);
    }
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

/// The number of failed conversions to any of `formats`.
fn failed_of(jobs: &[ConversionJob], formats: &[String]) -> usize {
    let is_named = |format: &String| formats.iter().any(|it| it.eq_ignore_ascii_case(format));
    let failed = jobs
        .iter()
        .filter(|job| job.status == ConversionStatus::Failed);
    failed
        .filter(|job| job.formats.iter().any(is_named))
        .count()
}

fn reason_of(jobs: &[ConversionJob]) -> String {
    let failed = jobs
        .iter()
        .filter(|job| job.status == ConversionStatus::Failed);
    let mut reasons = failed.filter_map(|job| job.other.get("message")?.as_str());
    match reasons.next_back() {
        Some(reason) => format!(": {reason}"),
        None => "; the service does not say why".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_that_of_a_conversion_to_one_of_the_formats() {
        let jobs: Vec<ConversionJob> = serde_json::from_str(
            r#"[{"status": "failed", "formats": ["fbx"], "message": "old"},
                {"status": "failed", "formats": ["usdz", "obj"], "message": "no faces"},
                {"status": "executing", "formats": ["obj"], "progress": 40}]"#,
        )
        .unwrap();
        let formats = |names: &[&str]| {
            names
                .iter()
                .map(|name| (*name).to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(failed_of(&jobs, &formats(&["OBJ"])), 1);
        assert_eq!(failed_of(&jobs, &formats(&["stl"])), 0);
        assert_eq!(reason_of(&jobs), ": no faces");
        assert_eq!(jobs.iter().filter(|job| is_over(job)).count(), 2);
    }
}
