//! `assetfs rm`: deletes many models with few requests. Drafts, presets and embeds are removed with unlink and rmdir.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap_complete::engine::ArgValueCompleter;

use crate::fuse::shell_quoted;

use super::completers;
use super::exit::{Exit, WrongUse, sentence};
use super::files::is_json;
use super::given_paths::{self, ListForm};
use super::mounted::{MountedDrive, check_exists, item_id, own_target};
use super::table::counted;
use super::{output, question};

/// Delete models, drafts, presets, embeds and job texts
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: assetfs rm ~/assets/rawmodels/chair ~/assets/rapidmodels/chair*\n\
    Example: assetfs list --results --json | jq -c 'select(.stale)' | assetfs rm --yes -"
)]
pub(super) struct RmArgs {
    /// What to delete for good; `-` reads paths, names of source models or lines of `assetfs list --json` from standard input;
    /// a folder below rawmodels/.assetfs/search/ stands for the models in it
    #[arg(add = ArgValueCompleter::new(completers::models), required = true)]
    paths: Vec<PathBuf>,
    /// Only say what would be deleted
    #[arg(long, short = 'n')]
    dry_run: bool,
    /// Delete more models than a drive deletes in a minute (--delete-limit), without a question
    #[arg(long, conflicts_with = "dry_run")]
    yes: bool,
    #[command(flatten)]
    form: ListForm,
}

/// Maximum number of ids in one command line.
const IDS_A_LINE: usize = 500;
/// A terminal is asked before more models than this are deleted.
const UNASKED: usize = 20;

pub(super) fn run(args: &RmArgs) -> Result<Exit> {
    output::about(output::only(&args.paths), delete(args))
}

/// What is to be deleted.
#[derive(Default)]
struct Doomed {
    /// By drive and kind, so that many models are one request.
    models: BTreeMap<(PathBuf, &'static str), Vec<DoomedModel>>,
    /// Drafts, presets, embeds and texts.
    others: Vec<PathBuf>,
}

struct DoomedModel {
    /// The path that was given, which may be a link.
    given: PathBuf,
    /// Its folder.
    folder: PathBuf,
    id: String,
}

impl Doomed {
    /// All are looked at before anything is deleted: a name that does not exist may be a typing error. Returns an error for each
    /// wrong path; then nothing is deleted.
    fn of(given: Vec<PathBuf>) -> Result<Doomed, Vec<(PathBuf, anyhow::Error)>> {
        let mut doomed = Doomed::default();
        let mut wrong = Vec::new();
        for given in given {
            match own_target(&given).and_then(|target| Ok((find(&target)?, target))) {
                Ok(((root, Some(family), Some(id)), folder)) => {
                    let models = doomed.models.entry((root, family)).or_default();
                    models.push(DoomedModel { given, folder, id });
                }
                Ok((_, folder)) => doomed.others.push(folder),
                Err(error) => wrong.push((given, error)),
            }
        }
        match wrong.is_empty() {
            true => Ok(doomed),
            false => Err(wrong),
        }
    }

    fn models(&self) -> usize {
        self.models.values().map(Vec::len).sum()
    }

    /// Says which drives would refuse to delete so many models without a confirmation.
    fn say_limits(&self) -> Result<()> {
        let mut counts: BTreeMap<&Path, usize> = BTreeMap::new();
        for ((root, _), models) in &self.models {
            *counts.entry(root).or_default() += models.len();
        }
        for (root, count) in counts {
            let status = MountedDrive::of(root)?.status()?;
            if let Some(left) = status.fewer_deletions_than(count) {
                eprintln!(
                    "the drive at {} would refuse this, because it deletes only {} more within this minute; --yes deletes them all",
                    shell_quoted(root),
                    counted(left as u64, "model")
                );
            }
        }
        Ok(())
    }

    fn paths(&self) -> impl Iterator<Item = &Path> {
        let models = self.models.values().flatten().map(|it| &it.given);
        models.chain(&self.others).map(PathBuf::as_path)
    }
}

fn delete(args: &RmArgs) -> Result<Exit> {
    let given = given_paths::all(&args.paths, args.form)?;
    let count = given.len();
    output::is_list();
    let doomed = match Doomed::of(given) {
        Ok(doomed) => doomed,
        Err(wrong) => {
            let mut exit = Exit::Done;
            for (path, error) in &wrong {
                exit = exit.max(output::failed(Some(path), error));
            }
            if wrong.len() < count {
                eprintln!("nothing was deleted");
            }
            return Ok(exit);
        }
    };
    if args.dry_run {
        doomed.paths().for_each(output::would_do);
        let count = doomed.paths().count() as u64;
        eprintln!("{} would be deleted for good", counted(count, "item"));
        doomed.say_limits()?;
        return Ok(Exit::Done);
    }
    let count = counted(doomed.models() as u64, "model");
    let is_asked = !args.yes && doomed.models() > UNASKED && question::can_ask();
    if is_asked && !question::agreed(&format!("Delete {count} for good?"))? {
        return Ok(Exit::Done);
    }
    let order = match args.yes || is_asked {
        true => "delete --confirmed",
        false => "delete",
    };
    let mut exit = Exit::Done;
    for path in &doomed.others {
        match remove(path) {
            Ok(()) => output::done(path),
            Err(error) => {
                let error = anyhow::Error::new(error).context(shell_quoted(path));
                exit = exit.max(output::failed(Some(path), &error));
            }
        }
    }
    for ((root, family), models) in doomed.models {
        let drive = MountedDrive::of(&root)?;
        for part in models.chunks(IDS_A_LINE) {
            exit = exit.max(delete_part(&drive, &format!("{order} {family}"), part));
        }
    }
    Ok(exit)
}

/// Deletes models with one command. If it fails, those that are gone are done all the same.
fn delete_part(drive: &MountedDrive, order: &str, models: &[DoomedModel]) -> Exit {
    let ids: Vec<&str> = models.iter().map(|it| it.id.as_str()).collect();
    let ended = drive.order(&format!("{order} {}", ids.join(" ")));
    let is_left = |it: &&DoomedModel| ended.is_err() && it.folder.symlink_metadata().is_ok();
    let (left, gone): (Vec<_>, Vec<_>) = models.iter().partition(is_left);
    gone.iter().for_each(|it| output::done(&it.given));
    let Err(error) = &ended else {
        return Exit::Done;
    };
    let reason = sentence(error);
    let count = counted(left.len() as u64, "model");
    eprintln!("assetfs: {count} not deleted: {reason}");
    for it in &left {
        output::failure_line(Some(&it.given), &reason, Exit::Failed);
    }
    Exit::Failed
}

/// The drive of a path, the kind of its model and its id.
fn find(path: &Path) -> Result<(PathBuf, Option<&'static str>, Option<String>)> {
    let drive = MountedDrive::of(path)?;
    check_exists(path)?;
    let family = family_of(drive.root(), path)?;
    Ok((drive.root().to_owned(), family, item_id(path)?))
}

/// The kind of model at a path. The service only deletes whole models.
fn family_of(root: &Path, path: &Path) -> Result<Option<&'static str>> {
    let absolute = std::path::absolute(path)?;
    let absolute = match (absolute.parent(), absolute.file_name()) {
        (Some(parent), Some(name)) => parent.canonicalize()?.join(name),
        _ => absolute,
    };
    let below = absolute.strip_prefix(root).unwrap_or(&absolute);
    let parts: Vec<&str> = below.iter().filter_map(|part| part.to_str()).collect();
    match parts[..] {
        ["rawmodels", _] => Ok(Some("rawmodels")),
        ["rapidmodels", _] => Ok(Some("rapidmodels")),
        ["presets" | "embeds" | "jobs", _] => Ok(None),
        ["rawmodels", _, "optimize" | "embeds", text] if is_json(Path::new(text)) => Ok(None),
        _ => Err(WrongUse(format!(
            "{} is not a model, preset, embed or job text; the service deletes only whole models",
            shell_quoted(path)
        ))
        .into()),
    }
}

fn remove(path: &Path) -> std::io::Result<()> {
    match fs::symlink_metadata(path)?.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    }
}
