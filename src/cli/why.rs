//! `assetfs why`: the last failure at a path, as one sentence; with `--since` what happened there, from the event log.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use assetfs_formats::printable::printable_lines;
use clap_complete::engine::ArgValueCompleter;

use crate::drive::{HistoryEvent, HistoryKind};
use crate::fuse::{self, shell_quoted};
use crate::wire::Timestamp;

use super::completers;
use super::exit::Exit;
use super::mounted::{self, MountedDrive};
use super::output;
use super::result_warnings;
use super::settings::Span;
use super::{event_log, settings};

/// How far back an earlier failure is looked for: as long as the log is kept.
const EARLIER: Duration = Duration::from_secs(30 * 24 * 3600);

/// Explain why something failed and what to do
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: assetfs why ~/assets/rawmodels/chair\n\
    Example: assetfs why --since 2d ~/assets/rawmodels/chair\n\
    Example: assetfs why --since 1h")]
pub(super) struct WhyArgs {
    /// Paths in a mounted drive; also names that could not be created. With --since also paths of drives that are not
    /// mounted any more, and none for all
    #[arg(add = ArgValueCompleter::new(completers::models), required_unless_present = "since")]
    paths: Vec<PathBuf>,
    /// Show what happened at and below the paths in this time: copies, uploads, ends of work, failures, deletions
    #[arg(long, value_name = "TIME")]
    since: Option<Span>,
    /// Folder of drafts and journals, which has the event log [default: $XDG_STATE_HOME/assetfs]
    #[arg(long, env = "ASSETFS_STATE_DIR", value_name = "DIR")]
    state_dir: Option<PathBuf>,
}

pub(super) fn run(args: &WhyArgs) -> Result<Exit> {
    if let Some(since) = args.since {
        return show_events(args, since.0);
    }
    let mut exit = Exit::Done;
    for path in &args.paths {
        let path = &mounted::own_target(path)?;
        let drive = MountedDrive::of(path)?;
        let why = mounted::why(path)?;
        let missing = match why {
            Some(_) => None,
            None => mounted::check_exists(path)
                .map_err(|error| top_folder_hint(&drive, path).unwrap_or(error))
                .err(),
        };
        let end = match missing {
            Some(_) => Exit::Failed,
            None => Exit::Done,
        };
        exit = exit.max(end);
        if output::is_json() {
            let exists = missing.is_none() && path.symlink_metadata().is_ok();
            let warnings = result_warnings::warnings_of(path);
            let mut line = serde_json::json!({
                "path": path.to_string_lossy(),
                "reason": why.clone().or_else(|| missing.as_ref().map(super::exit::sentence)),
                "exists": exists,
                "warning_codes": result_warnings::codes_of(&warnings),
                "warnings": warnings,
                "exit": end.code(),
            });
            if why.is_none()
                && let Some(failed) = earlier_failure(args, path)
            {
                line["earlier"] =
                    serde_json::json!({ "time": failed.time, "reason": failed.reason });
            }
            output::line(line);
        } else if let Some(missing) = &missing {
            eprintln!("assetfs: {}", super::exit::sentence(missing));
        } else {
            let nothing = || match earlier_failure(args, path) {
                Some(failed) => format!(
                    "nothing fails here now. Earlier: {}",
                    event_log::line(&failed)
                ),
                None => match result_warnings::in_one_line(path) {
                    Some(warning) => {
                        format!("nothing failed here, but there is a warning. {warning}")
                    }
                    None => nothing_failed(&drive),
                },
            };
            let sentence = printable_lines(&why.clone().unwrap_or_else(nothing));
            match args.paths.len() {
                1 => println!("{sentence}"),
                _ => println!("{}: {sentence}", shell_quoted(path)),
            }
        }
    }
    Ok(exit)
}

/// What is said of a name that is not in the top folder: for other users than root the kernel refuses to make one there, without
/// asking the drive.
fn top_folder_hint(drive: &MountedDrive, path: &Path) -> Option<anyhow::Error> {
    let root = drive.root();
    (path.parent() == Some(root)).then(|| {
        anyhow::anyhow!(
            "{} does not exist, and nothing can be made in {}; copy models into {}",
            shell_quoted(path),
            shell_quoted(root),
            shell_quoted(&root.join("rawmodels"))
        )
    })
}

/// The events at and below the paths.
fn show_events(args: &WhyArgs, since: Duration) -> Result<Exit> {
    output::is_list();
    let mut wanted = Vec::new();
    for path in &args.paths {
        wanted.push((path, names_of(path)?, false));
    }
    let mut is_any = false;
    for event in events(args, since)? {
        let place = event_log::place(&event);
        let mut is_wanted = args.paths.is_empty();
        for (_, names, is_found) in &mut wanted {
            if names.iter().any(|name| place.starts_with(name)) {
                (is_wanted, *is_found) = (true, true);
            }
        }
        if !is_wanted {
            continue;
        }
        is_any = true;
        match output::is_json() {
            true => output::line(&event),
            false => println!("{}", event_log::line(&event)),
        }
    }
    if args.paths.is_empty() && !is_any && !output::is_json() {
        println!("nothing is recorded in this time");
    }
    let without = wanted.iter().filter(|(_, _, is_found)| !is_found);
    Ok(report_without_events(
        without.map(|(path, _, _)| path.as_path()),
    ))
}

/// Says of which paths nothing is recorded. One that does not exist may be a typing error.
fn report_without_events<'p>(paths: impl Iterator<Item = &'p Path>) -> Exit {
    let mut exit = Exit::Done;
    for path in paths {
        let shown = shell_quoted(path);
        if path.symlink_metadata().is_err() {
            let error = anyhow::anyhow!(
                "{shown} does not exist, and nothing is recorded of it in this time; check the path, or try a longer time"
            );
            exit = output::failed(Some(path), &error);
        } else if !output::is_json() {
            println!("{shown}: nothing is recorded in this time");
        }
    }
    exit
}

/// The last failure at a path in an earlier mount, unless the work succeeded later. `None` without a log. Failures of the
/// present mount come from the drive itself.
fn earlier_failure(args: &WhyArgs, path: &Path) -> Option<HistoryEvent> {
    let names = names_of(path).ok()?;
    let mut last = None;
    let mut earlier = None;
    for event in events(args, EARLIER).ok()? {
        match event.kind {
            HistoryKind::Mounted => earlier = last.clone(),
            HistoryKind::Uploaded | HistoryKind::Completed | HistoryKind::Failed
                if names.contains(&event_log::place(&event)) =>
            {
                last = Some(event);
            }
            _ => {}
        }
    }
    // Only if nothing at this path has succeeded or failed in the present mount: then the last event of all is still that
    // of the earlier mount.
    earlier.filter(|event| event.kind == HistoryKind::Failed && last.as_ref() == Some(event))
}

fn events(args: &WhyArgs, since: Duration) -> Result<Vec<HistoryEvent>> {
    let state_dir = match &args.state_dir {
        Some(dir) => dir.clone(),
        None => settings::state_dir()?,
    };
    let mut accounts = event_log::accounts_in(&state_dir)?;
    // A mount may have a state folder of its own. One that does not answer is left out.
    let mounted = match args.paths.is_empty() {
        true => fuse::own_mounts()?,
        false => args.paths.clone(),
    };
    for path in mounted {
        let status = MountedDrive::of(&path).and_then(|drive| drive.status());
        accounts.extend(status.ok().map(|status| PathBuf::from(status.state_dir)));
    }
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    event_log::read(&accounts, Timestamp::now().plus_seconds(-seconds))
}

/// The absolute path as it was written, and the path with links resolved, if it exists: the drive may be unmounted.
fn names_of(path: &Path) -> Result<Vec<PathBuf>> {
    let whole = std::path::absolute(path)?;
    let resolved = whole.canonicalize().ok();
    Ok([Some(whole), resolved].into_iter().flatten().collect())
}

/// What to do if nothing is recorded for a path.
fn nothing_failed(drive: &MountedDrive) -> String {
    let root = shell_quoted(drive.root());
    match drive.status() {
        Ok(status) if status.read_only => {
            "nothing failed here. The drive is mounted read-only: to change something, unmount it and mount it without --read-only".to_owned()
        }
        _ => format!(
            "nothing failed here. A command that was refused prints its reason itself; `assetfs status {root}` lists what failed elsewhere"
        ),
    }
}
