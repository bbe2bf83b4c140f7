//! The three machines over one journal, and what needs all of them: snapshots, and data that one machine needs of
//! another.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::Notify;

use crate::client::Client;
use crate::locks::Locked;
use crate::outbox::config::OutboxConfig;
use crate::outbox::drafts::{DraftParts, FateListener, Stage};
use crate::outbox::error::OutboxResult;
use crate::outbox::events::Events;
use crate::outbox::foundation::Foundation;
use crate::outbox::ids::DraftId;
use crate::outbox::jobs::{
    DraftModel, ImportState, JobDeps, JobParts, JobTools, JobsMemory, PresetSaved, RecentLists,
};
use crate::outbox::journal::{Part, Ticket};
use crate::outbox::presets::{PresetParts, PresetTools, Presets, PresetsMemory, SaveOutcome};
use crate::outbox::recovery::{Recovered, recovered_in};
use crate::outbox::state::{State, follow};
use crate::outbox::tasks::Tasks;
use crate::outbox::{drafts, jobs, presets, recovery};
use crate::wire::AssetId;

pub struct Machines {
    pub foundation: Foundation,
    pub drafts: Arc<DraftParts>,
    pub jobs: Arc<JobParts>,
    pub presets: Arc<PresetParts>,
    recovered: Mutex<Arc<[Recovered]>>,
}

impl Machines {
    /// Opens the state, replays the journal and connects the machines. Starts no task.
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
        let (journal, events) = (&foundation.journal, &foundation.events);
        let jobs = JobsMemory::new(state.jobs, Arc::clone(journal));
        let jobs = Part::new(journal, events, jobs);
        let jobs_wake = Arc::new(Notify::new());
        let on_fate: FateListener = {
            let (jobs, jobs_wake) = (Arc::clone(&jobs), Arc::clone(&jobs_wake));
            Box::new(move |fate| {
                follow(&mut jobs.peek().book, fate);
                jobs_wake.notify_one();
            })
        };
        let drafts = DraftParts::open(&foundation, staging, state.drafts, on_fate);
        let presets = PresetsMemory::new(state.presets, Arc::clone(journal));
        let presets = Part::new(journal, events, presets);
        let presets = PresetParts::new(&foundation, presets, PresetTools::default());
        let deps = Answers {
            drafts: Arc::clone(&drafts),
            presets: Presets {
                parts: Arc::clone(&presets),
            },
        };
        let tools = JobTools {
            deps: Box::new(deps),
            jobs_wake,
            poll_wake: Notify::new(),
            recent: RecentLists::default(),
        };
        let machines = Machines {
            jobs: JobParts::new(&foundation, jobs, tools),
            foundation,
            drafts,
            presets,
            recovered: Mutex::new(Arc::new([])),
        };
        machines.look_for_recovered();
        Ok(machines)
    }

    /// Starts the tasks of all machines.
    pub fn start(&self) {
        drafts::start(&self.drafts);
        jobs::start(&self.jobs);
        let tasks = &self.foundation.tasks;
        tasks.spawn(presets::run(Arc::clone(&self.presets)));
    }

    /// Signals all tasks to stop.
    pub fn close(&self) {
        self.foundation.tasks.close();
    }

    /// Queues a snapshot of the present state, which replaces the journal. `None` while staged bytes wait to be
    /// deleted, because only the old journal refers to them.
    pub fn push_snapshot(&self) -> Option<Ticket> {
        // Held until the snapshot is queued, so that no record falls between it and what follows it.
        let drafts = self.drafts.memory();
        if !drafts.pending_removals.is_empty() {
            return None;
        }
        let state = State {
            drafts: drafts.state.clone(),
            jobs: self.jobs.peek().book.clone(),
            presets: self.presets.peek().book.clone(),
        };
        Some(self.foundation.journal.push_snapshot(&state))
    }

    /// The recovered files that were last found.
    pub fn recovered(&self) -> Arc<[Recovered]> {
        Arc::clone(&self.recovered.locked())
    }

    /// Looks for folders of recovered files. Blocks on local disk.
    pub fn look_for_recovered(&self) {
        match recovered_in(&self.foundation.config.dir) {
            Ok(found) => {
                *self.recovered.locked() = found.into();
            }
            Err(error) => tracing::warn!(%error, "recovered files cannot be listed"),
        }
    }
}

/// The calls of drafts and presets that jobs need.
struct Answers {
    drafts: Arc<DraftParts>,
    presets: Presets,
}

impl JobDeps for Answers {
    fn model_of(&self, draft: DraftId) -> DraftModel {
        match self.drafts.model_of(draft) {
            None => DraftModel::Removed,
            Some(None) => DraftModel::Expected,
            Some(Some(asset)) => DraftModel::Asset(asset),
        }
    }

    fn import_of(&self, asset: AssetId) -> ImportState {
        match self.drafts.stage_of(asset) {
            Some(Stage::Accepted { .. }) => ImportState::Importing,
            Some(Stage::Imported { .. }) => ImportState::Imported,
            _ => ImportState::Unknown,
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
