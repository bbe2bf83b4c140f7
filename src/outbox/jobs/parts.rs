//! What jobs work with: their memory, the journal, the service, and what they need of other machines.

use std::sync::Arc;

use tokio::sync::Notify;

use crate::client::Client;
use crate::outbox::config::OutboxConfig;
use crate::outbox::error::OutboxResult;
use crate::outbox::events::{Events, OutboxEvent};
use crate::outbox::foundation::Foundation;
use crate::outbox::jobs::book::{JobBook, JobKey, JobRecord};
use crate::outbox::jobs::memory::JobsMemory;
use crate::outbox::jobs::needs::JobNeeds;
use crate::outbox::journal::{Held, Journal, Part};
use crate::outbox::tasks::Tasks;

pub struct JobParts {
    pub config: Arc<OutboxConfig>,
    pub client: Client,
    pub journal: Arc<Journal>,
    pub events: Arc<Events>,
    pub tasks: Arc<Tasks>,
    pub needs: Box<dyn JobNeeds>,
    /// Wakes the sending of jobs.
    pub news: Arc<Notify>,
    /// Wakes the polling of running jobs.
    pub progress_news: Notify,
    memory: Arc<Part<JobsMemory>>,
}

impl JobParts {
    pub fn new(
        foundation: Foundation,
        memory: Arc<Part<JobsMemory>>,
        news: Arc<Notify>,
        needs: Box<dyn JobNeeds>,
    ) -> JobParts {
        let Foundation {
            config,
            client,
            journal,
            events,
            tasks,
        } = foundation;
        JobParts {
            config,
            client,
            journal,
            events,
            tasks,
            needs,
            news,
            progress_news: Notify::new(),
            memory,
        }
    }

    /// The memory, for short work.
    pub fn memory(&self) -> Held<'_, JobsMemory> {
        self.memory.lock()
    }

    /// Sends the event that a job has another state, and wakes all who wait for changes.
    pub fn changed(&self, job: &JobKey) {
        let event = OutboxEvent::JobChanged(job.folder, job.name.clone());
        self.events.send(event);
        self.events.something_changed();
    }

    /// The same for every file of a submission.
    pub fn submission_changed(&self, tag: &str) {
        let jobs = self.memory().book.keys_of(tag);
        for job in jobs {
            self.changed(&job);
        }
    }

    /// What lasts, for code that holds another part of the same journal.
    pub fn book_beside(&self) -> JobBook {
        self.memory.peek().book.clone()
    }

    /// Makes a change, and returns when its record is durable.
    pub async fn record(&self, record: JobRecord) -> OutboxResult<()> {
        let ticket = self.memory().record(record)?;
        self.journal.settled(ticket).await
    }
}
