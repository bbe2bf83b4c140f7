//! `assetfs rm`: deletes many models with few requests. Drafts, presets and embeds are removed with unlink and rmdir.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap_complete::engine::ArgValueCompleter;

use crate::fuse::shell_quoted;

use super::completers;
use super::exit::{Exit, WrongUse};
use super::mounted::{MountedDrive, check_exists, item_id, own_target};
use super::output;

/// Delete models, drafts, presets, embeds and job texts
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: assetfs rm ~/assets/rawmodels/chair ~/assets/rapidmodels/chair*")]
pub(super) struct RmArgs {
    /// What to delete for good
    #[arg(add = ArgValueCompleter::new(completers::models), required = true)]
    paths: Vec<PathBuf>,
}

/// Maximum number of ids in one command line.
const IDS_A_LINE: usize = 500;

pub(super) fn run(args: &RmArgs) -> Result<Exit> {
    output::about(output::only(&args.paths), delete(args))
}

fn delete(args: &RmArgs) -> Result<Exit> {
    // Grouped by mount and kind, so that each group is one request.
    let mut models: BTreeMap<(PathBuf, &'static str), Vec<String>> = BTreeMap::new();
    let mut others = Vec::new();
    // All are looked at before anything is deleted: a name that does not exist may be a typing error.
    let paths: Vec<PathBuf> = args
        .paths
        .iter()
        .map(|path| own_target(path))
        .collect::<Result<_>>()?;
    for path in &paths {
        let found = find(path);
        let (root, family, id) = match args.paths.len() {
            1 => found?,
            _ => found.context("nothing was deleted")?,
        };
        match (family, id) {
            (Some(family), Some(id)) => models.entry((root, family)).or_default().push(id),
            _ => others.push(path),
        }
    }
    for path in others {
        remove(path).with_context(|| path.display().to_string())?;
    }
    for ((root, family), ids) in models {
        let drive = MountedDrive::of(&root)?;
        for ids in ids.chunks(IDS_A_LINE) {
            drive.order(&format!("delete {family} {}", ids.join(" ")))?;
        }
    }
    args.paths.iter().for_each(|path| output::done(path));
    Ok(Exit::Done)
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
        _ => Err(WrongUse(format!(
            "{} is not a model, preset or embed; the service deletes only whole models",
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
