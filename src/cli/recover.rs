//! `assetfs recover`: files that were copied in, but that the journal did not contain when the drive was mounted.
//! Works on the folders directly, mounted or not. With a folder below `rawmodels/` as the target, the files become
//! drafts again.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Serialize;

use crate::fuse::{self, shell_quoted};
use crate::outbox::{Recovered, RecoveredFile, recovered_in, unsent_in};

use super::exit::{Exit, WrongUse};
use super::mount::state_dirs::unsent_sentence;
use super::mounted::MountedDrive;
use super::output;
use super::settings;
use super::table::{bytes, counted};

/// List files that were kept when the drive's journal was damaged, or restore them
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: assetfs recover\nExample: assetfs recover take recovered-2026-11-22T02-30-00Z ~/recovered\n\
    Example: assetfs recover take recovered-2026-11-22T02-30-00Z ~/rescued --keep"
)]
pub(super) struct RecoverArgs {
    #[command(subcommand)]
    what: Option<RecoverAction>,
    #[command(flatten)]
    place: RecoverFrom,
}

#[derive(Debug, clap::Subcommand)]
enum RecoverAction {
    /// Show the folders of kept files; the default
    #[command(after_help = "Example: assetfs recover list --json")]
    List(RecoverFrom),
    /// Copy the files of a folder to a target, then remove them from the folder
    #[command(
        after_help = "Example: assetfs recover take recovered-2026-11-22T02-30-00Z ~/recovered"
    )]
    Take(TakeArgs),
}

#[derive(Debug, clap::Args)]
struct RecoverFrom {
    /// Folder of drafts and journals [default: $XDG_STATE_HOME/assetfs]
    #[arg(long, env = "ASSETFS_STATE_DIR", value_name = "DIR")]
    state_dir: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct TakeArgs {
    /// The folder, by its name in the list or by its path
    folder: PathBuf,
    /// Target folder; below `rawmodels` of a drive, the files become drafts
    target: PathBuf,
    /// Leave the files in the folder, too
    #[arg(long)]
    keep: bool,
    #[command(flatten)]
    place: RecoverFrom,
}

pub(super) fn run(args: &RecoverArgs) -> Result<Exit> {
    match &args.what {
        None => list(&args.place),
        Some(RecoverAction::List(place)) => list(place),
        Some(RecoverAction::Take(args)) => take(args),
    }
}

fn list(place: &RecoverFrom) -> Result<Exit> {
    let found = find(place)?;
    if output::is_json() {
        output::is_list();
        found.iter().for_each(output::line);
        return Ok(Exit::Done);
    }
    if found.is_empty() {
        println!("Nothing to recover.");
    }
    for folder in unsent_in(&state_dir(place)?) {
        println!("Note: {}.", unsent_sentence(&folder));
    }
    for folder in &found {
        let files = counted(folder.files.len() as u64, "file");
        let size = bytes(folder.bytes());
        println!("{}  {files}, {size}: {}", folder.name, folder.reason);
        println!("  in {}", folder.path.display());
        for file in &folder.files {
            println!("  {}  {}", file.path, bytes(file.bytes));
        }
    }
    Ok(Exit::Done)
}

fn state_dir(place: &RecoverFrom) -> Result<PathBuf> {
    match &place.state_dir {
        Some(dir) => Ok(dir.clone()),
        None => settings::state_dir(),
    }
}

/// Every folder of kept files: below the state folder, and of the drives that are mounted.
fn find(place: &RecoverFrom) -> Result<Vec<Recovered>> {
    let state_dir = state_dir(place)?;
    let mut outboxes = Vec::new();
    match fs::read_dir(&state_dir) {
        Ok(accounts) => {
            for account in accounts {
                outboxes.push(account?.path().join("outbox"));
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read {}", state_dir.display()));
        }
    }
    // A drive that does not answer is skipped: its folders are also below the state folder. Who names a state folder asks
    // for that one alone.
    let mounts = match place.state_dir {
        Some(_) => Vec::new(),
        None => fuse::mounts()?,
    };
    for mount in mounts {
        let drive = MountedDrive::of(&mount).and_then(|drive| drive.status());
        let recovered = drive.map(|status| status.recovered).unwrap_or_default();
        let folders = recovered.into_iter().map(|it| PathBuf::from(it.folder));
        outboxes.extend(folders.filter_map(|folder| folder.parent().map(Path::to_owned)));
    }
    outboxes.sort();
    outboxes.dedup();
    let mut found = Vec::new();
    for outbox in outboxes.iter().filter(|outbox| outbox.is_dir()) {
        let folders =
            recovered_in(outbox).with_context(|| format!("cannot read {}", outbox.display()))?;
        found.extend(folders);
    }
    Ok(found)
}

#[derive(Debug, Serialize)]
struct Taken {
    folder: PathBuf,
    target: PathBuf,
    files: Vec<RecoveredFile>,
}

fn take(args: &TakeArgs) -> Result<Exit> {
    let folder = chosen(find(&args.place)?, &args.folder)?;
    let unnamed = folder.files.iter().filter(|file| !file.is_named()).count();
    if unnamed > 0 && fuse::find_mount(&args.target)?.is_some() {
        return Err(WrongUse(format!(
            "the names of {} are lost, and in a drive all of them would become one model; \
             take them to a folder outside of the drive, sort them, then copy the models in",
            counted(unnamed as u64, "file")
        ))
        .into());
    }
    for file in &folder.files {
        let from = folder.path_of(file);
        let to = args.target.join(&file.path);
        copy_new(&from, &to)?;
        if !args.keep {
            fs::remove_file(&from).with_context(|| format!("cannot remove {}", from.display()))?;
        }
    }
    if !args.keep {
        fs::remove_dir_all(&folder.path)
            .with_context(|| format!("cannot remove {}", folder.path.display()))?;
    }
    let taken = Taken {
        folder: folder.path.clone(),
        target: args.target.clone(),
        files: folder.files,
    };
    if output::is_json() {
        output::line(&taken);
    } else {
        let files = counted(taken.files.len() as u64, "file");
        println!("Restored {files} to {}.", taken.target.display());
    }
    Ok(Exit::Done)
}

/// The folder with this path or name. The name is the time of the recovery, so folders of two accounts may share it.
fn chosen(found: Vec<Recovered>, wanted: &Path) -> Result<Recovered> {
    let mut matching: Vec<Recovered> = found
        .into_iter()
        .filter(|it| it.path == wanted || Path::new(&it.name) == wanted)
        .collect();
    let wanted = wanted.display();
    if matching.len() > 1 {
        let paths: Vec<String> = matching.iter().map(|it| shell_quoted(&it.path)).collect();
        return Err(WrongUse(format!(
            "several accounts have a folder {wanted}; name one by its path: {}",
            paths.join(", ")
        ))
        .into());
    }
    matching.pop().ok_or_else(|| {
        WrongUse(format!(
            "there is no folder {wanted} to recover; `assetfs recover` lists them"
        ))
        .into()
    })
}

/// Copies a file to a path that must not exist; durable on return.
fn copy_new(from: &Path, to: &Path) -> Result<()> {
    let failed = || format!("cannot copy {} to {}", from.display(), to.display());
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).with_context(failed)?;
    }
    let mut source = File::open(from).with_context(failed)?;
    let target = OpenOptions::new().write(true).create_new(true).open(to);
    let mut target = match target {
        Ok(target) => target,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            bail!(
                "{} already exists; choose another target or move it away",
                to.display()
            )
        }
        Err(error) => return Err(error).with_context(failed),
    };
    io::copy(&mut source, &mut target).with_context(failed)?;
    target.sync_all().with_context(failed)
}
