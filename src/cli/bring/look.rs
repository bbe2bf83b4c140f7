//! What a drive has of the models of a folder, and what has to be done for each. Decides, and changes nothing.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::files;
use super::super::models_of_folder::content::{Content, compare, files_of, is_under_other_name};
use super::super::models_of_folder::{KnownTexts, ModelPreset, NewFiles, Source};
use super::super::mounted::{self, MountedDrive, explain_at};
use super::super::replace::is_unfinished;
use super::super::wait::patience_in;
use crate::drive::{DraftStatus, StatusWord, ends_in_id, split_id, with_ending};
use crate::fuse::shell_quoted;
use crate::outbox::model_of_loose_file;

/// A model or a draft of the drive.
#[derive(Debug, Clone, Deserialize)]
pub(in crate::cli) struct Listed {
    pub(in crate::cli) name: String,
    pub(in crate::cli) id: Option<u64>,
    state: StatusWord,
    status: String,
    reason: Option<String>,
    bytes: Option<u64>,
    /// The id of the version that it was sent to replace.
    replaces: Option<u64>,
}

/// A model that another machine sent under the name of a model of the folder, at the same moment. It is never deleted by
/// itself, because each machine may call the other one the double.
pub(in crate::cli) struct Double {
    path: PathBuf,
    id: u64,
    /// It was sent as a change of an earlier version.
    is_change: bool,
    state: StatusWord,
    twin: Twin,
}

/// The model that has the name of a double.
struct Twin {
    path: PathBuf,
    /// `None` for a draft.
    id: Option<u64>,
    is_change: bool,
}

impl Double {
    /// For people. All machines name the same model: if each named its double, following both would delete both. It is the one
    /// that was not changed since; if both or neither were changed, the one with the higher id. It is named with its id, because the
    /// plain name may mean another model later.
    pub(in crate::cli) fn sentence(&self) -> String {
        let twin = &self.twin;
        let is_twin = match (twin.is_change, self.is_change) {
            (false, true) => true,
            (true, false) => false,
            _ => twin.id > Some(self.id),
        };
        let needless = match twin.id.filter(|_| is_twin) {
            Some(id) => with_id_in_name(&twin.path, &id.to_string()),
            None => self.path.clone(),
        };
        format!(
            "{} and {} have one name: another machine has sent a model of this name too; if one is enough, delete this one, on \
             one machine: `assetfs rm {}`",
            shell_quoted(&twin.path),
            shell_quoted(&self.path),
            shell_quoted(&needless)
        )
    }

    /// Its line of `--json`.
    pub(in crate::cli) fn line(&self) -> Value {
        json!({
            "path": self.path.to_string_lossy(),
            "state": self.state,
            "outcome": "double",
            "id": self.id,
            "twin": self.twin.path.to_string_lossy(),
            "exit": 0,
        })
    }
}

/// What has to be done for a model of the folder.
pub(in crate::cli) enum BringStep {
    /// The drive has it.
    Nothing,
    /// It becomes a model of the drive, the next version of one, or its upload is waited for.
    Bring(NewFiles, Brings),
    /// A draft of this path is renamed, and its upload is waited for.
    Rename(PathBuf),
    /// The drive has it under another name, which it keeps.
    OtherName,
    Fail(anyhow::Error),
}

/// Why a model is brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Brings {
    New,
    Changed,
    /// It is a draft with the same files.
    Staged,
    /// The service has it and is not done with it, as after a retry.
    UnderWay,
}

/// Where the drive has, or will have, a source.
pub(in crate::cli) enum Found {
    /// Under its own name.
    Own(BringStep),
    Other(String),
}

impl Found {
    /// What has to be done, and the name that the model has or gets; `own` is its own.
    pub(in crate::cli) fn placed(self, own: &str) -> (BringStep, String) {
        match self {
            Found::Own(step) => (step, own.to_owned()),
            Found::Other(name) => (BringStep::OtherName, name),
        }
    }
}

impl BringStep {
    /// Where the model is before this step.
    pub(in crate::cli) fn place<'p>(&'p self, model: &'p Path) -> &'p Path {
        match self {
            BringStep::Rename(draft) => draft,
            _ => model,
        }
    }

    /// Whether the text of a preset is a new one for the model after this step, which is paid.
    pub(in crate::cli) fn needs_text(
        &self,
        model: &Path,
        preset: &ModelPreset,
        known: &KnownTexts,
    ) -> bool {
        match self {
            BringStep::Fail(_) => false,
            BringStep::Bring(_, Brings::New | Brings::Changed) => true,
            _ => known.lacks(self.place(model), preset),
        }
    }
}

/// What a drive has, when a run begins.
pub(in crate::cli) struct Look {
    pub(in crate::cli) rawmodels: PathBuf,
    pub(in crate::cli) listed: Vec<Listed>,
    versions: Vec<DraftStatus>,
    /// What the folder has, whether it is a model or not.
    pub(in crate::cli) names: BTreeSet<String>,
}

impl Look {
    /// Reads what the drive has; `dirs` are the folders of models.
    pub(in crate::cli) fn of(dirs: &[PathBuf], drive: &MountedDrive) -> Result<Look> {
        let mut names = BTreeSet::new();
        for dir in dirs {
            names.extend(names_in(dir)?);
        }
        Ok(Look {
            rawmodels: drive.root().join("rawmodels"),
            listed: listed(drive)?,
            versions: drive.status()?.drafts,
            names,
        })
    }

    /// Models whose name nothing in the folder has.
    pub(in crate::cli) fn others(&self) -> Vec<&Listed> {
        let listed = self.listed.iter();
        let others = listed.filter(|it| !self.names.contains(it.model_name()));
        others.filter(|it| !self.is_version(it)).collect()
    }

    /// The models that the service has under the name of another one that the folder has. One in `taken` is a model of the
    /// folder.
    pub(in crate::cli) fn doubles(&self, taken: &BTreeSet<String>) -> Vec<Double> {
        let others = self.others().into_iter();
        // A failed model is a new version of another machine whose import failed.
        let doubles = others.filter(|it| {
            !taken.contains(&it.name) && it.state != StatusWord::Failed && self.is_double(it)
        });
        let of_listed = |it: &Listed| {
            let name = it.name_without_id()?;
            let twin = self.listed.iter().find(|it| it.name == name);
            Some(Double {
                path: self.rawmodels.join(&it.name),
                id: it.id?,
                is_change: it.replaces.is_some(),
                state: it.state.clone(),
                twin: Twin {
                    path: self.rawmodels.join(name),
                    id: twin.and_then(|it| it.id),
                    is_change: twin.is_some_and(|it| it.replaces.is_some()),
                },
            })
        };
        doubles.filter_map(of_listed).collect()
    }

    /// Whether the service knows it by a name that the folder has, and no machine has replaced it knowingly: two machines that
    /// replace one version at the same moment do not know of each other.
    pub(in crate::cli) fn is_double(&self, it: &Listed) -> bool {
        let is_of_folder = it
            .name_without_id()
            .is_some_and(|name| self.names.contains(name));
        let is_replaced = || {
            self.listed
                .iter()
                .any(|other| other.replaces.is_some() && other.replaces == it.id)
        };
        is_of_folder && !is_replaced()
    }

    fn is_version(&self, listed: &Listed) -> bool {
        let path = format!("/rawmodels/{}", listed.name);
        let mut drafts = self.versions.iter();
        drafts.any(|draft| draft.path == path && draft.replaces.is_some())
    }

    /// What has to be done for a model of the folder. `others` are models of the drive that may have its files under another
    /// name; one in `taken` has the files of another model of the folder.
    pub(in crate::cli) fn step(
        &self,
        source: &Source,
        others: &[&Listed],
        taken: &mut BTreeSet<String>,
    ) -> Result<Found> {
        if ends_in_id(&source.stem) {
            bail!(
                "{} always means the model with this id; rename it in the folder",
                shell_quoted(Path::new(&source.stem))
            );
        }
        source.check_can_be_imported()?;
        let new = files_of(source)?;
        let there = self.listed.iter().find(|it| it.model_name() == source.stem);
        if let Some(there) = there {
            let step = self.step_of_known(new, there, &source.stem)?;
            if let BringStep::Bring(new, Brings::Changed) = &step
                && let Some(double) = self.double_with(source, new)?
            {
                return Ok(Found::Other(double.name.clone()));
            }
            return Ok(Found::Own(step));
        }
        let others = others.iter().copied();
        let free = others.filter(|it| !taken.contains(&it.name));
        let found = self.with_files(source, &new, free)?;
        if let Some(other) = found {
            taken.insert(other.name.clone());
            self.check_has_not_failed(other)?;
            return Ok(match other.id {
                Some(_) => Found::Other(other.name.clone()),
                None => Found::Own(BringStep::Rename(self.rawmodels.join(&other.name))),
            });
        }
        Ok(Found::Own(BringStep::Bring(new, Brings::New)))
    }

    /// The double of a model that has these files: another machine has sent them, and paid for what was made of them.
    fn double_with(&self, source: &Source, new: &NewFiles) -> Result<Option<&Listed>> {
        let is_of_name =
            |it: &&Listed| it.name_without_id() == Some(&source.stem) && self.is_double(it);
        let found = self.with_files(source, new, self.listed.iter().filter(is_of_name))?;
        found.map_or(Ok(()), |double| self.check_has_not_failed(double))?;
        Ok(found)
    }

    /// The path and the id of the model that has these files and is about to be an old version, because it is one of
    /// `replaced`, which get other files.
    pub(in crate::cli) fn old_version_with(
        &self,
        source: &Source,
        new: &NewFiles,
        replaced: &BTreeSet<PathBuf>,
    ) -> Result<Option<(PathBuf, u64)>> {
        let path = |it: &Listed| self.rawmodels.join(&it.name);
        let is_replaced = |it: &&Listed| it.id.is_some() && replaced.contains(&path(it));
        let found = self.with_files(source, new, self.listed.iter().filter(is_replaced))?;
        found.map_or(Ok(()), |old| self.check_has_not_failed(old))?;
        Ok(found.and_then(|old| Some((path(old), old.id?))))
    }

    /// The first of some models that has these files.
    fn with_files<'l>(
        &self,
        source: &Source,
        new: &NewFiles,
        models: impl Iterator<Item = &'l Listed>,
    ) -> Result<Option<&'l Listed>> {
        for model in models {
            match is_under_other_name(new, &self.rawmodels.join(model.model_name())) {
                Ok(true) => return Ok(Some(model)),
                Ok(false) => {}
                // Another machine has deleted it since it was listed.
                Err(error) if is_gone(&error) && source.path.exists() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// What the service could not import is not sent again as it is.
    fn check_has_not_failed(&self, there: &Listed) -> Result<()> {
        if there.state != StatusWord::Failed {
            return Ok(());
        }
        let why = there.reason.as_ref().unwrap_or(&there.status);
        let path = shell_quoted(&self.rawmodels.join(&there.name)).to_string();
        bail!("the drive has these files as {path}, which failed: {why}")
    }

    /// A model of the name is there.
    fn step_of_known(&self, new: NewFiles, there: &Listed, name: &str) -> Result<BringStep> {
        let model = self.rawmodels.join(name);
        // A version that failed is not sent again as it is.
        let of_name = format!("/rawmodels/{name}");
        let mut versions = self.versions.iter();
        let version = versions.find(|it| it.replaces.as_deref() == Some(&of_name));
        if let Some(failed) = version.filter(|it| it.state == StatusWord::Failed) {
            let path = self
                .rawmodels
                .with_file_name(failed.path.trim_start_matches('/'));
            if new.equals_staged(&path)? {
                let why = mounted::why(&path)?.unwrap_or_else(|| failed.status.clone());
                bail!("{why}");
            }
        }
        // It may have all bytes: the run was killed before it could say that the copy is finished.
        if there.id.is_none() && is_unfinished(&model) {
            return Ok(BringStep::Bring(new, Brings::New));
        }
        Ok(match compare(&new, &model, there.bytes)? {
            Content::Same if there.state == StatusWord::Complete => BringStep::Nothing,
            Content::Same if there.state == StatusWord::Failed => {
                let why = there.reason.as_ref().unwrap_or(&there.status);
                BringStep::Fail(anyhow!("{why}"))
            }
            Content::Same if there.id.is_none() => BringStep::Bring(new, Brings::Staged),
            Content::Same => BringStep::Bring(new, Brings::UnderWay),
            Content::Partly | Content::Other if there.is_draft_left_behind() => {
                let path = shell_quoted(&model);
                BringStep::Fail(anyhow!(
                    "{path} is a draft with other files, and it is not sent by itself: {}. If nothing is copied into it any \
                     more, `assetfs cancel {path}` removes it; then run this again",
                    there.status
                ))
            }
            Content::Partly | Content::Other => BringStep::Bring(new, Brings::Changed),
            Content::Unknown => BringStep::Fail(anyhow!(
                "{} was copied in on another machine, and a zip cannot be compared with what is in it; if it has changed, \
                 `assetfs replace` sends it",
                shell_quoted(&model)
            )),
        })
    }
}

fn is_gone(error: &anyhow::Error) -> bool {
    let mut causes = error.chain();
    causes.any(|cause| {
        let cause = cause.downcast_ref::<std::io::Error>();
        let kind = cause.map(std::io::Error::kind);
        matches!(
            kind,
            Some(ErrorKind::NotFound | ErrorKind::StaleNetworkFileHandle)
        )
    })
}

/// The path of a model by its name and id, which always means that one model.
pub(in crate::cli) fn with_id_in_name(model: &Path, id: &str) -> PathBuf {
    let name = model.file_name().unwrap_or_default().to_string_lossy();
    model.with_file_name(with_ending(&name, &format!("~{id}")))
}

impl Listed {
    /// The name without the id, if it ends in one.
    fn name_without_id(&self) -> Option<&str> {
        split_id(&self.name).map(|(name, _)| name)
    }

    /// Whether it is a draft that is not sent until somebody does something. An empty folder is none: a killed command leaves it.
    fn is_draft_left_behind(&self) -> bool {
        let waits = self.state == StatusWord::Failed || patience_in(&self.state).is_some();
        self.id.is_none() && self.state != StatusWord::Draft && waits
    }

    /// The name of its model: a loose file is listed with its extension until it is sent.
    fn model_name(&self) -> &str {
        let stem = model_of_loose_file(&self.name).filter(|_| self.id.is_none());
        stem.unwrap_or(&self.name)
    }
}

/// The names in a folder, with and without the extensions: also of what is no model now, as while it is copied.
fn names_in(dir: &Path) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(dir).with_context(|| dir.display().to_string())? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if let Some((stem, _)) = name.rsplit_once('.') {
            names.insert(stem.to_owned());
        }
        names.insert(name);
    }
    Ok(names)
}

fn listed(drive: &MountedDrive) -> Result<Vec<Listed>> {
    let path = drive.root().join("rawmodels/.assetfs/models.jsonl");
    files::lines_from_drive(&path).map_err(|error| match error.downcast::<std::io::Error>() {
        Ok(error) => explain_at(&path, error),
        Err(error) => error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_machines_that_call_each_others_model_the_double_are_told_to_delete_the_same_one() {
        let on = |id: u64, is_change: bool, twin_id: u64, twin_is_change: bool| {
            let double = Double {
                path: format!("/d/urn~{id}").into(),
                id,
                is_change,
                state: StatusWord::Complete,
                twin: Twin {
                    path: "/d/urn".into(),
                    id: Some(twin_id),
                    is_change: twin_is_change,
                },
            };
            let sentence = double.sentence();
            sentence.rsplit_once("assetfs rm ").unwrap().1.to_owned()
        };
        let of_both = |one: (u64, bool), two: (u64, bool)| {
            [
                on(one.0, one.1, two.0, two.1),
                on(two.0, two.1, one.0, one.1),
            ]
        };
        let later = ["'/d/urn~22'`", "'/d/urn~22'`"];
        assert_eq!(of_both((21, false), (22, false)), later);
        assert_eq!(of_both((22, true), (21, true)), later);
        // One machine has changed its model since, which has a new id.
        assert_eq!(of_both((23, true), (22, false)), later);
    }
}
