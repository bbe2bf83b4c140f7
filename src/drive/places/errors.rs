//! `ERROR.txt`: failures of background work in a folder, shown until the file is removed or the work succeeds.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;

use super::node::Row;
use super::place::{Lifetime, Place, Removal, Text};
use crate::client::without_full_stop;
use crate::drive::catalog::{asset_failure, model_path, rapid_status};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::posix::FileKind;
use crate::drive::tree::Tree;
use crate::drive::values::local::{DropFolder, ErrorParent, HiddenParent};
use crate::drive::values::names::shown_path;
use crate::drive::values::node::{Home, Model};
use crate::outbox::{DraftKind, DraftPhase, StatusWord};
use crate::wire::{AssetId, RapidId};

const ERROR_FILE: &str = "ERROR.txt";
/// The table of texts that were removed.
const DISMISSED: &str = "dismissed";
/// The table of texts with the time when each was first known.
const NOTICED: &str = "failures-noticed";

pub(super) struct ErrorText(pub(super) ErrorParent);

#[async_trait]
impl Place for ErrorText {
    fn identity(&self) -> String {
        format!("error/{}", self.0)
    }

    fn kind(&self) -> Option<FileKind> {
        Some(FileKind::File)
    }

    fn path(&self, tree: &Tree) -> String {
        let folder = match self.0 {
            ErrorParent::Model(model) => model_path(tree.catalog(), model),
            ErrorParent::Drop(folder) => folder.path(tree),
            ErrorParent::RawModels => "/rawmodels".to_owned(),
        };
        format!("{folder}/{ERROR_FILE}")
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::None
    }

    async fn text(&self, tree: &Arc<Tree>) -> DriveResult<Text> {
        let text = error_text(tree, self.0).ok_or(DriveError::NotFound)?;
        let modified = failed_at(tree, self.0, &text);
        Ok(Text::new(text, modified))
    }

    fn failure(&self, tree: &Tree) -> Option<String> {
        match self.0 {
            ErrorParent::Model(Model::Raw(home)) => model_failure(tree, home),
            parent => error_text(tree, parent),
        }
    }

    fn shown_model(&self, _: &Tree) -> Option<Model> {
        match self.0 {
            ErrorParent::Model(model) => Some(model),
            ErrorParent::Drop(_) | ErrorParent::RawModels => None,
        }
    }

    fn removal(&self) -> Removal {
        Removal::ErrorText(self.0)
    }
}

/// The text of `ERROR.txt`; `None` if nothing failed or the text was removed.
pub fn error_text(tree: &Tree, parent: ErrorParent) -> Option<String> {
    let text = failure_text(tree, parent)?;
    let dismissed: Option<String> = tree
        .meta()
        .get(DISMISSED, &parent.to_string())
        .ok()
        .flatten();
    let is_old = dismissed.is_some_and(|old| text.lines().all(|line| old.contains(line)));
    (!is_old).then_some(text)
}

/// When the drive noticed what a text of `ERROR.txt` says; kept over a remount, as long as the text is the same.
fn failed_at(tree: &Tree, parent: ErrorParent, text: &str) -> SystemTime {
    if let Some((_, at)) = noticed(tree, parent).filter(|(known, _)| known == text) {
        return at;
    }
    let now = SystemTime::now();
    let kept = (text, now);
    if let Err(error) = tree
        .meta()
        .relaxed()
        .put(NOTICED, &parent.to_string(), &kept)
    {
        tracing::debug!(parent = %parent, error = %error, "the time of a failure is not kept");
    }
    now
}

fn noticed(tree: &Tree, parent: ErrorParent) -> Option<(String, SystemTime)> {
    tree.meta().get(NOTICED, &parent.to_string()).ok().flatten()
}

/// Keeps the time of what failed in a drop folder, as soon as the drive knows of it.
pub fn note_failure_time(tree: &Tree, folder: DropFolder) {
    let parent = ErrorParent::Drop(folder);
    match failure_text(tree, parent) {
        Some(text) => drop(failed_at(tree, parent, &text)),
        None if noticed(tree, parent).is_none() => {}
        // The same failure later is another one.
        None => drop(tree.meta().relaxed().remove(NOTICED, &parent.to_string())),
    }
}

/// Hides `ERROR.txt` until something else fails.
pub fn dismiss_error(tree: &Tree, parent: ErrorParent) -> DriveResult<()> {
    let text = error_text(tree, parent).ok_or(DriveError::NotFound)?;
    tree.meta().put(DISMISSED, &parent.to_string(), &text)?;
    Ok(())
}

fn failure_text(tree: &Tree, parent: ErrorParent) -> Option<String> {
    match parent {
        ErrorParent::Model(Model::Raw(home)) => {
            let view = tree.catalog().model(home)?;
            let known = view.known.filter(|known| known.state.is_failure());
            let from_service = || known.map(|known| asset_failure(tree.catalog(), &known));
            let sentence = view
                .draft
                .and_then(|draft| draft.failure)
                .or_else(from_service)?;
            Some(format!("{sentence}\n"))
        }
        ErrorParent::Model(Model::Rapid(rapid)) => {
            rapid_failure(tree, rapid).map(|sentence| format!("{sentence}\n"))
        }
        ErrorParent::Drop(folder) => {
            let jobs = tree.outbox().jobs().in_folder(&folder.in_outbox());
            let failed = jobs.iter().filter_map(|job| {
                let failure = job.failure.as_ref()?;
                Some(format!("{}: {failure}\n", job.name))
            });
            Some(failed.collect()).filter(|lines: &String| !lines.is_empty())
        }
        ErrorParent::RawModels => {
            let drafts = tree.outbox().drafts().all();
            let loose = drafts.into_iter().filter(|draft| {
                draft.kind == DraftKind::LooseFile
                    && tree.catalog().asset_of_draft(draft.id).is_none()
            });
            let failed =
                loose.filter_map(|draft| Some(format!("{}: {}\n", draft.name, draft.failure?)));
            Some(failed.collect()).filter(|lines: &String| !lines.is_empty())
        }
    }
}

/// Why the model of a hidden folder failed.
pub(super) fn shown_failure(tree: &Tree, parent: HiddenParent) -> Option<String> {
    match parent {
        HiddenParent::Model(Model::Raw(home)) => model_failure(tree, home),
        HiddenParent::Model(Model::Rapid(rapid)) => rapid_failure(tree, rapid),
        _ => None,
    }
}

/// Why an optimized model failed.
pub(super) fn rapid_failure(tree: &Tree, rapid: RapidId) -> Option<String> {
    let row = tree.catalog().rapid(rapid)?;
    row.state
        .is_failure()
        .then(|| rapid_status(tree.catalog(), &row).to_string())
}

/// Why a model has failed and will not become complete by itself, and what the user can do.
pub fn end_of_model(tree: &Tree, model: Model) -> Option<String> {
    match model {
        Model::Rapid(rapid) => rapid_failure(tree, rapid),
        Model::Raw(home) => {
            let view = tree.catalog().model(home)?;
            let is_over = match (&view.draft, &view.known) {
                (Some(draft), _) => draft.status.word() == StatusWord::Failed,
                (None, known) => known.as_ref().is_some_and(|known| known.state.is_failure()),
            };
            is_over.then(|| model_failure(tree, home)).flatten()
        }
    }
}

/// Why a source model failed, and what the user can do.
pub(super) fn model_failure(tree: &Tree, home: Home) -> Option<String> {
    let view = tree.catalog().model(home)?;
    if let Some(draft) = view.draft
        && let Some(sentence) = draft.failure.or(draft.warning).or(draft.comparison)
    {
        return Some(match draft.phase {
            DraftPhase::ImportFailed => {
                after_a_failed_import(&sentence, view.known.is_some_and(|it| it.is_cad()))
            }
            _ => sentence,
        });
    }
    let asset = view.asset;
    let of_import = view.known.filter(|known| known.state.is_failure());
    let of_import = of_import.map(|known| {
        let said = asset_failure(tree.catalog(), &known);
        let said = without_full_stop(&said);
        format!(
            "{said}; the service could not import it: if the cause is not in its files, remove the cause, then \
             `assetfs retry`; otherwise copy the whole model in again under another name"
        )
    });
    of_import.or_else(|| version_failure(tree, asset?))
}

/// Why a model still has its old files: its new version failed.
fn version_failure(tree: &Tree, asset: AssetId) -> Option<String> {
    let version = tree.outbox().uploads().version_of(asset)?;
    let path = tree.catalog().home_path(Home::Made(version.id));
    let failure = version.failure?;
    Some(format!(
        "its new version {} failed, so the old one is kept: {failure}",
        shown_path(&path)
    ))
}

/// The message for a failed import of a model whose files are still staged. A CAD file has all that it needs, and often fails
/// for what the service lacks.
fn after_a_failed_import(said: &str, is_cad: bool) -> String {
    let said = without_full_stop(said);
    if is_cad {
        return format!(
            "{said}; the service could not import it: once the cause is removed, `assetfs retry` imports it again; if the \
             file is damaged, copy an intact one over it"
        );
    }
    format!(
        "{said}; the service could not import it: if a file is missing, copy it in; if one is damaged, copy an intact one over \
         it: the model is sent again then; if the cause is not in its files, remove the cause, then `assetfs retry`"
    )
}

/// The message for a job that the service has accepted, and that failed.
pub(super) fn after_a_failed_job(said: &str) -> String {
    format!(
        "{}; if the model or the settings are the cause, correct them; otherwise `assetfs run` of the job's text runs it \
         again, for a point",
        without_full_stop(said)
    )
}

/// The row of `ERROR.txt` under a free name, if something failed.
pub(super) fn error_row(tree: &Tree, parent: ErrorParent, taken: &HashSet<String>) -> Option<Row> {
    error_text(tree, parent)?;
    Some(Row::new(free_name(ERROR_FILE, taken), ErrorText(parent)))
}

/// Whether [`error_row`] can give this name to the file: `ERROR.txt`, with `@` appended while the name is taken.
pub(super) fn is_error_file(name: &str) -> bool {
    let added = name.strip_prefix(ERROR_FILE);
    added.is_some_and(|added| added.bytes().all(|byte| byte == b'@'))
}

/// A free name for something that the service adds: the user's files keep their names.
pub(super) fn free_name(name: &str, taken: &HashSet<String>) -> String {
    let mut name = name.to_owned();
    while taken.contains(&name) {
        name.push('@');
    }
    name
}
