//! What a run has to do: compares the models of a folder with those of a drive. Decides, and changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};

use super::super::bring::{BringStep, Brings, Double, Found, Listed, Look, with_id_in_name};
use super::super::models_of_folder::{Links, Source, scan};
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
    /// The ids of versions that are replaced and not deleted, because another file of the folder has their files.
    pub(super) kept_versions: BTreeSet<u64>,
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
        let mut plan = SyncPlan {
            wanted,
            extra,
            not_compared,
            kept_versions: BTreeSet::new(),
            doubles,
            uploaded,
        };
        plan.keep_as_old_versions(&sources, &look);
        Ok(plan)
    }

    /// If a model was renamed in the folder and another file has its name now, the drive keeps it as the old version of that
    /// name. `sources` and the models of the plan are in the same order.
    fn keep_as_old_versions(&mut self, sources: &[Source], look: &Look) {
        let is_replaced = |it: &&Wanted| matches!(it.step, BringStep::Bring(_, Brings::Changed));
        let replaced = self.wanted.iter().filter(is_replaced);
        let mut replaced: BTreeSet<PathBuf> = replaced.map(|it| it.model.clone()).collect();
        for (source, wanted) in sources.iter().zip(&mut self.wanted) {
            let BringStep::Bring(new, Brings::New) = &wanted.step else {
                continue;
            };
            match look.old_version_with(source, new, &replaced) {
                Ok(None) => {}
                Ok(Some((model, id))) => {
                    replaced.remove(&model);
                    self.kept_versions.insert(id);
                    wanted.model = with_id_in_name(&model, &id.to_string());
                    wanted.step = BringStep::OtherName;
                }
                Err(error) => {
                    self.not_compared += 1;
                    wanted.step = BringStep::Fail(error);
                }
            }
        }
    }
}
