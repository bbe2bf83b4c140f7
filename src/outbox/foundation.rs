//! The state machines of drafts, jobs and presets: the parts that all three share ([`Foundation`]), and a [`Machine`]
//! for each with its own state.

use std::ops::Deref;
use std::sync::Arc;

use crate::client::Client;
use crate::locks::MutexGuard;
use crate::outbox::config::OutboxConfig;
use crate::outbox::error::{OutboxError, OutboxResult};
use crate::outbox::events::Events;
use crate::outbox::journal::{Journal, Part, PartGuard};
use crate::outbox::tasks::Tasks;

/// The parts that all machines share. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Foundation {
    pub config: Arc<OutboxConfig>,
    pub client: Client,
    pub journal: Arc<Journal>,
    pub events: Arc<Events>,
    pub tasks: Arc<Tasks>,
}

impl Foundation {
    /// Waits until `look` returns `Some`. Calls it at once, and again after each change. Fails when the outbox closes.
    pub async fn until<T>(&self, look: impl FnMut() -> Option<T>) -> OutboxResult<T> {
        tokio::select! {
            biased;
            found = self.events.changes.until(look) => Ok(found),
            () = self.tasks.closed() => Err(OutboxError::ShutDown),
        }
    }
}

/// A machine with the memory `M`; `own` is what only this machine has.
pub struct Machine<M, T> {
    foundation: Foundation,
    memory: Arc<Part<M>>,
    pub own: T,
}

impl<M, T> Machine<M, T> {
    pub fn new(foundation: &Foundation, memory: Arc<Part<M>>, own: T) -> Arc<Machine<M, T>> {
        Arc::new(Machine {
            foundation: foundation.clone(),
            memory,
            own,
        })
    }

    /// Locks the memory, for short work.
    #[track_caller]
    pub fn memory(&self) -> PartGuard<'_, M> {
        self.memory.lock()
    }

    /// Locks the memory for code that holds the memory of another machine already.
    #[track_caller]
    pub fn peek(&self) -> MutexGuard<'_, M> {
        self.memory.peek()
    }
}

impl<M, T> Deref for Machine<M, T> {
    type Target = Foundation;

    fn deref(&self) -> &Foundation {
        &self.foundation
    }
}
