//! `assetfs events`: prints the changes on a drive as lines of JSON.

use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::exit::Exit;
use super::interrupts;
use super::mounted::MountedDrive;
use super::output;
use crate::drive::DriveEvent;
use crate::fuse::shell_quoted;

/// Lines that wait to be printed; the drive keeps the others.
const LINES_WAITING: usize = 64;

/// Print what changes on a drive, as lines of JSON
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: assetfs events ~/assets\n\
    Example: assetfs events ~/assets/rawmodels/chair | jq -r .state\n\
    Ends with Ctrl-C, and when the drive is unmounted. `cat ~/assets/.assetfs/events` prints the same without `schema`.")]
pub(super) struct EventsArgs {
    /// A drive, or a path in it: only what changes at or below the path is printed. The path may come later. Not needed
    /// if you mounted only one drive
    path: Option<PathBuf>,
}

pub(super) fn run(args: &EventsArgs) -> Result<Exit> {
    let drive = MountedDrive::at_or_only(args.path.as_deref(), "events")?;
    let below = match &args.path {
        Some(path) => path_in(&drive, path)?,
        None => String::new(),
    };
    if let Some(path) = &args.path
        && fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    {
        eprintln!(
            "assetfs: {} does not exist; its events are printed when it comes (Ctrl-C ends this)",
            shell_quoted(path)
        );
    }
    output::is_list();
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build();
    let runtime = runtime.context("cannot start the async runtime")?;
    runtime.block_on(follow(&drive, &below))
}

/// The path from the top of the drive, as events have it; empty for the drive itself.
fn path_in(drive: &MountedDrive, path: &Path) -> Result<String> {
    // The path need not exist yet, so only its folder is resolved.
    let whole = std::path::absolute(path)?;
    let resolved = whole.canonicalize().or_else(|_| {
        let folder = whole.parent().unwrap_or(&whole).canonicalize()?;
        Ok::<_, io::Error>(folder.join(whole.file_name().unwrap_or_default()))
    });
    let resolved = resolved.unwrap_or(whole);
    let below = resolved.strip_prefix(drive.root()).unwrap_or(Path::new(""));
    Ok(match below.as_os_str().is_empty() {
        true => String::new(),
        false => format!("/{}", below.display()),
    })
}

async fn follow(drive: &MountedDrive, below: &str) -> Result<Exit> {
    let stop = CancellationToken::new();
    interrupts::cancel_at_signal(&stop)?;
    let events = BufReader::new(drive.events()?);
    let (send, mut lines) = mpsc::channel(LINES_WAITING);
    // A thread of its own: a read of the stream waits for the next event, and ends with the process.
    std::thread::spawn(move || {
        for line in events.lines() {
            if send.blocking_send(line).is_err() {
                return;
            }
        }
    });
    loop {
        let line = tokio::select! {
            () = stop.cancelled() => return Ok(Exit::Done),
            line = lines.recv() => line,
        };
        match line {
            None => return Ok(Exit::Done),
            Some(Err(error)) => return Err(drive.explain(error)),
            Some(Ok(line)) => {
                if is_about(&line, below)? {
                    output::raw_line(&line);
                }
            }
        }
    }
}

/// True for an event at or below a path. Lost events may have been.
fn is_about(line: &str, below: &str) -> Result<bool> {
    if below.is_empty() {
        return Ok(true);
    }
    let event: DriveEvent = serde_json::from_str(line).context("cannot understand an event")?;
    let is_below = |path: &str| {
        let rest = path.strip_prefix(below);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    Ok(
        event.lost.is_some()
            || is_below(&event.path)
            || event.from.as_deref().is_some_and(is_below),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_at_or_below_the_path_is_printed() {
        let event = |path: &str, from: Option<&str>| {
            let event = DriveEvent {
                path: path.to_owned(),
                from: from.map(str::to_owned),
                ..DriveEvent::default()
            };
            serde_json::to_string(&event).unwrap()
        };
        let chair = "/rawmodels/chair";
        for (line, expected) in [
            (event(chair, None), true),
            (event("/rawmodels/chair/optimize/web.json", None), true),
            (event("/rawmodels/chair2", None), false),
            (event("/rawmodels/stool", Some(chair)), true),
        ] {
            assert_eq!(is_about(&line, chair).unwrap(), expected, "{line}");
            assert!(is_about(&line, "").unwrap());
        }
        let lost = r#"{"seq":9,"time":"","kind":"lost","lost":3}"#;
        assert!(is_about(lost, chair).unwrap());
    }
}
