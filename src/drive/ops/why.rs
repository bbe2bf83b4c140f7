//! Sentences: what is refused, why, and what to do instead; and the last one that is kept for a path.

use std::sync::Arc;

use crate::drive::error::DriveError;
use crate::drive::shared::Shared;
use crate::drive::tree::node::{ErrorPlace, Home, JobPart, Node, Place, Top};
use crate::outbox::{DraftId, DraftPhase};

use super::rows::job_folder;

pub(in crate::drive) fn read_only_mount() -> DriveError {
    DriveError::ReadOnly(
        "the drive is mounted with --read-only; mount it without to change anything".into(),
    )
}

pub(in crate::drive) fn frozen_asset(name: &str) -> DriveError {
    DriveError::ReadOnly(format!(
        "{name} belongs to an asset that has been uploaded, and the service cannot change or add files of an asset; \
         copy the model in under another name"
    ))
}

pub(in crate::drive) fn made_by_service(path: &str) -> DriveError {
    DriveError::ReadOnly(format!(
        "{path} is made by the service and cannot be written to"
    ))
}

pub(in crate::drive) fn no_place(folder: &str) -> DriveError {
    DriveError::ReadOnly(format!(
        "nothing can be made in {folder}; models are copied into /rawmodels, presets into /presets, jobs into \
         the optimize folder of an asset"
    ))
}

pub(in crate::drive) fn no_rapid_by_hand() -> DriveError {
    DriveError::ReadOnly(
        "optimized models are made by the service; copy a preset into the optimize folder of an asset".into(),
    )
}

pub(in crate::drive) fn no_rename(path: &str) -> DriveError {
    DriveError::NotPermitted(format!(
        "{path} cannot be renamed: the service has no such call; copy it in anew under the other name"
    ))
}

pub(in crate::drive) fn no_trash() -> DriveError {
    DriveError::NotPermitted(
        "the drive has no trash, because a trashed model would still take room in the account; delete it for good".into(),
    )
}

pub(in crate::drive) fn no_move_between() -> DriveError {
    DriveError::NotPermitted("this cannot be moved there; copy it, then remove the original".into())
}

pub(in crate::drive) fn delete_limit(limit: u32) -> DriveError {
    DriveError::NotPermitted(format!(
        "more than {limit} models were deleted within a minute; if that is meant, run `assetfs allow-delete` and go on"
    ))
}

pub(in crate::drive) fn no_delete() -> DriveError {
    DriveError::NotPermitted(
        "the drive is mounted with --no-delete; nothing on the service is deleted".into(),
    )
}

pub(in crate::drive) fn stale_delete() -> DriveError {
    DriveError::NotPermitted(
        "the service cannot be reached, so what is listed may be old; nothing is deleted until it answers again".into(),
    )
}

pub(in crate::drive) fn not_permitted_here(path: &str) -> DriveError {
    DriveError::NotPermitted(format!(
        "{path} is part of the drive and cannot be removed or renamed"
    ))
}

/// The service's own words, and what to do.
fn after_a_failed_import(said: &str) -> String {
    format!(
        "{said}; the service could not import it: copy what is missing into it and it is sent anew, \
         or `assetfs retry` when it is to be tried as it is"
    )
}

impl Shared {
    /// The sentence of the last failure of a thing: one of an operation, or of what went on behind.
    pub(in crate::drive) fn why(self: &Arc<Self>, node: &Node) -> Option<String> {
        let path = self.path_of(node);
        let standing = || self.standing_failure(node);
        let own = self.failures.of(&path).or_else(standing);
        let inside = own.or_else(|| self.failures.last_in(&path));
        inside.or_else(|| self.waits_for(node))
    }

    /// What a draft that has not failed waits for.
    fn waits_for(&self, node: &Node) -> Option<String> {
        let home = match node {
            Node::Entry(draft, _) if self.is_alone(node, *draft) => Home::Made(*draft),
            Node::Model(home)
            | Node::Hidden(Place::Model(home))
            | Node::HiddenFile(Place::Model(home), _) => *home,
            _ => return None,
        };
        let view = self.model(home)?;
        let draft = view.draft.filter(|_| view.asset.is_none())?;
        Some(draft.lacking.unwrap_or(draft.status_text))
    }

    /// The sentence for a name in a folder that may stand for nothing.
    pub(in crate::drive) fn why_name(&self, folder: &Node, name: &str) -> Option<String> {
        let folder = self.path_of(folder);
        self.failures
            .of(&format!("{}/{name}", folder.trim_end_matches('/')))
    }

    /// What failed, or is held back, whoever asked for it.
    fn standing_failure(&self, node: &Node) -> Option<String> {
        match node {
            Node::Entry(draft, entry) => self.outbox.why_kept_back(*draft, *entry).or_else(|| {
                self.is_alone(node, *draft)
                    .then(|| self.model_failure(Home::Made(*draft)))
                    .flatten()
            }),
            Node::Model(home)
            | Node::Hidden(Place::Model(home))
            | Node::HiddenFile(Place::Model(home), _) => self.model_failure(*home),
            Node::Rapid(rapid)
            | Node::Hidden(Place::Rapid(rapid))
            | Node::HiddenFile(Place::Rapid(rapid), _) => {
                let row = self.known().rapids.row(rapid.0).cloned()?;
                row.state.is_failure().then(|| self.rapid_status(&row))
            }
            Node::Job(folder, name, JobPart::Text | JobPart::Status) => {
                self.outbox.job(&job_folder(*folder), name)?.failure
            }
            Node::Drop(folder) => {
                let jobs = self.outbox.job_entries(&job_folder(*folder));
                jobs.into_iter().find_map(|job| {
                    job.failure
                        .map(|failure| format!("{}: {failure}", job.name))
                })
            }
            Node::ErrorText(place) => match place {
                ErrorPlace::Model(home) => self.model_failure(*home),
                _ => self.error_text(*place),
            },
            Node::PresetFile(name) => {
                let overlay = self.preset_overlay();
                overlay
                    .files
                    .into_iter()
                    .find(|file| *file.name == **name)
                    .and_then(|file| match file.state {
                        crate::outbox::PresetState::Failed { reason } => Some(reason),
                        _ => None,
                    })
            }
            Node::Root | Node::Top(Top::RawModels | Top::RapidModels | Top::Account) => {
                let offline = self
                    .offline
                    .lock()
                    .expect("no panic while the state of the line is held")
                    .clone();
                let recovered = || match node {
                    Node::Root | Node::Top(Top::RawModels) => self.recovered_sentence(),
                    _ => None,
                };
                offline.or_else(recovered)
            }
            _ => None,
        }
    }

    fn recovered_sentence(&self) -> Option<String> {
        let recovered = self.recovered_status();
        let found = recovered.first()?;
        Some(format!(
            "{}, so {} files that were copied in are kept in {}; `assetfs recover` lists them and takes them back",
            found.reason, found.files, found.folder
        ))
    }

    /// True for the one file of a draft that stands directly in `rawmodels/`.
    fn is_alone(&self, node: &Node, draft: DraftId) -> bool {
        self.loose_row(draft)
            .is_some_and(|row| row.node.is_same(node))
    }

    fn model_failure(&self, home: Home) -> Option<String> {
        let view = self.model(home)?;
        if let Some(draft) = view.draft
            && let Some(sentence) = draft.failure.or(draft.warning)
        {
            return Some(match draft.phase {
                DraftPhase::ImportFailed => after_a_failed_import(&sentence),
                _ => sentence,
            });
        }
        view.known
            .filter(|known| known.state.is_failure())
            .map(|known| after_a_failed_import(&self.asset_failure(&known)))
    }
}
