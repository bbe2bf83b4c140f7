//! The three machines over one journal, and what only all of them together can do: snapshots, and passing on what one has
//! to know of another.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::Notify;

use crate::client::Client;
use crate::outbox::config::OutboxConfig;
use crate::outbox::drafts::{DraftParts, FateListener};
use crate::outbox::error::OutboxResult;
use crate::outbox::events::Events;
use crate::outbox::foundation::Foundation;
use crate::outbox::ids::DraftId;
use crate::outbox::jobs::{DraftModel, JobNeeds, JobParts, Jobs, JobsMemory, PresetSaved};
use crate::outbox::journal::{Part, Ticket};
use crate::outbox::presets::{PresetParts, Presets, SaveOutcome};
use crate::outbox::recovery::{Recovered, recovered_in};
use crate::outbox::state::{State, follow};
use crate::outbox::tasks::Tasks;
use crate::outbox::{drafts, recovery};

pub struct Machines {
    pub foundation: Foundation,
    pub drafts: Arc<DraftParts>,
    pub jobs: Arc<JobParts>,
    pub presets: Arc<PresetParts>,
    /// As they were found last.
    recovered: Mutex<Arc<[Recovered]>>,
}

impl Machines {
    /// Opens the state, replays the journal and joins the machines. Nothing runs yet.
    pub fn open(config: OutboxConfig, client: Client) -> OutboxResult<Machines> {
        let recovery::Opened {
            journal,
            state,
            staging,
        } = recovery::open(&config.dir)?;
        let foundation = Foundation {
            config: Arc::new(config),
            client,
            journal: Arc::new(journal),
            events: Arc::new(Events::default()),
            tasks: Arc::new(Tasks::new()),
        };
        let journal = &foundation.journal;
        let jobs = JobsMemory::new(state.jobs, Arc::clone(journal));
        let jobs = Arc::new(Part::new(Arc::clone(journal), jobs));
        let job_news = Arc::new(Notify::new());
        let on_fate: FateListener = {
            let (jobs, job_news) = (Arc::clone(&jobs), Arc::clone(&job_news));
            Box::new(move |fate| {
                follow(&mut jobs.peek().book, fate);
                job_news.notify_one();
            })
        };
        let drafts = DraftParts::new(foundation.clone(), staging, state.drafts, on_fate);
        let drafts = Arc::new(drafts);
        let presets = Arc::new(PresetParts::new(foundation.clone(), state.presets));
        let needs = Answers {
            drafts: Arc::clone(&drafts),
            presets: Presets::new(Arc::clone(&presets)),
        };
        let jobs = JobParts::new(foundation.clone(), jobs, job_news, Box::new(needs));
        let machines = Machines {
            foundation,
            drafts,
            jobs: Arc::new(jobs),
            presets,
            recovered: Mutex::new(Arc::new([])),
        };
        machines.look_for_recovered();
        Ok(machines)
    }

    /// Starts the tasks of all machines.
    pub fn start(&self) {
        drafts::start(&self.drafts);
        Jobs::new(Arc::clone(&self.jobs)).start();
        Presets::new(Arc::clone(&self.presets)).start();
    }

    /// Signals all tasks to stop.
    pub fn close(&self) {
        self.foundation.tasks.close();
        self.foundation.events.something_changed();
    }

    /// Has the journal rewritten as a snapshot of the present state; none while a removal from disk is not done, which
    /// the old journal alone knows of.
    pub fn push_snapshot(&self) -> Option<Ticket> {
        // Held until the snapshot is queued, so that no record falls between it and what follows it.
        let drafts = self.drafts.memory();
        if !drafts.doomed.is_empty() {
            return None;
        }
        let state = State {
            drafts: drafts.state.clone(),
            jobs: self.jobs.book_beside(),
            presets: self.presets.book_beside(),
        };
        Some(self.foundation.journal.push_snapshot(&state))
    }

    /// Files that the journal did not know of, as they were found last.
    pub fn recovered(&self) -> Arc<[Recovered]> {
        let recovered = self.recovered.lock();
        Arc::clone(&recovered.unwrap_or_else(PoisonError::into_inner))
    }

    /// Looks for folders of recovered files. Blocks on local disk.
    pub fn look_for_recovered(&self) {
        match recovered_in(&self.foundation.config.dir) {
            Ok(found) => {
                let recovered = self.recovered.lock();
                *recovered.unwrap_or_else(PoisonError::into_inner) = found.into();
            }
            Err(error) => tracing::warn!(%error, "recovered files cannot be listed"),
        }
    }
}

/// What jobs need to know of drafts and presets.
struct Answers {
    drafts: Arc<DraftParts>,
    presets: Presets,
}

impl JobNeeds for Answers {
    fn model_of(&self, draft: DraftId) -> DraftModel {
        match self.drafts.model_beside(draft) {
            None => DraftModel::Removed,
            Some(None) => DraftModel::Expected,
            Some(Some(asset)) => DraftModel::Asset(asset),
        }
    }

    fn unsaved_preset(&self, preset: &str) -> Option<String> {
        self.presets.unsaved_file(preset)
    }

    fn save_preset<'a>(&'a self, file: &'a str) -> BoxFuture<'a, OutboxResult<PresetSaved>> {
        let saved = async move {
            Ok(match self.presets.save_held(file).await? {
                SaveOutcome::Saved(_) | SaveOutcome::Nothing => PresetSaved::Saved,
                SaveOutcome::Refused(reason) => PresetSaved::Refused(reason),
                SaveOutcome::Later(error) => PresetSaved::Trouble(error),
            })
        };
        saved.boxed()
    }
}
