//! What a run has to do: compares the models of a folder with those of a drive. Decides, and changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};

use super::super::bring::{BringStep, Double, Found, Listed, Look};
use super::super::models_of_folder::{Links, scan};
use super::super::mounted::MountedDrive;
use crate::fuse::shell_quoted;

/// A model of the folder.
pub(super) struct Wanted {
    pub(super) source: PathBuf,
    /// The folder of its model in the drive.
    pub(super) model: PathBuf,
    pub(super) step: BringStep,
}

/// What a run has to do.
pub(super) struct SyncPlan {
    pub(super) wanted: Vec<Wanted>,
    /// Models of the drive that the folder does not have.
    pub(super) extra: Vec<Listed>,
    /// The number of models of the folder that could not be compared with those of the drive. Each may be one of `extra`, under
    /// another name.
    pub(super) not_compared: usize,
    /// They are never deleted here.
    pub(super) doubles: Vec<Double>,
    /// The number of models that the service has.
    pub(super) uploaded: usize,
}

impl SyncPlan {
    pub(super) fn of(dir: &Path, drive: &MountedDrive) -> Result<SyncPlan> {
        let sources = scan(dir, drive.root(), Links::Anywhere, |_| None)?;
        let look = Look::of(&[dir.to_owned()], drive)?;
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for source in &sources {
            *counts.entry(&source.stem).or_default() += 1;
        }
        let candidates = look.others();
        let mut taken = BTreeSet::new();
        let mut wanted = Vec::new();
        let mut not_compared = 0;
        for source in &sources {
            let step = match counts[source.stem.as_str()] {
                1 => look.step(source, &candidates, &mut taken),
                _ => Err(anyhow!(
                    "several models of {} would be rawmodels/{}; rename all but one of them",
                    shell_quoted(dir),
                    source.stem
                )),
            };
            let found = step.unwrap_or_else(|error| {
                not_compared += 1;
                Found::Own(BringStep::Fail(error))
            });
            let (step, model) = found.placed(&source.stem);
            wanted.push(Wanted {
                source: source.path.clone(),
                model: look.rawmodels.join(model),
                step,
            });
        }
        let extra = candidates
            .into_iter()
            .filter(|it| !taken.contains(&it.name));
        let extra = extra.filter(|it| it.id.is_some()).cloned();
        let extra = extra.filter(|it| !look.is_double(it)).collect();
        let doubles = look.doubles(&taken);
        let uploaded = look.listed.iter().filter(|it| it.id.is_some()).count();
        Ok(SyncPlan {
            wanted,
            extra,
            not_compared,
            doubles,
            uploaded,
        })
    }
}
