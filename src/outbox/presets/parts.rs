//! What presets work with: their memory, the journal, the service.

use std::sync::Arc;

use tokio::sync::{Mutex, Notify};

use crate::client::Client;
use crate::outbox::config::OutboxConfig;
use crate::outbox::error::OutboxResult;
use crate::outbox::events::Events;
use crate::outbox::foundation::Foundation;
use crate::outbox::journal::{Held, Journal, Part};
use crate::outbox::presets::book::{PresetBook, PresetRecord};
use crate::outbox::presets::memory::PresetsMemory;
use crate::outbox::tasks::Tasks;

pub struct PresetParts {
    pub config: Arc<OutboxConfig>,
    pub client: Client,
    pub journal: Arc<Journal>,
    pub events: Arc<Events>,
    pub tasks: Arc<Tasks>,
    /// Wakes the sending of presets.
    pub news: Notify,
    /// One request about presets at a time: presets are found by name.
    pub turn: Mutex<()>,
    memory: Part<PresetsMemory>,
}

impl PresetParts {
    pub fn new(foundation: Foundation, book: PresetBook) -> PresetParts {
        let Foundation {
            config,
            client,
            journal,
            events,
            tasks,
        } = foundation;
        let memory = PresetsMemory::new(book, Arc::clone(&journal));
        PresetParts {
            memory: Part::new(Arc::clone(&journal), memory),
            config,
            client,
            journal,
            events,
            tasks,
            news: Notify::new(),
            turn: Mutex::new(()),
        }
    }

    /// The memory, for short work.
    pub fn memory(&self) -> Held<'_, PresetsMemory> {
        self.memory.lock()
    }

    /// Makes a change, and returns when its record is durable.
    pub async fn record(&self, record: PresetRecord) -> OutboxResult<()> {
        let ticket = self.memory().record(record)?;
        self.journal.settled(ticket).await
    }

    /// What lasts, for code that holds another part of the same journal.
    pub fn book_beside(&self) -> PresetBook {
        self.memory.peek().book.clone()
    }
}
