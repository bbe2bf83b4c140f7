//! `assetfs run --stale`: runs the texts again whose results are stale. It says first what that costs.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::json;

use super::exit::{Exit, WrongUse};
use super::mounted::{self, MountedDrive, command_at};
use super::run_presets::begun;
use super::table::counted;
use super::{output, question};
use crate::fuse::shell_quoted;

/// How `--stale` is to be run.
pub(super) struct StaleOptions {
    /// Only what it would do.
    pub(super) dry_run: bool,
    /// Without a question.
    pub(super) yes: bool,
}

/// A line of `stale.jsonl`.
#[derive(Debug, Deserialize)]
struct Stale {
    path: String,
    source: String,
    preset: String,
    stale: String,
}

/// Runs the stale results again, of the whole drive or of models and results.
pub(super) fn run_stale(paths: &[PathBuf], options: &StaleOptions) -> Result<Exit> {
    let drive = MountedDrive::at_or_only(paths.first().map(PathBuf::as_path), "run --stale")?;
    let wanted: Vec<String> = paths
        .iter()
        .map(|path| below(&drive, path))
        .collect::<Result<_>>()?;
    let stale: Vec<Stale> = listed(&drive)?
        .into_iter()
        .filter(|it| wanted.is_empty() || wanted.iter().any(|path| is_meant(it, path)))
        .collect();
    output::is_list();
    if stale.is_empty() {
        eprintln!("nothing is to be run again");
        return Ok(Exit::Done);
    }
    let count = stale.len() as u64;
    let cost = format!(
        "{} {} stale; running them again costs {}",
        counted(count, "result"),
        if count == 1 { "is" } else { "are" },
        counted(count, "point")
    );
    for it in &stale {
        describe(&drive, it, options.dry_run);
    }
    eprintln!("{cost}{}", left(&drive));
    if options.dry_run || !(options.yes || agreed(&cost)?) {
        return Ok(Exit::Done);
    }
    let mut worst = Exit::Done;
    for it in &stale {
        let path = drive.root().join(&it.path);
        let text = drive.root().join(&it.source).join("optimize");
        match command_at(&path, "run-stale") {
            Err(error) if is_still_stale(&drive, it) => {
                worst = worst.max(output::failed(Some(&path), &error));
            }
            // Another command has begun to run it.
            Ok(()) | Err(_) => begun(&text.join(&it.preset), true),
        }
    }
    Ok(worst)
}

fn listed(drive: &MountedDrive) -> Result<Vec<Stale>> {
    let path = drive.root().join("rapidmodels/.assetfs/stale.jsonl");
    let text = fs::read_to_string(&path).map_err(|error| mounted::explain_at(&path, error))?;
    let lines = text.lines().map(serde_json::from_str);
    lines
        .collect::<Result<_, _>>()
        .with_context(|| format!("a line of {} cannot be read", path.display()))
}

/// Also true if the drive does not say.
fn is_still_stale(drive: &MountedDrive, stale: &Stale) -> bool {
    listed(drive).map_or(true, |all| all.iter().any(|it| it.path == stale.path))
}

/// The path of a model, a result or the drive below the drive.
fn below(drive: &MountedDrive, path: &Path) -> Result<String> {
    let whole = fs::canonicalize(path).map_err(|error| mounted::explain_at(path, error))?;
    let root = fs::canonicalize(drive.root())?;
    match whole.strip_prefix(&root) {
        Ok(below) => Ok(below.to_string_lossy().into_owned()),
        Err(_) => Err(WrongUse(format!(
            "{} is in another drive; run it for one drive at a time",
            shell_quoted(path)
        ))
        .into()),
    }
}

fn is_meant(stale: &Stale, path: &str) -> bool {
    let is_in = |it: &str| Path::new(it).starts_with(path);
    path.is_empty() || is_in(&stale.source) || is_in(&stale.path)
}

fn describe(drive: &MountedDrive, it: &Stale, is_result: bool) {
    if output::is_json() {
        if is_result {
            output::line(json!({
                "path": drive.root().join(&it.path).to_string_lossy(),
                "source": it.source,
                "preset": it.preset,
                "stale": it.stale,
                "state": "not_sent",
                "dry_run": true,
                "exit": 0,
            }));
        }
        return;
    }
    let why = match it.stale.as_str() {
        "source_replaced" => "its source was replaced",
        "preset_changed" => "its preset has changed",
        other => other,
    };
    println!(
        "{} ({}): {why}",
        shell_quoted(&drive.root().join(&it.path)),
        it.preset
    );
}

/// The points that the account has, as the end of a sentence.
fn left(drive: &MountedDrive) -> String {
    let points = fs::read_to_string(drive.root().join("account/points"));
    let points = points.ok().and_then(|text| text.trim().parse().ok());
    points.map_or_else(String::new, |points| {
        format!(", of {} that the account has", counted(points, "point"))
    })
}

fn agreed(cost: &str) -> Result<bool> {
    if !question::can_ask() {
        return Err(WrongUse(format!(
            "{cost}: run it with --yes, or see them with --dry-run"
        ))
        .into());
    }
    question::agreed("Run them?")
}
