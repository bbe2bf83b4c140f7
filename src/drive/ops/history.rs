//! Compares drafts and jobs with what the history knows of them, after each event of the outbox.

use crate::drive::history::{HistoryEvent, HistoryKind, Standing, Subject};
use crate::drive::places::job_folder_path;
use crate::drive::tree::Tree;
use crate::drive::values::node::Home;
use crate::outbox::{DraftId, JobFolder, JobInfo, OutboxEvent};

/// Stores the states of drafts and jobs of earlier mounts, so that only later changes become events.
pub fn remember_standings(tree: &Tree) {
    let history = tree.failures().history();
    for draft in tree.outbox().drafts().all() {
        if let Some(standing) = standing_of_draft(tree, draft.id) {
            history.remember(Subject::Draft(draft.id), standing);
        }
    }
    let jobs = tree.outbox().jobs();
    for folder in jobs.folders() {
        for job in jobs.in_folder(&folder) {
            let standing = standing_of_job(tree, &folder, &job);
            history.remember(Subject::Job(folder, job.name), standing);
        }
    }
}

/// Adds the event that follows from an event of the outbox.
pub fn note_history(tree: &Tree, event: &OutboxEvent) {
    let history = tree.failures().history();
    match event {
        OutboxEvent::DraftChanged(draft) => {
            history.compare(Subject::Draft(*draft), standing_of_draft(tree, *draft));
        }
        OutboxEvent::AssetCreated { draft, asset } => {
            history.note(HistoryEvent {
                kind: HistoryKind::Uploaded,
                path: tree.catalog().home_path(Home::Made(*draft)),
                id: Some(asset.0),
                ..HistoryEvent::default()
            });
            history.compare(Subject::Draft(*draft), standing_of_draft(tree, *draft));
        }
        OutboxEvent::JobChanged(folder, name) => {
            let job = tree.outbox().jobs().get(folder, name);
            let standing = job.map(|job| standing_of_job(tree, folder, &job));
            history.compare(Subject::Job(*folder, name.clone()), standing);
        }
        _ => {}
    }
}

fn standing_of_draft(tree: &Tree, draft: DraftId) -> Option<Standing> {
    let info = tree.outbox().drafts().get(draft)?;
    Some(Standing {
        path: tree.catalog().home_path(Home::Made(draft)),
        id: info.asset.map(|asset| asset.0),
        state: info.status.word(),
        status: info.failure.unwrap_or_else(|| info.status.to_string()),
    })
}

fn standing_of_job(tree: &Tree, folder: &JobFolder, job: &JobInfo) -> Standing {
    Standing {
        path: format!("{}/{}", job_folder_path(tree, folder), job.name),
        id: job.rapid.map(|rapid| rapid.0),
        state: job.status.word(),
        status: job
            .failure
            .clone()
            .unwrap_or_else(|| job.status.to_string()),
    }
}
