//! The arguments of `assetfs build`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use super::super::budget::Budget;
use super::super::settings::Span;
use super::super::watch_engine::EngineArgs;
use super::build_file;

/// Keep a folder of results up to date, as assetfs.toml says
///
/// A result is made again when its model, its preset or its name has changed, or when its file is missing or was changed.
/// Everything else is left alone. A file that no build has made is never replaced.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: assetfs build\n\
    Example: assetfs build game/assetfs.toml --prune --junit report.xml\n\
    Example: assetfs build --drive ~/assets --max-bytes 2M\n\
    Example: assetfs build --drive ~/assets --dry-run\n\
    A file to begin with:\n\
    \n  \
      # A folder, or a list of them: each folder, model file and zip in it is a model.\n  \
      models = \"models\"\n  \
      out = \"dist\"\n  \
      name = \"{model}.{preset}.{ext}\"\n  \
      # A mounted drive does the work; without it, the engine on this machine.\n  \
      # drive = \"~/assets\"\n\
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
    Exit codes: 0 everything is up to date, 1 a model failed or exceeds its budget, or there is none, 2 wrong use")]
pub(in crate::cli) struct BuildArgs {
    /// The file, or its folder
    #[arg(default_value = build_file::USUAL_NAME)]
    pub(super) file: PathBuf,
    /// Have this mounted drive do the work, without MOUNT the usual one
    #[arg(long, value_name = "MOUNT")]
    pub(super) drive: Option<Option<PathBuf>>,
    /// Only say what would be made and why, and with a drive how many points at most
    #[arg(long, short = 'n', conflicts_with = "junit")]
    pub(super) dry_run: bool,
    /// Remove results whose model or preset is gone
    #[arg(long)]
    pub(super) prune: bool,
    /// Remove at most this many results, instead of half of all; also if there are no models
    #[arg(long, value_name = "N", requires = "prune")]
    pub(super) max_prune: Option<usize>,
    /// Write a report as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub(super) junit: Option<PathBuf>,
    /// How many models at a time [default: one for each processor, as far as the memory suffices; with --drive 4, and 32 small ones]
    #[arg(long, value_name = "N")]
    pub(super) jobs: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(super) engine: EngineArgs,
    /// Give up a model after this time
    #[arg(long, value_name = "TIME", default_value = "30m")]
    pub(super) timeout: Span,
    /// Show failures and the sum alone
    #[arg(long, short)]
    pub(super) quiet: bool,
    #[command(flatten)]
    pub(super) budget: Budget,
}
