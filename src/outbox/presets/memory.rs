//! The memory of presets: the book that is recorded, and the calls whose effect is unknown.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::time::Instant;

use crate::outbox::error::OutboxResult;
use crate::outbox::journal::{Journal, Ticket};
use crate::outbox::presets::book::{PresetBook, PresetRecord};

pub struct PresetsMemory {
    pub book: PresetBook,
    /// When the answer to the creation of a preset of this name was lost: the preset may still appear.
    pub doubts: HashMap<String, Instant>,
    /// How many texts were saved in this run.
    pub saves: u64,
    journal: Arc<Journal>,
}

impl PresetsMemory {
    pub fn new(book: PresetBook, journal: Arc<Journal>) -> PresetsMemory {
        PresetsMemory {
            book,
            doubts: HashMap::new(),
            saves: 0,
            journal,
        }
    }

    /// Makes a change and queues its record for the journal. Nothing changes on an error.
    pub fn record(&mut self, record: PresetRecord) -> OutboxResult<Ticket> {
        self.journal.check_space(&record)?;
        self.book.apply(&record);
        Ok(self.journal.push(&record))
    }
}
