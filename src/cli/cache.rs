//! `assetfs cache`, `pin`, `unpin`: the local cache. A mounted drive has its cache locked, so it is asked through its
//! control file. Otherwise the folders of the cache are opened directly.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;

use crate::cache::{BlockCache, CacheLimits, DiskShortage, KeepFree};
use crate::drive::CacheStatus;
use crate::fuse::{self, shell_quoted};
use crate::outbox::is_service_folder;
use assetfs_formats as formats;

use super::at_once::for_each;
use super::completers;
use super::exit::{Exit, WrongUse};
use super::files::FileBelow;
use super::given_paths::{self, ListForm};
use super::mounted::{self, MountedDrive, POLL_PERIOD, check_exists};
use super::output;
use super::progress::Progress;
use super::table::{bytes, counted, grouped, table};
use super::{files, settings};

/// Show, clear or verify the cache
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: assetfs cache info\nExample: assetfs cache verify ~/assets\n\
    The folder of the cache may also be deleted at any time, while a drive is mounted too."
)]
pub(super) struct CacheArgs {
    #[command(subcommand)]
    what: CacheAction,
}

#[derive(Debug, clap::Subcommand)]
enum CacheAction {
    /// Show its content and hit rate
    #[command(after_help = "Example: assetfs cache info --json")]
    Info(CacheArea),
    /// Remove all cached data; pins stay, and a mounted drive fetches pinned models again
    #[command(after_help = "Example: assetfs cache clear")]
    Clear(CacheArea),
    /// Compare all blocks with their checksums; damaged ones are removed and fetched again when read
    #[command(after_help = "Example: assetfs cache verify")]
    Verify(CacheArea),
}

#[derive(Debug, clap::Args)]
struct CacheArea {
    /// A path in the drive; not needed if only one is mounted
    dir: Option<PathBuf>,
    /// Folder of the cache, if no drive is mounted [default: $XDG_CACHE_HOME/assetfs]
    #[arg(long, env = "ASSETFS_CACHE_DIR", value_name = "DIR")]
    cache_dir: Option<PathBuf>,
}

/// One cache, mounted or not.
#[derive(Debug, Serialize)]
struct CacheReport {
    /// The mount point, or the folder of a cache that no drive uses.
    cache: String,
    #[serde(flatten)]
    status: CacheStatus,
}

pub(super) fn run(args: &CacheArgs) -> Result<Exit> {
    let (place, order) = match &args.what {
        CacheAction::Info(place) => (place, Order::Info),
        CacheAction::Clear(place) => (place, Order::Clear),
        CacheAction::Verify(place) => (place, Order::Verify),
    };
    let reports = match place.dir.is_some() || !fuse::own_mounts()?.is_empty() {
        true => vec![ask(
            &MountedDrive::at_or_only(place.dir.as_deref(), order.command())?,
            order,
        )?],
        false => offline(place, order)?,
    };
    if output::is_json() {
        output::is_list();
        reports.iter().for_each(output::line);
    } else {
        reports.iter().for_each(|report| show(report, order));
    }
    let is_damaged = order == Order::Verify
        && reports
            .iter()
            .any(|report| report.status.verify.bad_blocks > 0);
    Ok(if is_damaged { Exit::Failed } else { Exit::Done })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Info,
    Clear,
    Verify,
}

impl Order {
    /// The command line.
    fn command(self) -> &'static str {
        match self {
            Order::Info => "cache info",
            Order::Clear => "cache clear",
            Order::Verify => "cache verify",
        }
    }
}

fn ask(drive: &MountedDrive, order: Order) -> Result<CacheReport> {
    match order {
        Order::Info => {}
        Order::Clear => drive.command("cache clear")?,
        Order::Verify => {
            let before = drive.status()?.cache.verify.done;
            drive.command("cache verify")?;
            let mut task = Progress::new(false).task("cache");
            while drive.status()?.cache.verify.done == before {
                task.show("verifying");
                std::thread::sleep(POLL_PERIOD);
            }
            task.finish("verified");
        }
    }
    Ok(CacheReport {
        cache: drive.root().display().to_string(),
        status: drive.status()?.cache,
    })
}

/// Opens the caches of all accounts that are not mounted.
fn offline(place: &CacheArea, order: Order) -> Result<Vec<CacheReport>> {
    let dir = match &place.cache_dir {
        Some(dir) => dir.clone(),
        None => settings::cache_dir()?,
    };
    let accounts = match fs::read_dir(&dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", dir.display())),
    };
    let mut reports = Vec::new();
    for account in accounts {
        let path = account?.path();
        // Opening creates missing folders, so folders that are not a cache are skipped.
        if path.join("objects").is_dir() {
            reports.push(open_and(&path, order)?);
        }
    }
    Ok(reports)
}

fn open_and(path: &Path, order: Order) -> Result<CacheReport> {
    // The limit of the mount is unknown here, so nothing is evicted.
    let limits = CacheLimits {
        max_bytes: u64::MAX,
        keep_free: KeepFree::NOTHING,
    };
    let cache = BlockCache::open(path, limits)
        .with_context(|| format!("cannot open the cache in {}", path.display()))?;
    let mut status = CacheStatus::default();
    match order {
        Order::Info => {}
        Order::Clear => {
            cache.clear();
        }
        Order::Verify => {
            let report = cache.verify();
            status.verify.done = 1;
            status.verify.objects = report.objects;
            status.verify.blocks = report.blocks;
            status.verify.bad_blocks = report.bad_blocks;
        }
    }
    let stats = cache.stats();
    Ok(CacheReport {
        cache: path.display().to_string(),
        status: CacheStatus {
            used_bytes: stats.bytes,
            objects: stats.objects,
            bad_blocks: stats.bad_blocks,
            disk_shortage: DiskShortage::of(path, KeepFree::default()),
            pins: cache.pins(),
            ..status
        },
    })
}

/// Why new data is not cached, and what to do; `None` if it is cached.
pub(super) fn keeps_nothing_new(status: &CacheStatus) -> Option<String> {
    if let Some(disk) = status.disk_shortage {
        return Some(format!(
            "The cache keeps nothing new: {} of its disk are free, and {} stay free. Make room on \
             that disk, or mount with --cache-dir on another.",
            bytes(disk.free_bytes),
            bytes(disk.keep_free_bytes)
        ));
    }
    status.is_taken_up.then(|| {
        "The cache keeps nothing new: pinned and open files take all of its size. \
         Mount with a larger --cache-size, or `assetfs unpin` some."
            .to_owned()
    })
}

fn show(report: &CacheReport, order: Order) {
    let status = &report.status;
    let mut rows = vec![vec![report.cache.clone(), String::new()]];
    let mut row = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
    row("held", bytes(status.used_bytes));
    if status.limit_bytes > 0 {
        row("allowed", bytes(status.limit_bytes));
    }
    row("files", grouped(status.objects));
    if status.hits + status.misses > 0 {
        row("reads served", grouped(status.hits));
        row("reads fetched", grouped(status.misses));
    }
    if order == Order::Verify {
        row("files compared", grouped(status.verify.objects));
        row("blocks compared", grouped(status.verify.blocks));
        row("damaged", grouped(status.verify.bad_blocks));
    }
    print!("{}", table(&rows));
    if let Some(sentence) = keeps_nothing_new(status) {
        println!("{sentence}");
    }
    for pin in &status.pins {
        println!("pinned  {pin}");
    }
}

/// Keep models in the cache, so that they can be read offline
///
/// Fetches everything below the paths and protects it from eviction. It counts towards the limit of the cache.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: assetfs pin ~/assets/rawmodels/chair ~/assets/rapidmodels/chair\n\
    Example: assetfs list --results --json | assetfs pin --models-only -"
)]
pub(super) struct PinArgs {
    /// Models, folders or files in the drive; `-` reads paths, names of source models or lines of `assetfs list --json` from
    /// standard input; a folder below rawmodels/.assetfs/search/ stands for the models in it
    #[arg(add = ArgValueCompleter::new(completers::models), required = true)]
    paths: Vec<PathBuf>,
    /// Of models only their own files: no pictures, reports and converted files, which are in folders of the service, and no
    /// zips beside other files
    #[arg(long)]
    models_only: bool,
    #[command(flatten)]
    form: ListForm,
}

pub(super) fn pin(args: &PinArgs) -> Result<Exit> {
    let paths = given_paths::all(&args.paths, args.form)?;
    let progress = Progress::new(false);
    let mut task = progress.task("pinning");
    let (mut files, mut total) = (0, 0);
    let mut failures = Vec::new();
    for (count, path) in paths.iter().enumerate() {
        let shown = match paths.len() {
            1 => String::new(),
            all => format!("{count} of {all}, "),
        };
        match pin_one(path, args.models_only, |status| {
            task.show(&format!("{shown}{status}"));
        }) {
            Ok(pinned) => {
                files += pinned.len() as u64;
                total += pinned.iter().map(|file| file.len).sum::<u64>();
                output::done(path);
            }
            Err(error) => failures.push((path, error)),
        }
    }
    task.finish(&format!("{}, {}", counted(files, "file"), bytes(total)));
    let ends = failures
        .iter()
        .map(|(path, error)| output::failed(Some(path), error));
    Ok(ends.max().unwrap_or(Exit::Done))
}

/// Pins what is at a path and fetches it; returns its files.
fn pin_one(path: &Path, models_only: bool, mut show: impl FnMut(&str)) -> Result<Vec<FileBelow>> {
    let drive = MountedDrive::of(path)?;
    let refused_before = drive.status()?.cache.refused;
    let path = &mounted::own_target(path)?;
    let list = match models_only {
        true => model_files(path)?,
        false => {
            tell(path, "pin")?;
            files::below(path)?
        }
    };
    let total: u64 = list.iter().map(|file| file.len).sum();
    let mut done = 0;
    let mut failed = None;
    for file in &list {
        let at = files::at(path, file);
        if models_only {
            tell(&at, "pin")?;
        }
        let read = files::read_from_drive(&at, |part| {
            done += part.len() as u64;
            show(&format!(
                "{} {}%",
                shell_quoted(path),
                files::percent(done, total)
            ));
            true
        });
        failed = failed.or(read.err());
    }
    if let Some(error) = failed {
        return Err(error);
    }
    if drive.status()?.cache.refused > refused_before {
        bail!(
            "{} is pinned, but the cache had no room for all of it: mount with a larger --cache-size, make room on its \
             disk, or `assetfs unpin` some",
            shell_quoted(path)
        );
    }
    Ok(list)
}

/// The folder of a result with its quality reports.
const QUALITY_REPORTS: &str = "qc";

/// The files that a model consists of. Zips beside other files have the same files once more.
fn model_files(path: &Path) -> Result<Vec<FileBelow>> {
    check_exists(path)?;
    let whole = std::path::absolute(path)?;
    // A source model may have a folder of this name of its own.
    let is_result = whole.parent().is_some_and(|it| it.ends_with("rapidmodels"));
    let mut list = files::below_with(path, |path, kind| {
        let name = path.to_string_lossy();
        let is_of_service = is_service_folder(name.trim_end_matches('@'));
        Ok(!kind.is_dir() || !(is_of_service || (is_result && name == QUALITY_REPORTS)))
    })?;
    list.retain(|file| !file.path.ends_with("ERROR.txt"));
    let is_zip = |file: &FileBelow| formats::extension(&file.path.to_string_lossy()) == "zip";
    if !list.iter().all(is_zip) {
        list.retain(|file| !is_zip(file));
    }
    Ok(list)
}

/// Allow pinned models to be evicted again
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: assetfs unpin ~/assets/rawmodels/chair")]
pub(super) struct UnpinArgs {
    /// Pinned models, folders or files; `-` reads a list from standard input, as of `pin`
    #[arg(add = ArgValueCompleter::new(completers::models), required = true)]
    paths: Vec<PathBuf>,
    /// Of models that were pinned with --models-only
    #[arg(long)]
    models_only: bool,
    #[command(flatten)]
    form: ListForm,
}

pub(super) fn unpin(args: &UnpinArgs) -> Result<Exit> {
    let paths = given_paths::all(&args.paths, args.form)?;
    Ok(for_each("unpinning", paths, |path| {
        let path = &mounted::own_target(path)?;
        if !args.models_only {
            return tell(path, "unpin");
        }
        for file in model_files(path)? {
            tell(&files::at(path, &file), "unpin")?;
        }
        Ok(())
    }))
}

/// Sends the drive a command about a path in it.
fn tell(path: &Path, order: &str) -> Result<()> {
    let drive = MountedDrive::of(path)?;
    check_exists(path)?;
    let whole = path
        .canonicalize()
        .with_context(|| path.display().to_string())?;
    let below = whole.strip_prefix(drive.root()).unwrap_or(&whole);
    if below.as_os_str().is_empty() {
        return Err(WrongUse(format!("name a model in {}", path.display())).into());
    }
    drive
        .order(&format!("{order} {}", below.display()))
        .with_context(|| format!("cannot {order} {}", path.display()))
}
