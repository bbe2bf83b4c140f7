//! The machine of jobs.

use std::sync::Arc;

use tokio::sync::Notify;

use crate::outbox::error::OutboxResult;
use crate::outbox::events::OutboxEvent;
use crate::outbox::foundation::Machine;
use crate::outbox::jobs::book::{JobKey, JobRecord};
use crate::outbox::jobs::deps::JobDeps;
use crate::outbox::jobs::memory::JobsMemory;
use crate::outbox::jobs::recent::RecentLists;

pub type JobParts = Machine<JobsMemory, JobTools>;

pub struct JobTools {
    pub deps: Box<dyn JobDeps>,
    /// Wakes the sending of jobs.
    pub jobs_wake: Arc<Notify>,
    /// Wakes the polling of running jobs.
    pub poll_wake: Notify,
    pub recent: RecentLists,
}

impl JobParts {
    /// Sends the event that a job has another state.
    pub fn changed(&self, job: &JobKey) {
        let event = OutboxEvent::JobChanged(job.folder, job.name.clone());
        self.events.send(event);
    }

    /// The same for every file of a submission.
    pub fn report_submission(&self, tag: &str) {
        let jobs = self.memory().book.keys_of(tag);
        for job in jobs {
            self.changed(&job);
        }
    }

    /// Makes a change, and returns when its record is durable.
    pub async fn record(&self, record: JobRecord) -> OutboxResult<()> {
        let ticket = self.memory().record(record)?;
        self.journal.settle_async(ticket).await
    }
}
