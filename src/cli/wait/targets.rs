//! What is waited for: the paths that were given, the drafts and jobs of a drive, and new versions of models.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use super::super::files::is_json;
use super::super::mounted::{self, MountedDrive};
use super::state::{State, is_job_folder, state_of};
use crate::drive::StatusWord;

/// How long to wait until a complete new version has the name of the model.
pub(in crate::cli) const NAME_PATIENCE: Duration = Duration::from_secs(10);

/// What is waited for.
pub(super) struct Target {
    pub(super) path: PathBuf,
    /// Set if the path is the draft of a new version. A complete version gets the name of the model, and this path disappears.
    version: Option<Version>,
}

/// The model that a draft becomes a new version of.
struct Version {
    model: PathBuf,
    /// The id of the version that it replaces.
    old: Option<String>,
}

impl Target {
    /// A path that is no draft of a new version.
    pub(super) fn of(path: &Path) -> Target {
        Target {
            path: path.to_owned(),
            version: None,
        }
    }

    /// `gone_since` is when the path of a version was missing first.
    pub(super) fn state(&self, gone_since: &mut Option<Instant>) -> Result<State> {
        let state = state_of(&self.path);
        let is_gone = || {
            let found = self.path.symlink_metadata();
            found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        };
        match &self.version {
            Some(version) if state.is_err() && is_gone() => version.state_at_the_name(gone_since),
            _ => state,
        }
    }
}

impl Version {
    fn state_at_the_name(&self, gone_since: &mut Option<Instant>) -> Result<State> {
        let now = mounted::item_id(&self.model)?;
        if now.is_some() && now != self.old {
            return state_of(&self.model);
        }
        let since = gone_since.get_or_insert_with(Instant::now);
        Ok(match since.elapsed() < NAME_PATIENCE {
            true => State::Going(
                StatusWord::Importing,
                "the new version takes the name".into(),
            ),
            false => State::Failed(
                StatusWord::Failed,
                "the new version was cancelled or removed".into(),
            ),
        })
    }
}

/// The paths to wait for. Of an `optimize/` folder these are its jobs, and the results of texts that only other machines have. Of a
/// model it is also its new version, if one is being sent.
pub(super) fn targets(paths: &[PathBuf]) -> Result<Vec<Target>> {
    let mut targets = BTreeSet::new();
    let mut versions = BTreeMap::new();
    for path in paths {
        // The parent folder determines what a name is; a relative name may have no parent.
        let path = &mounted::own_target(&std::path::absolute(path)?)?;
        let drive = MountedDrive::of(path)?;
        if !versions.contains_key(drive.root()) && !is_job_folder(path) {
            versions.insert(drive.root().to_owned(), versions_under_way(&drive)?);
        }
        if path.canonicalize().is_ok_and(|path| path == drive.root()) {
            targets.extend(under_way(&drive)?);
        } else if is_job_folder(path) {
            for entry in fs::read_dir(path).with_context(|| path.display().to_string())? {
                let path = entry?.path();
                if is_json(&path) {
                    targets.insert(path);
                } else if path.is_symlink() && !path.with_added_extension("json").exists() {
                    // The result of a text that another machine has.
                    targets.insert(
                        path.canonicalize()
                            .with_context(|| path.display().to_string())?,
                    );
                }
            }
        } else {
            let version = path.canonicalize().ok();
            let version = version.and_then(|model| versions[drive.root()].get(&model));
            targets.extend(version.cloned());
            targets.insert(path.clone());
        }
    }
    let pairs = versions.values().flatten();
    let models: BTreeMap<&Path, &Path> = pairs
        .map(|(model, draft)| (draft.as_path(), model.as_path()))
        .collect();
    let target = |path: PathBuf| {
        let whole = path.canonicalize().ok();
        let model = whole.and_then(|whole| models.get(whole.as_path()));
        let version = model.map(|model| Version {
            model: (*model).to_owned(),
            old: mounted::item_id(model).ok().flatten(),
        });
        Target { path, version }
    };
    Ok(targets.into_iter().map(target).collect())
}

/// The drafts that become new versions of models, by the paths of the models.
fn versions_under_way(drive: &MountedDrive) -> Result<BTreeMap<PathBuf, PathBuf>> {
    let root = drive.root().canonicalize()?;
    let below = |path: &str| root.join(path.trim_start_matches('/'));
    let drafts = drive.status()?.drafts.into_iter();
    let sent = drafts.filter(|draft| !draft.stuck);
    let pairs =
        sent.filter_map(|draft| Some((below(draft.replaces.as_deref()?), below(&draft.path))));
    Ok(pairs.collect())
}

/// The unfinished drafts and jobs of a drive.
fn under_way(drive: &MountedDrive) -> Result<Vec<PathBuf>> {
    let status = drive.status()?;
    let drafts = status.drafts.into_iter().map(|draft| draft.path);
    let jobs = status.jobs.into_iter().map(|job| job.path);
    let below = |path: String| drive.root().join(path.trim_start_matches('/'));
    Ok(drafts.chain(jobs).map(below).collect())
}
