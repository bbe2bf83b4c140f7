//! The machine of presets.

use tokio::sync::{Mutex, Notify};

use crate::outbox::error::OutboxResult;
use crate::outbox::foundation::Machine;
use crate::outbox::presets::book::PresetRecord;
use crate::outbox::presets::memory::PresetsMemory;

pub type PresetParts = Machine<PresetsMemory, PresetTools>;

#[derive(Default)]
pub struct PresetTools {
    /// Wakes the sending of presets.
    pub save_wake: Notify,
    /// One request about presets at a time: presets are found by name.
    pub turn: Mutex<()>,
}

impl PresetParts {
    /// Makes a change, and returns when its record is durable.
    pub async fn record(&self, record: PresetRecord) -> OutboxResult<()> {
        let ticket = self.memory().record(record)?;
        self.journal.settle_async(ticket).await
    }
}
