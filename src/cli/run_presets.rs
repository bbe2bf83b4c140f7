//! `assetfs run --preset`: optimizes models with presets, each once. The texts are those that a user would copy into `optimize/`.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result, bail};
use serde_json::json;

use super::at_once::for_each_with_exit;
use super::exit::{Exit, WrongUse};
use super::models_of_folder::{KnownTexts, ModelPreset};
use super::mounted::{self, MountedDrive, check_exists, own_target};
use super::output;
use super::table::counted;
use crate::drive::StatusWord;
use crate::fuse::shell_quoted;

pub(super) fn run_presets(given: &[String], models: Vec<PathBuf>, dry_run: bool) -> Result<Exit> {
    let Some(first) = models.first() else {
        return Ok(Exit::Done);
    };
    let drive = MountedDrive::of(first)?;
    let presets = ModelPreset::of_drive(drive.root(), given)?;
    // A run with nothing new asks for no list of results.
    let known = LazyLock::new(|| KnownTexts::of(&drive));
    let started = AtomicUsize::new(0);
    let exit = for_each_with_exit("starting", models, |model| {
        let model = own_target(model)?;
        check_is_model(&drive, &model)?;
        for preset in &presets {
            let text = preset.text_in(&model);
            let is_new = !preset.is_in(&model) && !known.has(&model, preset);
            started.fetch_add(usize::from(is_new), Ordering::Relaxed);
            if is_new && dry_run {
                output::would_do(&text);
                continue;
            }
            if !dry_run {
                let dropped = preset.drop_into(&model);
                dropped.with_context(|| shell_quoted(&text).to_string())?;
            }
            if !is_new && preset.is_in(&model) {
                has_not_failed(&text)?;
            }
            begun(&text, is_new);
        }
        Ok(Exit::Done)
    });
    let started = started.into_inner();
    match dry_run {
        true => say_cost(started),
        false => eprintln!("{} started", counted(started as u64, "optimization")),
    }
    Ok(exit)
}

/// With `--json`, the line for a text that was given to the drive: its state now, because the drive goes on with it. A text that is
/// not new and not listed here has a result that another machine has ordered.
pub(super) fn begun(text: &Path, is_new: bool) {
    if output::is_json() {
        let report = mounted::item_report(text).ok().flatten();
        let state = report.map(|report| report.state);
        let unknown = if is_new {
            StatusWord::Queued
        } else {
            StatusWord::Done
        };
        let state = state.unwrap_or(unknown);
        output::line(json!({ "path": text.to_string_lossy(), "state": state, "exit": 0 }));
    }
}

/// A text that ran and failed is not started again, which would be paid.
fn has_not_failed(text: &Path) -> Result<()> {
    let report = mounted::item_report(text).ok().flatten();
    match report.filter(|report| report.state == StatusWord::Failed) {
        Some(failed) => bail!(
            "{}: {}; `assetfs run {}` runs it again",
            shell_quoted(text),
            failed.status,
            shell_quoted(text)
        ),
        None => Ok(()),
    }
}

fn check_is_model(drive: &MountedDrive, model: &Path) -> Result<()> {
    check_exists(model)?;
    let whole = model.canonicalize()?;
    if whole.parent() == Some(&drive.root().join("rawmodels")) && whole.is_dir() {
        return Ok(());
    }
    Err(WrongUse(format!(
        "{} is not a model of {}; name folders below its rawmodels/",
        shell_quoted(model),
        shell_quoted(drive.root())
    ))
    .into())
}

/// What the texts of a run may cost that has not looked for results of the same bytes and settings.
pub(super) fn cost_at_most(texts: u64) -> String {
    format!(
        "Running the presets costs at most {}.",
        counted(texts, "point")
    )
}

/// What the texts of a dry run cost.
pub(super) fn say_cost(texts: usize) {
    eprintln!("running them costs {}", counted(texts as u64, "point"));
}
