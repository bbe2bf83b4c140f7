//! `assetfs watch`: a hot folder. Each model that is dropped in is optimized once it is whole, by the engine on this
//! machine or by a mounted drive; results and failures come out in another folder.
//!
//! One task looks ([`source`]), keeps the records ([`record`]) and decides; the work itself is done by others, a
//! few models at a time. A kill at any moment loses no result and makes none twice.

mod queue;
mod record;
mod source;
mod work;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use notify::{RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::mounted::MountedDrive;
use super::optimize::{EngineMemory, EngineSettings, Interrupts};
use super::settings::Span;
use super::{Exit, WrongUse};
use crate::fuse::shell_quoted;
use queue::Queue;
use work::{Back, WatchPreset};

/// How long at most until the folder is looked at again: not every file system reports changes.
const RESCAN_PERIOD: Duration = Duration::from_secs(10);
/// Changes within this time are one change.
const DEBOUNCE: Duration = Duration::from_millis(200);

/// Optimize every model that is copied into a folder
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: assetfs watch ~/hot --preset 'Web Viewer' --out ~/done\n\
    Example: assetfs watch ~/hot --preset web.json --preset ar.json --out ~/done --once\n\
    Example: assetfs watch ~/hot --preset web.json --out ~/done --drive ~/assets\n\
    The results of chair.glb are in ~/done/chair; with several presets in '~/done/chair (web)' and so on.\n\
    A failure is the text ~/done/chair.failed.txt. A model is optimized again when its bytes or the preset change, or\n\
    when that text is removed.\n\
    Exit codes: 0 done, 1 with --once: a model failed, now or in an earlier run, 2 wrong use"
)]
pub(super) struct WatchArgs {
    /// Folder to watch: each folder, model file and zip in it is one model
    dir: PathBuf,
    /// Name of a factory preset, or a file (.json, .rpdx) with a configuration or preset; can be given several times
    #[arg(long = "preset", short, value_name = "PRESET", required = true)]
    presets: Vec<String>,
    /// Folder for the results; made when it is not there
    #[arg(long, short, value_name = "DIR")]
    out: PathBuf,
    /// Have this mounted drive do the work; without it the engine on this machine does
    #[arg(long, value_name = "MOUNT")]
    drive: Option<PathBuf>,
    /// Do what is there, then end
    #[arg(long)]
    once: bool,
    /// How long a model has to be unchanged before it is taken
    #[arg(long, value_name = "TIME", default_value = "2s")]
    settle: Span,
    /// How many models at a time [default: 1, with --drive 4]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Draw nothing and compare nothing: faster, without a similarity score; for the engine on this machine
    #[arg(long, conflicts_with = "drive")]
    no_pictures: bool,
    /// Memory that the engine may use for each model
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "4G",
        conflicts_with = "drive"
    )]
    memory: EngineMemory,
    /// Give up a model after this time
    #[arg(long, value_name = "TIME", default_value = "30m")]
    timeout: Span,
    /// Show no progress, and do not report the failures of earlier runs again
    #[arg(long, short)]
    quiet: bool,
    /// Print each result as a line of JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &WatchArgs) -> Result<Exit> {
    let mut queue = open(args)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .context("cannot start the async runtime")?;
    let exit = runtime.block_on(watch(args, &mut queue));
    // A drive's uploads and jobs go on without this process; the records say where to go on.
    runtime.shutdown_background();
    exit
}

fn open(args: &WatchArgs) -> Result<Queue> {
    let shown = args.dir.display();
    let dir = args
        .dir
        .canonicalize()
        .map_err(|error| WrongUse(format!("cannot watch {shown}: {error}")))?;
    if !dir.is_dir() {
        return Err(WrongUse(format!("{shown} is a file; watch needs a folder")).into());
    }
    if let Ok(drive) = MountedDrive::of(&args.out) {
        return Err(WrongUse(format!(
            "results in {} would be taken for new models of the drive {}, and uploaded; choose a folder outside of it \
             for --out",
            args.out.display(),
            shell_quoted(drive.root())
        ))
        .into());
    }
    std::fs::create_dir_all(&args.out)
        .with_context(|| format!("cannot make {}", args.out.display()))?;
    let out = args.out.canonicalize()?;
    if out == dir || dir.starts_with(&out) {
        return Err(WrongUse(format!(
            "results in {} would be taken for new models; choose another folder for --out",
            args.out.display()
        ))
        .into());
    }
    let presets = WatchPreset::read(&args.presets)?;
    let back = match &args.drive {
        Some(mount) => Back::drive(mount)?,
        None => Back::Engine(EngineSettings {
            overwrite: true,
            renders: false,
            pictures: !args.no_pictures,
            memory: args.memory,
            timeout: args.timeout.0,
        }),
    };
    let jobs = args.jobs.map_or(back.usual_jobs(), NonZeroUsize::get);
    Queue::open(queue::Settings {
        dir,
        out,
        presets,
        back,
        jobs,
        settle: args.settle.0,
        timeout: args.timeout.0,
        is_once: args.once,
        is_json: args.json,
        is_quiet: args.quiet,
    })
}

/// Until a signal, or with `--once` until nothing is left to do.
async fn watch(args: &WatchArgs, queue: &mut Queue) -> Result<Exit> {
    let stop = CancellationToken::new();
    Interrupts::new()?.cancel(&stop);
    let (changed, mut changes) = mpsc::channel(1);
    let mut watcher = notify::recommended_watcher(move |_: notify::Result<notify::Event>| {
        // One waiting message is enough: the whole folder is looked at.
        let _ = changed.try_send(());
    })?;
    if let Err(error) = watcher.watch(queue.dir(), RecursiveMode::Recursive) {
        tracing::warn!(%error, "changes are not reported; the folder is read every 10 s");
    }
    if !args.quiet && !args.once {
        eprintln!("Watching {}; Ctrl-C ends it", queue.dir().display());
    }
    loop {
        queue.look()?;
        queue.start(&stop)?;
        if args.once && queue.is_idle() {
            return Ok(queue.conclude());
        }
        let next = queue
            .next_look()
            .unwrap_or(RESCAN_PERIOD)
            .min(RESCAN_PERIOD);
        tokio::select! {
            () = stop.cancelled() => {
                queue.stop().await;
                return Ok(if args.once { Exit::Failed } else { Exit::Done });
            }
            _ = changes.recv() => tokio::time::sleep(DEBOUNCE).await,
            finished = queue.finished() => queue.settle(finished)?,
            () = tokio::time::sleep(next) => {}
        }
    }
}
