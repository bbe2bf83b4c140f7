//! `assetfs rm`: deletes many models with few requests. Drafts, presets and embeds are removed as any
//! `rm` does.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::fuse::shell_quoted;

use super::mounted::{MountedDrive, check_exists, item_id};
use super::{Exit, WrongUse};

/// Delete models, drafts, presets, embeds and job texts
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: assetfs rm ~/assets/rawmodels/chair ~/assets/rapidmodels/chair*")]
pub(super) struct RmArgs {
    /// What is to be deleted, for ever
    #[arg(required = true)]
    paths: Vec<PathBuf>,
}

/// More ids on one line than this and the line is another.
const IDS_A_LINE: usize = 500;

pub(super) fn run(args: &RmArgs) -> Result<Exit> {
    // By mount and family, so that each is one request.
    let mut models: BTreeMap<(PathBuf, &'static str), Vec<String>> = BTreeMap::new();
    let mut others = Vec::new();
    for path in &args.paths {
        let drive = MountedDrive::of(path)?;
        check_exists(path)?;
        let family = family_of(drive.root(), path)?;
        match (family, item_id(path)?) {
            (Some(family), Some(id)) => models
                .entry((drive.root().to_owned(), family))
                .or_default()
                .push(id),
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
    Ok(Exit::Done)
}

/// Which kind of model a path is; only whole models are deleted on the service.
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
            "{} is no model, preset or embed; the service deletes only whole models",
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
