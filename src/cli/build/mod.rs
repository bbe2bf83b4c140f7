//! `assetfs build`: keeps a folder of results up to date, as `assetfs.toml` says. What is done and what is missing is known
//! from the records of [`watch`](super::watch); this room gives the results their names, judges budgets and reports.
//!
//! The records and the logs of the results are in `.assetfs-build` in the folder of results. A kill at any moment loses no
//! result and makes none twice: results are moved to their names after they are recorded, and an interrupted move is finished
//! by the next run.

mod build_file;
mod output_name;
mod publish;
mod report;
mod run;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::Result;

use super::budget::Budget;
use super::exit::Exit;
use super::settings::Span;
use super::watch_engine::EngineArgs;

/// Keep a folder of results up to date, as assetfs.toml says
///
/// A result is made again when its model, its preset or its name has changed, or when its file is missing or was changed.
/// Everything else is left alone. A file that no build has made is never replaced.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: assetfs build\n\
    Example: assetfs build game/assetfs.toml --prune --junit report.xml\n\
    Example: assetfs build --drive ~/assets --max-bytes 2M\n\
    A file to begin with:\n\
    \n  \
      models = \"models\"                  # a folder, or a list: each folder, model file and zip in it is one model\n  \
      out = \"dist\"\n  \
      name = \"{model}.{preset}.{ext}\"\n  \
      # drive = \"~/assets\"               # has a mounted drive do the work; without it the engine on this machine\n\
    \n  \
      [presets]\n  \
      web = \"Web Viewer\"\n  \
      phone = { preset = \"presets/phone.json\", max-bytes = \"500K\" }\n\
    \n  \
      [budget]\n  \
      max-triangles = 50000\n  \
      min-similarity = 90\n  \
      deny = [\"missing-file\"]\n\
    \n\
    Exit codes: 0 everything is up to date, 1 a model failed or exceeds its budget, 2 wrong use")]
pub(super) struct BuildArgs {
    /// The file, or its folder
    #[arg(default_value = build_file::USUAL_NAME)]
    file: PathBuf,
    /// Have this mounted drive do the work, without MOUNT the usual one
    #[arg(long, value_name = "MOUNT")]
    drive: Option<Option<PathBuf>>,
    /// Remove results whose model or preset is gone
    #[arg(long)]
    prune: bool,
    /// Write a report as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// How many models at a time [default: one for each processor, as far as the memory suffices; with --drive 4]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    #[command(flatten)]
    engine: EngineArgs,
    /// Give up a model after this time
    #[arg(long, value_name = "TIME", default_value = "30m")]
    timeout: Span,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    budget: Budget,
}

pub(super) fn run(args: &BuildArgs) -> Result<Exit> {
    let all = run::build(args)?;
    report::print(&all);
    if let Some(path) = &args.junit {
        report::write_junit(&all, path)?;
    }
    // GitHub Actions sets it, and reads its workflow commands from both outputs.
    if std::env::var_os("GITHUB_ACTIONS").is_some_and(|it| it == "true") {
        report::annotations(&all)
            .iter()
            .for_each(|line| eprintln!("{line}"));
    }
    Ok(report::exit_of(&all))
}
