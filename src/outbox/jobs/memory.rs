//! Jobs in memory: the durable book, and running tasks.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use crate::client::ClientError;
use crate::outbox::error::{OutboxError, OutboxResult};
use crate::outbox::jobs::book::{JobBook, JobKey, JobRecord};
use crate::outbox::journal::{Journal, Ticket};

pub struct JobsMemory {
    pub book: JobBook,
    /// The progress of running optimizations in percent, by submission.
    pub progress: HashMap<String, u8>,
    /// Why the service has not begun with optimizations, by submission.
    pub obstacles: HashMap<String, String>,
    /// Jobs that have a task.
    pub tasks: BTreeMap<JobKey, JobTask>,
    /// Requests that are in flight, or searched for.
    pub calls: HashSet<String>,
    journal: Arc<Journal>,
}

/// What the task of a job waits for.
#[derive(Debug, Clone, Default)]
pub struct JobTask {
    /// Its asset or rapid model is not ready yet.
    pub waits_for_model: bool,
    /// The service cannot be reached or refuses the token; the task tries again.
    pub trouble: Option<ClientError>,
}

impl JobsMemory {
    pub fn new(book: JobBook, journal: Arc<Journal>) -> JobsMemory {
        JobsMemory {
            book,
            progress: HashMap::new(),
            obstacles: HashMap::new(),
            tasks: BTreeMap::new(),
            calls: HashSet::new(),
            journal,
        }
    }

    /// Makes a change and queues its record for the journal. Nothing changes on an error.
    pub fn record(&mut self, record: JobRecord) -> OutboxResult<Ticket> {
        self.journal.check_space(&record)?;
        let applied = self.book.apply(&record);
        applied.map_err(|error| OutboxError::Journal {
            reason: error.to_string(),
            dir: String::new(),
        })?;
        Ok(self.journal.push(&record))
    }
}
