//! `ERROR.txt`: what failed after the tool had gone, in the folder concerned, until that is removed or
//! works.

use crate::drive::error::{DriveError, DriveResult};
use crate::drive::ops::rows::job_folder;
use crate::drive::shared::Shared;
use crate::drive::tree::node::ErrorPlace;
use crate::outbox::DraftKind;

const DISMISSED: &str = "dismissed";

impl Shared {
    /// What `ERROR.txt` says in a place; none where nothing failed or someone removed it.
    pub(in crate::drive) fn error_text(&self, place: ErrorPlace) -> Option<String> {
        let text = self.failure_text(place)?;
        let dismissed: Option<String> = self.meta.get(DISMISSED, &place.to_string()).ok().flatten();
        let is_old = dismissed.is_some_and(|old| text.lines().all(|line| old.contains(line)));
        (!is_old).then_some(text)
    }

    fn failure_text(&self, place: ErrorPlace) -> Option<String> {
        match place {
            ErrorPlace::Model(home) => {
                let view = self.model(home)?;
                let known = view.known.filter(|known| known.state.is_failure());
                let from_service = || known.map(|known| self.asset_failure(&known));
                let sentence = view
                    .draft
                    .and_then(|draft| draft.failure)
                    .or_else(from_service)?;
                Some(format!("{sentence}\n"))
            }
            ErrorPlace::Drop(folder) => {
                let jobs = self.outbox.job_entries(&job_folder(folder));
                let lines: String = jobs
                    .iter()
                    .filter_map(|job| {
                        let failure = job.failure.as_ref()?;
                        Some(format!("{}: {failure}\n", job.name))
                    })
                    .collect();
                (!lines.is_empty()).then_some(lines)
            }
            ErrorPlace::RawModels => {
                let drafts = self.outbox.drafts();
                let loose = drafts.into_iter().filter(|draft| {
                    draft.kind == DraftKind::LooseFile && self.asset_of_draft(draft.id).is_none()
                });
                let lines: String = loose
                    .filter_map(|draft| Some(format!("{}: {}\n", draft.name, draft.failure?)))
                    .collect();
                (!lines.is_empty()).then_some(lines)
            }
            ErrorPlace::Rapid(rapid) => {
                let row = self.known().rapids.row(rapid.0).cloned()?;
                row.state
                    .is_failure()
                    .then(|| format!("{}\n", self.rapid_status(&row)))
            }
        }
    }

    /// Someone removed `ERROR.txt`: it comes back only when something else fails.
    pub(in crate::drive) fn dismiss_error(&self, place: ErrorPlace) -> DriveResult<()> {
        let text = self.error_text(place).ok_or(DriveError::NotFound)?;
        self.meta.put(DISMISSED, &place.to_string(), &text)?;
        Ok(())
    }
}
