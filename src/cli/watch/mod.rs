//! `assetfs watch`: a hot folder. Each model that is dropped in is optimized once it is whole, by the engine on this
//! machine or by a mounted drive; results and failures come out in another folder.
//!
//! One task looks ([`super::models_of_folder`]), keeps the records ([`record`]) and decides; the work itself is done by others, a
//! few models at a time. A kill at any moment loses no result and makes none twice.

mod due;
mod file_system;
mod queue;
mod record;
mod room;
mod shown;
mod work;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use clap_complete::engine::ArgValueCompleter;
use notify::event::{AccessKind, AccessMode};
use notify::{EventKind, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::completers;
use super::exit::{Exit, WrongUse};
use super::interrupts::{self, Interrupted};
use super::models_of_folder::{Links, ModelPreset};
use super::mounted::MountedDrive;
use super::output;
use super::settings::Span;
use super::watch_engine::{EngineArgs, EngineTurns};
use crate::fuse::shell_quoted;
pub(super) use due::{DoneBefore, Due};
pub(super) use queue::{Key, Queue, Settings};
pub(super) use work::{Back, DriveNames};

/// How long at most until the folder is looked at again, where changes may not be reported.
const RESCAN_PERIOD: Duration = Duration::from_secs(10);
/// The same where the kernel reports changes; another file system may be mounted in the folder.
const RARE_RESCAN_PERIOD: Duration = Duration::from_secs(60);
/// How often the files of the presets and the texts of failures are looked at: nothing reports changes of these.
const PRESET_PERIOD: Duration = Duration::from_secs(10);
/// Changes within this time are one change.
const DEBOUNCE: Duration = Duration::from_millis(200);
/// After a scan the folder is left alone for this many times the duration of the scan. A model that is being copied is
/// read in each scan, and that must not cost more than a tenth of a processor.
const PAUSE_PER_LOOK: u32 = 10;

/// How often the models are looked at again for those that change while they are read.
const MAX_LOOKS: u32 = 5;

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
    #[arg(long = "preset", short, add = ArgValueCompleter::new(completers::presets), value_name = "PRESET", required = true)]
    presets: Vec<String>,
    /// Folder for the results; made when it is not there
    #[arg(long, short, value_name = "DIR")]
    out: PathBuf,
    /// Have this mounted drive do the work, without MOUNT the usual one; without --drive the engine on this machine does
    #[arg(long, value_name = "MOUNT")]
    drive: Option<Option<PathBuf>>,
    /// Do what is there, then end
    #[arg(long)]
    once: bool,
    /// How long a model has to be unchanged before it is taken
    #[arg(long, value_name = "TIME", default_value = "2s")]
    settle: Span,
    /// How many models at a time [default: one for each processor, as far as the memory suffices; with --drive 4, and 32 small ones]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    #[command(flatten)]
    engine: EngineArgs,
    /// Give up a model after this time
    #[arg(long, value_name = "TIME", default_value = "30m")]
    timeout: Span,
    /// Show no progress, and do not report the failures of earlier runs again
    #[arg(long, short)]
    quiet: bool,
}

pub(super) fn run(args: &WatchArgs) -> Result<Exit> {
    output::is_list();
    let mut queue = open(args)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
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
    let out = folder_of_results(&args.out, std::slice::from_ref(&dir), "--out")?;
    let presets = ModelPreset::read(&args.presets)?;
    let back = match &args.drive {
        Some(mount) => Back::drive(mount.as_deref(), "watch --drive", DriveNames::Free)?,
        None => {
            let jobs = args.jobs.map(NonZeroUsize::get);
            Back::Engine(EngineTurns::new(
                &args.engine,
                jobs,
                args.timeout.0,
                Some(dir.clone()),
            )?)
        }
    };
    let max_in_progress = back.max_in_progress(args.jobs.map(NonZeroUsize::get));
    Queue::open(queue::Settings {
        dir,
        not_models: out.clone(),
        links: Links::Inside,
        out,
        presets,
        back,
        max_in_progress,
        settle: args.settle.0,
        timeout: args.timeout.0,
        is_once: args.once,
        is_quiet: args.quiet,
        reports: true,
    })
}

/// Makes the folder of results `out` if it is not there, and returns its whole path. `option` is what names it.
///
/// # Errors
/// If results there would be taken for models: it is one of the folders of models, or above one, or in a drive.
pub(super) fn folder_of_results(out: &Path, models: &[PathBuf], option: &str) -> Result<PathBuf> {
    // Before it is made: in a drive that would be a model.
    checked_folder_of_results(out, models, option)?;
    std::fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    checked_folder_of_results(out, models, option)
}

/// The same without making it.
pub(super) fn checked_folder_of_results(
    out: &Path,
    models: &[PathBuf],
    option: &str,
) -> Result<PathBuf> {
    if let Ok(drive) = MountedDrive::of(out) {
        return Err(WrongUse(format!(
            "results in {} would be taken for new models of the drive {}, and uploaded; choose a folder outside of it \
             for {option}",
            out.display(),
            shell_quoted(drive.root())
        ))
        .into());
    }
    let whole = match out.exists() {
        true => out.canonicalize()?,
        false => std::path::absolute(out)?,
    };
    if models.iter().any(|dir| dir.starts_with(&whole)) {
        return Err(WrongUse(format!(
            "results in {} would be taken for new models; choose another folder for {option}",
            out.display()
        ))
        .into());
    }
    Ok(whole)
}

/// Until a signal, or with `--once` until nothing is left to do.
async fn watch(args: &WatchArgs, queue: &mut Queue) -> Result<Exit> {
    let stop = CancellationToken::new();
    interrupts::cancel_at_signal(&stop)?;
    let (changed, mut changes) = mpsc::channel(1);
    // `--once` looks at the folder again before it ends.
    let watcher = match args.once {
        true => None,
        false => report_changes(queue, changed)?,
    };
    let rescan = match watcher.is_some() && file_system::is_local(queue.dir()) {
        true => RARE_RESCAN_PERIOD,
        false => RESCAN_PERIOD,
    };
    if !args.quiet && !args.once {
        eprintln!("Watching {}; Ctrl-C ends it", queue.dir().display());
    }
    let mut plan = LookPlan::new(rescan);
    loop {
        if plan.is_due() {
            plan.begin();
            queue.look()?;
            plan.end(queue.next_due());
        }
        queue.read_presets();
        queue.start(&stop)?;
        queue.rest();
        if args.once && (queue.is_idle() || queue.gave_up().is_some()) {
            if plan.is_fresh || queue.gave_up().is_some() {
                return Ok(queue.conclude());
            }
            plan.look_now();
            continue;
        }
        let wake = plan.at.min(Instant::now() + PRESET_PERIOD);
        let wake = queue.next_try().map_or(wake, |next| next.min(wake));
        tokio::select! {
            // First: what an interrupted command reports is no failure.
            biased;
            () = stop.cancelled() => {
                queue.stop().await;
                return match args.once {
                    true => Err(Interrupted.into()),
                    false => Ok(Exit::Done),
                };
            }
            Some(()) = changes.recv(), if !plan.is_change_known => plan.note_change(),
            events = queue.finished() => {
                queue.settle(events).await?;
                plan.is_fresh = false;
            }
            () = tokio::time::sleep_until(wake) => {}
        }
    }
}

/// Has the kernel report changes of the folder; `None` if it cannot.
fn report_changes(
    queue: &Queue,
    changed: mpsc::Sender<()>,
) -> Result<Option<notify::RecommendedWatcher>> {
    let out = queue.out().to_owned();
    let mut watcher = notify::recommended_watcher(move |event| {
        if is_change(&event, &out) {
            // One waiting message is enough: the whole folder is looked at.
            let _ = changed.try_send(());
        }
    })?;
    let watched = watcher.watch(queue.dir(), RecursiveMode::Recursive);
    if let Err(error) = &watched {
        tracing::warn!(%error, "the kernel cannot report changes of the folder; it is read every 10 s instead");
    }
    Ok(watched.is_ok().then_some(watcher))
}

/// Does what is there, then ends. `made` is called with the results that are whole.
///
/// # Errors
/// If it is interrupted, or a record cannot be written.
pub(super) async fn work_off(
    queue: &mut Queue,
    stop: &CancellationToken,
    mut made: impl FnMut(&Queue, &[Key]) -> Result<()>,
) -> Result<()> {
    for _ in 0..MAX_LOOKS {
        queue.look()?;
        if queue.is_idle() {
            break;
        }
        loop {
            queue.start(stop)?;
            let next_try = queue.next_try();
            let is_over = queue.gave_up().is_some() || (queue.rests() && next_try.is_none());
            if is_over && !stop.is_cancelled() {
                break;
            }
            tokio::select! {
                // First, as above.
                biased;
                () = stop.cancelled() => {
                    queue.stop().await;
                    return Err(Interrupted.into());
                }
                events = queue.finished() => {
                    let keys = queue.settle(events).await?;
                    made(queue, &keys)?;
                }
                () = tokio::time::sleep_until(next_try.unwrap_or_else(Instant::now)), if next_try.is_some() => {}
            }
        }
        if queue.gave_up().is_some() {
            break;
        }
    }
    queue.rest();
    Ok(())
}

/// Plans when the watched folder is scanned next.
struct LookPlan {
    /// The longest time between two scans.
    rescan: Duration,
    at: Instant,
    /// The end of the pause after the last look.
    earliest: Instant,
    begun: Instant,
    /// A change was reported after the last look; `at` takes it into account.
    is_change_known: bool,
    /// No work has ended since the last scan.
    is_fresh: bool,
}

impl LookPlan {
    fn new(rescan: Duration) -> LookPlan {
        let now = Instant::now();
        LookPlan {
            rescan,
            at: now,
            earliest: now,
            begun: now,
            is_change_known: false,
            is_fresh: false,
        }
    }

    fn is_due(&self) -> bool {
        self.at <= Instant::now()
    }

    fn begin(&mut self) {
        self.begun = Instant::now();
        self.is_change_known = false;
    }

    /// Plans the next look: when the first model is due after `next_due`, or after the usual period.
    fn end(&mut self, next_due: Option<Duration>) {
        let now = Instant::now();
        let pause = (now - self.begun) * PAUSE_PER_LOOK;
        self.earliest = now + pause.clamp(DEBOUNCE, RESCAN_PERIOD);
        let wait = next_due.unwrap_or(self.rescan).min(self.rescan);
        self.at = (now + wait).max(now + pause.min(RESCAN_PERIOD));
        self.is_fresh = true;
    }

    fn note_change(&mut self) {
        self.is_change_known = true;
        self.at = self.at.min(self.earliest.max(Instant::now() + DEBOUNCE));
    }

    fn look_now(&mut self) {
        self.at = Instant::now();
    }
}

/// True if the watched folder may hold something else than before. Opening and reading are no change: this program itself
/// reads the folder. Nor is what happens in `out`, which may be inside of it.
fn is_change(event: &notify::Result<notify::Event>, out: &Path) -> bool {
    let Ok(event) = event else {
        return true;
    };
    let is_reading = matches!(event.kind, EventKind::Access(access)
        if access != AccessKind::Close(AccessMode::Write));
    let is_elsewhere =
        event.paths.is_empty() || event.paths.iter().any(|path| !path.starts_with(out));
    !is_reading && is_elsewhere
}
